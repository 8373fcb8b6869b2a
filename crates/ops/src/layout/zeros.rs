//! `zeros`: a new tensor of zeros.

use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param, ParamKind};
use cloakwork_ir::{Arg, Type};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "zeros",
    family: Family::Layout,
    doc: "A new tensor of zeros, which may be read at once.",
    params: &[
        Param::new("shape", ParamKind::Shape, "sizes of 0 or more, at most 16"),
        Param::new("dtype", ParamKind::DType, "element type"),
    ],
    forms: &[Form::heal("zeros", &["shape", "dtype"])],
    body: Body::Expand(ExpandBody {
        infer: |args| Ok(Type::new(args.dtype("dtype")?, args.shape("shape")?)),
        checks: &[],
        expand: |_, steps| {
            let (shape, dtype) = (steps.arg("shape")?, steps.arg("dtype")?);
            steps.call_result("empty", &[("shape", shape), ("dtype", dtype)])?;
            let result = steps.result();
            steps.call_into("set_const_val", &[("value", Arg::Int(0))], &result)
        },
    }),
    operations: |args| args.shape("shape").map_or(0, |shape| shape.elements()),
    laws: &[],
};
