//! `abs`: the absolute value.

use crate::op::{
    Access, Aliasing, Body, Family, Form, KernelBody, OpDef, OutRule, Param, ParamKind,
};
use crate::{elementwise, rules};
use cloakwork_ir::DType;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "abs",
    family: Family::Elementwise,
    doc: "`out = |a|`, element by element; real for complex numbers. The least integer, which has \
          no counterpart, stays.",
    params: &[
        Param::new("a", ParamKind::Tensor, "numbers"),
        Param::new("out", ParamKind::Out, "the shape of `a`"),
    ],
    forms: &[Form::heal("abs", &["a", "out"])],
    body: Body::Kernel(KernelBody {
        infer: elementwise::infer,
        checks: &[],
        out: OutRule::Exact,
        dtypes: &[],
        aliasing: Aliasing::Same,
        access: Access::Write,
        launch: elementwise::launch,
        reference: Some(|args, contents| {
            let dtype = args.tensor("a")?.dtype;
            let words = contents.words("a")?.chunks_exact(dtype.components());
            Ok(words.map(|element| absolute(dtype, element)).collect())
        }),
        temporary: None,
        elementwise: Some(&crate::Elementwise {
            kernel: "abs",
            operands: 1,
            takes: crate::elementwise::Takes::Numbers,
            gives: crate::elementwise::Gives::Component,
        }),
        expand: None,
    }),
    operations: rules::out_elements,
    laws: &[],
};

/// Of a float only the sign bit changes, also of zeros and of what is not a number.
fn absolute(dtype: DType, element: &[i64]) -> i64 {
    let word = element.first().copied().unwrap_or(0);
    let imaginary = element.get(1).copied().unwrap_or(0);
    match dtype {
        DType::F32 => word & 0x7fff_ffff,
        DType::F64 => word & i64::MAX,
        DType::C64 => {
            let part = |word: i64| f32::from_bits(word as u32);
            i64::from(part(word).hypot(part(imaginary)).to_bits())
        }
        DType::C128 => {
            let part = |word: i64| f64::from_bits(word as u64);
            part(word).hypot(part(imaginary)).to_bits() as i64
        }
        DType::I8 => i64::from((word as i8).wrapping_abs()),
        DType::I16 => i64::from((word as i16).wrapping_abs()),
        DType::I32 => i64::from((word as i32).wrapping_abs()),
        DType::U64 => word,
        _ => word.wrapping_abs(),
    }
}
