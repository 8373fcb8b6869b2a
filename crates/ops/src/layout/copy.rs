//! `copy`: the same elements elsewhere.

use crate::op::{
    Access, Aliasing, Body, Family, Form, KernelBody, OpDef, OutRule, Param, ParamKind,
};
use crate::reference::Broadcast;
use crate::{Launch, rules};
use cloakwork_ir::Type;
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "copy",
    family: Family::Layout,
    doc: "`out = a`, broadcast to `out`. The strides of both are what they are.",
    params: &[
        Param::new("a", ParamKind::Tensor, "any tensor"),
        Param::new("out", ParamKind::Out, "any shape that `a` broadcasts to"),
    ],
    forms: &[Form::own("copy", &["a", "out"])],
    body: Body::Kernel(KernelBody {
        infer: |args| {
            let a = args.tensor("a")?;
            Ok(Type::new(a.dtype, a.shape().clone()))
        },
        checks: &[],
        out: OutRule::Broadcast,
        dtypes: &[],
        aliasing: Aliasing::Same,
        access: Access::Write,
        launch: |args| {
            let operands = [args.input("out")?, args.input("a")?];
            let shape = args.tensor("out")?.shape();
            Ok(smallvec![Launch::elementwise("copy", shape, &operands)?])
        },
        reference: Some(|args, contents| {
            let out = args.tensor("out")?.shape();
            let a = Broadcast::new(args, contents, "a", out)?;
            Ok((0..out.elements()).map(|i| a.at(i)).collect())
        }),
        temporary: None,
        elementwise: None,
        expand: None,
    }),
    operations: rules::out_elements,
    laws: &[],
};
