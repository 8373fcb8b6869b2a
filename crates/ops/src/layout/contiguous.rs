//! `contiguous`: row-major, without gaps.

use crate::op::{Body, Family, Form, OpDef, Param, Viewed};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "contiguous",
    family: Family::Layout,
    doc: "The same tensor if its elements are row-major without gaps, else a row-major \
          copy.\n\nAxes of size 1 are ignored. The layout is that of HEAL's runtime; the planner \
          may store the elements otherwise.",
    params: &[Param::tensor("a", "any tensor")],
    forms: &[
        Form::heal("contiguous", &["a"]),
        Form::documents("make_contiguous", &["a"]),
    ],
    body: Body::View(|args| {
        let a = args.tensor("a")?;
        Ok(if a.view.is_contiguous() {
            Viewed::View(a.view.clone())
        } else {
            Viewed::Copy(a.shape().clone())
        })
    }),
    operations: |_| 0,
    laws: &[],
};
