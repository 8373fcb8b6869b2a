//! `transpose`: axes in another order.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind};
use crate::{Code, OpError};
use cloakwork_ir::ShapeItem;
use smallvec::SmallVec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "transpose",
    family: Family::Layout,
    doc: "A view of `a` whose axis `i` is axis `axes[i]` of `a`.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::new("axes", ParamKind::Shape, "a permutation of the axes of `a`"),
    ],
    forms: &[Form::own("transpose", &["a", "axes"])],
    body: Body::View(|args| {
        let items = args.items("axes")?;
        let order: Result<SmallVec<[i64; 8]>, OpError> = items
            .iter()
            .map(|item| match item {
                ShapeItem::Int(axis) => Ok(*axis),
                other => Err(OpError::new(Code::Axis, "axes", "axes", other.to_string())),
            })
            .collect();
        super::view("axes", args.tensor("a")?.view.permute_axes(&order?))
    }),
    operations: |_| 0,
    laws: &[],
};
