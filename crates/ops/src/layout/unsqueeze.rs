//! `unsqueeze`: a new axis of size 1.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "unsqueeze",
    family: Family::Layout,
    doc: "A view of `a` with an axis of size 1 inserted, which is then axis `axis`.",
    params: &[
        Param::new("a", ParamKind::Tensor, "at most 15 axes"),
        Param::new("axis", ParamKind::AXIS, "from -rank - 1 to rank"),
    ],
    forms: &[Form::heal("unsqueeze", &["a", "axis"])],
    body: Body::View(|args| {
        super::view("axis", args.tensor("a")?.view.unsqueeze(args.int("axis")?))
    }),
    operations: |_| 0,
    laws: &[],
};
