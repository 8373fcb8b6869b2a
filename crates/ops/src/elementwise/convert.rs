//! Choosing between operands, and changing their type.

use super::{A, OUT, launch_of};
use crate::op::{Param, ParamKind};
use crate::reference::field::Field;
use crate::reference::number::{Accuracy, exact};
use crate::reference::{Broadcast, Number};
use crate::{Body, Code, Family, Form, KernelBody, OpDef, OpError, OutRule, Reference};
use cloakwork_ir::{DType, Type};
use num_bigint::BigUint;

super::declare!(
    WHERE,
    "where",
    Any,
    Same,
    "`out = a if condition else b`, element by element.",
    3,
    ["a", "b", "condition", "out"],
    [A, B, CONDITION, OUT],
    [],
    Accuracy::EXACT,
    |_, x| if x[2].is_true() {
        x[0].clone()
    } else {
        x[1].clone()
    }
);

/// `astype`.
pub static ASTYPE: OpDef = OpDef {
    name: "astype",
    family: Family::Elementwise,
    doc: "The elements of `a` as another type: floats to integers without their fraction, complex \
          numbers to their real part, everything to bool by whether it is 0. Integers that do not \
          fit wrap; floats out of range give unspecified integers. Integers, also negative ones, \
          are reduced to elements of a field; elements of a prime field become elements of its \
          extensions. `to_canonical` gives the numbers of elements.",
    params: &[
        A,
        Param::new("dtype", ParamKind::DType, "the type of the result"),
        OUT,
    ],
    forms: &[Form::own("astype", &["a", "dtype", "out"])],
    body: Body::Kernel(KernelBody {
        out: OutRule::Broadcast,
        ..KernelBody::new(
            |args| {
                let a = args.tensor("a")?;
                let dtype = args.dtype("dtype")?;
                convertible(a.dtype, dtype)?;
                Ok(Type::new(dtype, a.shape().clone()))
            },
            |args| {
                let same = args.tensor("a")?.dtype == args.tensor("out")?.dtype;
                launch_of(if same { "copy" } else { "cast" }, args)
            },
            Reference::Values(|args, contents| {
                let out = args.tensor("out")?.dtype;
                let a = Broadcast::new(args, contents, "a", args.tensor("out")?.shape())?;
                Ok(exact(out, a.numbers().iter().map(|x| converted(x, out))))
            }),
        )
    }),
    operations: crate::rules::out_elements,
    laws: &[],
};

/// Numbers have every type of number; integers are elements of every field, and a field's of its
/// extensions.
fn convertible(from: DType, to: DType) -> Result<(), OpError> {
    let integer = from.is_integer() || from == DType::Bool;
    let embeds = to.extends() == Some(from) || (integer && to.is_field());
    if from == to || (from.is_number() && to.is_number()) || embeds {
        return Ok(());
    }
    let expected = match to.extends() {
        Some(base) => format!("integers or {base}, which are elements of {to}"),
        None if to.is_field() => "integers, which are elements of a field".to_owned(),
        None => "a type that these elements have".to_owned(),
    };
    let got = format!("{from} as {to}");
    Err(OpError::new(Code::Dtype, "dtype", expected, got)
        .hint("from_canonical and to_canonical go between fields and words"))
}

/// The number as a dtype has it. A float that is out of range of i32 (of i64, for what i32 does not
/// hold) is the least i32 (i64), of which narrower types keep the low bits.
fn converted(x: &Number, to: DType) -> Number {
    let integer = |value: f64| {
        let value = value.trunc();
        let wide = matches!(to, DType::I64 | DType::U32 | DType::U64);
        let least = if wide {
            i64::MIN.into()
        } else {
            i128::from(i32::MIN)
        };
        let end = if to == DType::U64 { -2 * least } else { -least };
        match value >= least as f64 && value < end as f64 {
            true => Number::Int(value as i128),
            false => Number::Int(least),
        }
    };
    match x {
        Number::Int(value) if to.is_field() => {
            let field = Field::of(to);
            Number::Element(field.embedded(field.prime.residue(*value)))
        }
        Number::Element(value) if to.is_field() => {
            let mut element = value.clone();
            element.resize(Field::of(to).zero().len(), BigUint::ZERO);
            Number::Element(element)
        }
        _ if to == DType::Bool => Number::truth(x.is_true()),
        // Once to the nearest float of the type: not by way of another.
        Number::Int(value) if to.component() == DType::F32 => Number::Real((*value as f32).into()),
        Number::Real(value) | Number::Complex(value, _) if to.is_integer() => integer(*value),
        other => other.clone(),
    }
}
