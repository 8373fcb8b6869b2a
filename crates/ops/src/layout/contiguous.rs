//! `contiguous`: row-major, without gaps.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind, Viewed};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "contiguous",
    family: Family::Layout,
    doc: "The same tensor if its elements lie row-major without gaps, else a copy that does.\n\n\
          Axes of size 1 do not count. What counts is the layout that HEAL's runtime would have; \
          where the planner really stores the elements is its own affair.",
    params: &[Param::new("a", ParamKind::Tensor, "any tensor")],
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
