//! `matmul`: products of matrices.

use super::product::Product;
use crate::op::Param;
use crate::reference::number::{epsilon, expected, largest};
use crate::reference::{
    Broadcast, Contents, Expected, MOST_OPERATIONS, Number, Reference, Slack, arithmetic, walk,
};
use crate::{Args, Body, Code, Family, Form, KernelBody, OpDef, OpError, geometry, rules};
use cloakwork_ir::{DType, Shape, Type};

/// Integers, floats and complex numbers.
const NUMBERS: [DType; 12] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "matmul",
    family: Family::Linear,
    doc: "`out[.., i, j] = sum_k a[.., i, k] * b[.., k, j]`: the product of the matrices in the \
          last two axes. The axes before them broadcast. Integers wrap; an empty sum is 0. The \
          order of float sums depends on shapes and strides only, never on the number of threads.",
    params: &[
        Param::tensor("a", "`[.., m, k]`, numbers"),
        Param::tensor("b", "`[.., k, n]`, the dtype of `a`"),
        Param::out("`[.., m, n]`"),
    ],
    forms: &[Form::own("matmul", &["a", "b", "out"])],
    body: Body::Kernel(KernelBody {
        temporary: Some(|args| Product::of(args)?.temporary_bytes()),
        ..KernelBody::new(
            infer,
            |args| Product::of(args)?.launches(),
            Reference::Values(reference),
        )
    }),
    operations,
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let (a, b) = (args.tensor("a")?, args.tensor("b")?);
    rules::dtype_in("a", a, &NUMBERS).map_err(|error| match a.dtype.is_field() {
        true => error.hint(
            "a product over a field is a sum: \
             cloakwork.sum(a[..., :, :, None] * b[..., None, :, :], axis=-2)",
        ),
        false => error,
    })?;
    rules::same_dtype(args, "b", a.dtype)?;
    let (a_batch, [m, k]) = split("a", a.shape())?;
    let (b_batch, [rows, n]) = split("b", b.shape())?;
    if k != rows {
        let expected = format!(
            "{k} rows, as many as `a` of shape {} has columns",
            a.shape()
        );
        let got = format!("{rows} rows in shape {}", b.shape());
        return Err(OpError::new(Code::Shape, "b", expected, got));
    }
    let batch = a_batch.broadcast(&b_batch).ok_or_else(|| {
        let expected = format!("axes before the last two that broadcast with {a_batch}");
        OpError::shape("b", expected, &b_batch)
    })?;
    let shape = geometry::extended("out", batch.dims(), &[m, n])?;
    Ok(Type::new(a.dtype, shape))
}

/// The axes before the last two, and the sizes of these.
fn split(name: &'static str, shape: &Shape) -> Result<(Shape, [u64; 2]), OpError> {
    match shape.dims() {
        [batch @ .., rows, columns] => Ok((geometry::shape(name, batch)?, [*rows, *columns])),
        _ => {
            let got = shape.to_string();
            Err(OpError::new(Code::Shape, name, "two axes or more", got)
                .hint("reshape a vector to a matrix of one row or one column"))
        }
    }
}

/// Multiplications.
fn operations(args: &Args) -> u64 {
    let depth = args
        .tensor("a")
        .map_or(0, |a| a.dims().last().copied().unwrap_or(0));
    rules::out_elements(args).saturating_mul(depth)
}

/// Each element from the sum that defines it; of floats within `(k + 2) eps` of the products'
/// magnitudes, in whatever order and with whatever fused products they are added.
fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    if operations(args) > MOST_OPERATIONS / 4 {
        return Ok(Expected::TooLarge);
    }
    let (a, b, out) = (args.tensor("a")?, args.tensor("b")?, args.tensor("out")?);
    let (_, [m, k]) = split("a", a.shape())?;
    let (_, [_, n]) = split("b", b.shape())?;
    let (batch, _) = split("out", out.shape())?;
    let whole = |name, own: [u64; 2]| {
        let shape = geometry::extended(name, batch.dims(), &own)?;
        Broadcast::new(args, contents, name, &shape)
    };
    let (left, right) = (whole("a", [m, k])?, whole("b", [k, n])?);
    let element = |at: u64| {
        let (entry, i, j) = (at / (m * n), at / n % m, at % n);
        let terms = (0..k).map(|l| {
            let (x, y) = (
                left.number((entry * m + i) * k + l),
                right.number((entry * k + l) * n + j),
            );
            (x, y)
        });
        dot(a.dtype, &terms.collect::<Vec<_>>())
    };
    let count = out.shape().elements();
    Ok(expected(out.dtype, (0..count).map(element)))
}

fn dot(dtype: DType, terms: &[(Number, Number)]) -> (Number, Slack) {
    // Between operations binary32 has binary64 here.
    let wide = match dtype {
        DType::F32 => DType::F64,
        DType::C64 => DType::C128,
        other => other,
    };
    let products = terms.iter().map(|(x, y)| arithmetic::multiply(wide, x, y));
    let sum = products.fold(walk::zero(wide), |sum, x| arithmetic::add(wide, &sum, &x));
    if dtype.is_integer() {
        return (sum, Slack::Bits);
    }
    let size: f64 = terms
        .iter()
        .map(|(x, y)| x.magnitude() * y.magnitude())
        .sum();
    // Partial sums that overflow, and infinities times 0, depend on the order.
    if size.is_nan() || size >= largest(dtype) / 4.0 {
        return (Number::Open, Slack::Open);
    }
    let slack = 4.0 * (terms.len() as f64 + 2.0) * epsilon(dtype) * size;
    (sum, Slack::Within(slack + f64::MIN_POSITIVE))
}
