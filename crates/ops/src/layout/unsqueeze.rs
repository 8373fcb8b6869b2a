//! `unsqueeze`: a new axis of size 1.

use crate::op::{Body, Family, Form, OpDef, Param};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "unsqueeze",
    family: Family::Layout,
    doc: "A view of `a` with an axis of size 1 inserted, which is then axis `axis`.",
    params: &[
        Param::tensor("a", "at most 15 axes"),
        Param::axis("axis", "from -rank - 1 to rank"),
    ],
    forms: &[Form::heal("unsqueeze", &["a", "axis"])],
    body: Body::View(|args| {
        super::view("axis", args.tensor("a")?.view.unsqueeze(args.int("axis")?))
    }),
    operations: |_| 0,
    laws: &[],
};
