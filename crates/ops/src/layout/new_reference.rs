//! `new_reference`: another name for a tensor.

use crate::op::{Body, Family, Form, OpDef, Param, Viewed};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "new_reference",
    family: Family::Layout,
    doc: "Another name for the same elements, which live until the last name is freed.",
    params: &[Param::tensor("a", "any tensor")],
    forms: &[Form::heal("new_reference", &["a"])],
    body: Body::View(|args| Ok(Viewed::View(args.tensor("a")?.view.clone()))),
    operations: |_| 0,
    laws: &[],
};
