//! `host_to_device`: an upload.

use crate::Value;
use crate::op::{Body, Family, Form, OpDef, Param, ParamKind};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "host_to_device",
    family: Family::Layout,
    doc: "A device tensor with the elements of a host tensor. Strides are kept, for example \
          Fortran order.",
    params: &[
        Param::new(
            "tensor",
            ParamKind::Host,
            "a host tensor, or an input of the program",
        ),
        super::DEVICE,
    ],
    forms: &[
        Form::heal("host_to_device", &["tensor"]),
        Form::own("host_to_device", &["tensor", "device"]),
    ],
    body: Body::Upload,
    operations: |args| match args.value("tensor") {
        Ok(Value::Host(slot)) => slot.ty().map_or(0, |ty| ty.shape.elements()),
        _ => 0,
    },
    laws: &[],
};
