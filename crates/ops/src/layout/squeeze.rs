//! `squeeze`: an axis of size 1, dropped.

use crate::op::{Body, Family, Form, OpDef, Param};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "squeeze",
    family: Family::Layout,
    doc: "A view of `a` without `axis`, whose size is 1.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::axis("axis", "an axis of size 1"),
    ],
    forms: &[Form::heal("squeeze", &["a", "axis"])],
    body: Body::View(|args| super::view("axis", args.tensor("a")?.view.squeeze(args.int("axis")?))),
    operations: |_| 0,
    laws: &[],
};
