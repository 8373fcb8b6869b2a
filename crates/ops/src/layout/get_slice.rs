//! `get_slice`: a window on a tensor.

use crate::op::{Body, Family, Form, OpDef, Param};
use crate::{Code, OpError};
use cloakwork_ir::{ShapeItem, Take};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "get_slice",
    family: Family::Layout,
    doc: "A view of one index or one range of each axis of `a`; an index drops its \
          axis.\n\nIndices are in `0 .. size`; ranges have `0 <= start < stop <= size` and a step \
          of 1 or more, all of them given. As in HEAL, indices never count from the end, and \
          `...` is refused.",
    params: &[Param::tensor("a", "any tensor"), super::ENTRIES],
    forms: &[Form::heal("get_slice", &["a", "entries"])],
    body: Body::View(|args| super::sliced(args, take)),
    operations: |_| 0,
    laws: &[],
};

fn take(item: &ShapeItem) -> Result<Take, OpError> {
    let refused = |expected: &str, got: String, hint| {
        Err(OpError::new(Code::Range, "entries", expected, got).hint(hint))
    };
    match item {
        ShapeItem::Int(index) => match u64::try_from(*index) {
            Ok(index) => Ok(Take::Index(index)),
            Err(_) => refused(
                "indices of 0 or more",
                index.to_string(),
                "write the index from the front: size + index",
            ),
        },
        ShapeItem::Slice { start, stop, step } => {
            let given = |value: &Option<i64>| value.and_then(|v| u64::try_from(v).ok());
            match (given(start), given(stop), given(step)) {
                (Some(start), Some(stop), Some(step)) => Ok(Take::Range { start, stop, step }),
                _ => refused(
                    "start, stop and step of 0 or more",
                    format!("{}:{}:{}", text(*start), text(*stop), text(*step)),
                    "write all three: 0:size:1 is the whole axis",
                ),
            }
        }
        ShapeItem::Ellipsis => refused(
            "an entry for each axis",
            "...".to_owned(),
            "write 0:size:1 for each axis",
        ),
        ShapeItem::Invalid(what) => {
            let got = what.to_string();
            Err(OpError::new(
                Code::ArgumentType,
                "entries",
                "indices and ranges",
                got,
            ))
        }
    }
}

fn text(value: Option<i64>) -> String {
    value.map_or_else(|| "none".to_owned(), |v| v.to_string())
}
