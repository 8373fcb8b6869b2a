//! `slice`: a window on a tensor, which may run backwards or hold nothing.

use crate::OpError;
use crate::op::{Body, Family, Form, OpDef, Param};
use cloakwork_ir::{ShapeItem, Take};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "slice",
    family: Family::Layout,
    doc: "A view of one index or one range of each axis of `a`; an index drops its axis.\n\n\
          A range `start:stop:step` holds what Python's `range(start, stop, step)` does, so that \
          a negative step runs backwards, and a stop of -1 ends it before index 0.",
    params: &[Param::tensor("a", "any tensor"), super::ENTRIES],
    forms: &[Form::own("slice", &["a", "entries"])],
    body: Body::View(|args| super::sliced(args, take)),
    operations: |_| 0,
    laws: &[],
};

fn take(item: &ShapeItem) -> Result<Take, OpError> {
    let refused = || {
        let expected = "an index of 0 or more, or start:stop:step with all three given";
        OpError::range("entries", expected, item)
    };
    match item {
        ShapeItem::Int(index) => u64::try_from(*index)
            .map(Take::Index)
            .map_err(|_| refused()),
        ShapeItem::Slice {
            start: Some(start),
            stop: Some(stop),
            step: Some(step),
        } if *step != 0 => {
            let count = count(*start, *stop, *step);
            let start = match u64::try_from(*start) {
                Ok(start) => start,
                Err(_) if count == 0 => 0,
                Err(_) => return Err(refused()),
            };
            Ok(Take::Steps {
                start,
                count,
                step: *step,
            })
        }
        _ => Err(refused()),
    }
}

/// How many numbers `range(start, stop, step)` has.
fn count(start: i64, stop: i64, step: i64) -> u64 {
    let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
    let way = if step > 0 { stop - start } else { start - stop };
    let step = step.unsigned_abs();
    u64::try_from(way).map_or(0, |way| u128::from(way).div_ceil(step) as u64)
}
