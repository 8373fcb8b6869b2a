//! `broadcast_to`: elements that repeat without being copied.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind, Viewed};
use crate::rules;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "broadcast_to",
    family: Family::Layout,
    doc: "A view of `a` under NumPy's broadcast to `shape`.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::new("shape", ParamKind::Shape, "a shape that `a` broadcasts to"),
    ],
    forms: &[Form::own("broadcast_to", &["a", "shape"])],
    body: Body::View(|args| {
        let (a, shape) = (args.tensor("a")?, args.shape("shape")?);
        if !a.shape().broadcasts_to(&shape) {
            // A single element of many axes does not go with fewer, though launches take it.
            return Err(rules::no_broadcast("a", a.shape(), &shape));
        }
        rules::broadcast("a", a.view, &shape).map(Viewed::View)
    }),
    operations: |_| 0,
    laws: &[],
};
