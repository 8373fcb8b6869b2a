//! `empty`: a new tensor.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind};
use cloakwork_ir::Type;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "empty",
    family: Family::Layout,
    doc: "A new tensor that reads as zeros until it is written.\n\nHEAL's documents call it \
          uninitialised, its runtime zeroes it, and accumulating ops add to it; the planner omits \
          the zeroing if all of it is overwritten.",
    params: &[
        Param::new("shape", ParamKind::Shape, "sizes of 0 or more, at most 16"),
        Param::new("dtype", ParamKind::DType, "element type"),
        super::DEVICE,
    ],
    forms: &[
        Form::heal("empty", &["shape", "dtype"]),
        Form::own("empty", &["shape", "dtype", "device"]),
        Form::documents("allocate_on_hardware", &["shape", "dtype"]),
    ],
    body: Body::Allocate(|args| Ok(Type::new(args.dtype("dtype")?, args.shape("shape")?))),
    operations: |_| 0,
    laws: &[],
};
