//! `abs`: the absolute value.

use crate::op::{
    Access, Aliasing, Body, Family, Form, KernelBody, OpDef, OutRule, Param, ParamKind,
};
use crate::{Launch, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "abs",
    family: Family::Modular,
    doc: "`out = |a|`, element by element. The least integer, which has no counterpart, stays.",
    params: &[
        Param::new("a", ParamKind::Tensor, "i32, i64, f32 or f64"),
        Param::new("out", ParamKind::Out, "the shape of `a`"),
    ],
    forms: &[Form::heal("abs", &["a", "out"])],
    body: Body::Kernel(KernelBody {
        infer: |args| {
            let a = args.tensor("a")?;
            rules::dtype_in("a", a, &[DType::I32, DType::I64, DType::F32, DType::F64])?;
            Ok(Type::new(a.dtype, a.shape().clone()))
        },
        checks: &[],
        out: OutRule::Exact,
        dtypes: &[],
        aliasing: Aliasing::Same,
        access: Access::Write,
        launch: |args| {
            let operands = [args.input("out")?, args.input("a")?];
            let shape = args.tensor("out")?.shape();
            Ok(smallvec![Launch::elementwise("abs", shape, &operands)?])
        },
        reference: |args, contents| {
            let dtype = args.tensor("a")?.dtype;
            Ok(contents
                .words("a")?
                .iter()
                .map(|&word| absolute(dtype, word))
                .collect())
        },
    }),
    operations: rules::out_elements,
    laws: &[],
};

/// Of a float only the sign bit changes, also of zeros and of what is not a number.
fn absolute(dtype: DType, word: i64) -> i64 {
    match dtype {
        DType::F32 => word & 0x7fff_ffff,
        DType::F64 => word & i64::MAX,
        DType::I32 => i64::from((word as i32).wrapping_abs()),
        _ => word.wrapping_abs(),
    }
}
