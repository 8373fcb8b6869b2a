//! `assert_true`: a demand that stands in a program as a step.

use super::launch_of;
use crate::op::Param;
use crate::reference::Broadcast;
use crate::{
    Aliasing, Body, ContentCheck, Effect, Family, Form, KernelBody, Law, OpDef, Reference, rules,
};
use cloakwork_ir::{DType, Type};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "assert_true",
    family: Family::Elementwise,
    doc: "`out = a`; an error that names the first false element, if there is one.",
    params: &[Param::tensor("a", "bool"), Param::out("the shape of `a`")],
    forms: &[Form::own("assert_true", &["a", "out"])],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::True("a")],
        aliasing: Aliasing::Same,
        ..KernelBody::new(
            |args| {
                let a = args.tensor("a")?;
                rules::dtype_in("a", a, &[DType::Bool])?;
                Ok(Type::new(DType::Bool, a.shape().clone()))
            },
            |args| launch_of(crate::COPY_KERNEL, args),
            Reference::Values(|args, contents| {
                let out = args.tensor("out")?.shape();
                let a = Broadcast::new(args, contents, "a", out)?;
                let elements = (0..out.elements()).flat_map(|i| a.element(i));
                Ok(elements.copied().collect::<Vec<i64>>().into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Effect(Effect::Asserts)],
};
