//! `set_const_val`: one value everywhere.

use crate::op::{Aliasing, Body, Family, Form, KernelBody, OpDef, Param, ParamKind};
use crate::{Args, Launch, Launches, Law, OpError, Reference};
use cloakwork_ir::{DType, read_word, write_word};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "set_const_val",
    family: Family::Layout,
    doc: "`a = value` everywhere, in place; of any rank, also 0.",
    params: &[
        Param::new("a", ParamKind::Out, "any tensor"),
        Param::new(
            "value",
            ParamKind::ANY_INT,
            "an integer that the element type holds",
        ),
    ],
    forms: &[Form::heal("set_const_val", &["a", "value"])],
    body: Body::Kernel(KernelBody {
        aliasing: Aliasing::Same,
        ..KernelBody::new(
            |args| {
                let a = args.tensor("a")?;
                bits(a.dtype, args.int("value")?)?;
                Ok(a.ty())
            },
            launch,
            Reference::Values(|args, _| {
                let a = args.tensor("a")?;
                let word = bits(a.dtype, args.int("value")?)?;
                // The imaginary part of a complex element is 0.
                let zeros = std::iter::repeat(0);
                let element = std::iter::once(word)
                    .chain(zeros)
                    .take(a.dtype.components());
                let count = a.shape().elements() as usize;
                let words: Vec<i64> = std::iter::repeat_n(element, count).flatten().collect();
                Ok(words.into())
            }),
        )
    }),
    operations: |args| args.elements("a"),
    laws: &[Law::Fills(Some("value"))],
};

fn launch(args: &Args) -> Result<Launches, OpError> {
    let a = args.tensor("a")?;
    let mut launch = Launch::elementwise("fill", a.shape(), &[args.input("a")?])?;
    // As many words as the widest element has: a complex one's imaginary part is 0.
    launch
        .params
        .extend([bits(a.dtype, args.int("value")?)?, 0]);
    Ok(smallvec![launch])
}

/// The value as an element's word.
fn bits(dtype: DType, value: i64) -> Result<i64, OpError> {
    let expected = match dtype {
        DType::F32 | DType::C64 => return Ok(i64::from((value as f32).to_bits())),
        DType::F64 | DType::C128 => return Ok((value as f64).to_bits() as i64),
        DType::Bool if !(0..=1).contains(&value) => "0 or 1".to_owned(),
        // The interface has no larger integers, so a u64 takes the word as its bits.
        DType::U64 => return Ok(value),
        _ if !dtype.is_number() && value == 0 => return Ok(0),
        _ if !dtype.is_number() => "0".to_owned(),
        _ => {
            let mut bytes = [0; 8];
            write_word(dtype, value, &mut bytes);
            if read_word(dtype, &bytes) == value {
                return Ok(value);
            }
            format!("an integer that {dtype} holds")
        }
    };
    Err(OpError::range("value", expected, value))
}
