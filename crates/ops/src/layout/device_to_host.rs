//! `device_to_host`: a download.

use crate::op::{Body, Family, Form, OpDef, Param};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "device_to_host",
    family: Family::Layout,
    doc: "The elements of `a` as a host tensor, row-major. The step's result holds the expected \
          value, or names an output.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::hint("target", "none in HEAL's files; not needed"),
    ],
    forms: &[
        Form::heal("device_to_host", &["a", "target"]),
        Form::documents("device_to_host", &["a"]),
    ],
    body: Body::Download,
    operations: |args| args.elements("a"),
    laws: &[],
};
