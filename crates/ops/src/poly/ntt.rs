//! `field_ntt`: the transform between coefficients and values on a domain.

use super::{A, Rows, declare, each_row, length, one_number, step, value_at};
use crate::field::primes::{self, two_adicity};
use crate::op::Param;
use crate::reference::{Contents, Expected, MOST_OPERATIONS};
use crate::{Args, Code, ContentCheck, Launches, OpError, ReprRule, cut, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

declare!(
    DEF,
    "field_ntt",
    "`out[.., k] = sum_j a[.., j] (s w^k)^j`, w the root of unity of order n and s the coset's \
     shift, 1 without one: the values of polynomials on the coset `s <w>`, in natural order. \
     `inverse` computes coefficients from values; without `scale` they are n times as large.\n\n\
     n is a power of two that divides p - 1, and `w = g^((p - 1) / n)`: docs/fields.md has the \
     two-adicity and g of each prime field. Over an extension w is that of the base field.",
    &[
        A,
        Param::flag("inverse", "from values to coefficients").or(0),
        Param::optional("coset_shift", "the dtype of `a`, no axes, not 0"),
        Param::flag("scale", "the inverse is divided by n").or(1),
        Param::out("`[.., n]`"),
    ],
    &["a", "inverse", "coset_shift", "scale", "out"],
    &[ContentCheck::NoZeroElement {
        operand: "coset_shift",
        flag: None,
    }],
    infer,
    launch,
    Some(|args| {
        let a = args.tensor("a")?;
        let short = plan(a.dtype, length("a", a)?).is_none();
        let bytes = a.shape().elements().max(1) * a.dtype.size_bytes() as u64;
        Ok(if short { 0 } else { bytes })
    }),
    reference,
    ReprRule::Transforms("inverse");
    |args| cut::rows(args, "a")
);

/// Each value by itself, from the sum that defines it; n^2 products a row.
fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let a = args.tensor("a")?;
    let n = length("a", a)?;
    let generator = a
        .dtype
        .field_facts()
        .map_or(1, |facts| facts.prime().generator);
    if a.shape().elements().saturating_mul(n) > MOST_OPERATIONS / 16 {
        return Ok(Expected::TooLarge);
    }
    let (inverse, scale) = (args.flag("inverse")?, args.flag("scale")?);
    let shift = one_number(args, contents, "coset_shift")?;
    each_row(args, contents, "a", &|field, row| {
        let shift = shift.clone().unwrap_or_else(|| field.one());
        let prime = field.prime;
        let order = (&prime.modulus - 1u8) / n;
        let root = prime.power(&generator.into(), &order);
        let at = |k: u64| field.embedded(prime.power(&root, &k.into()));
        if !inverse {
            let point = |k| field.multiply(&shift, &at(k));
            return (0..n).map(|k| value_at(field, row, &point(k))).collect();
        }
        let divisor = field.embedded(if scale { n.into() } else { 1u8.into() });
        let (unshift, unscale) = (field.inverse(&shift), field.inverse(&divisor));
        let coefficient = |j: u64| {
            let value = value_at(field, row, &field.inverse(&at(j)));
            let factor = field.multiply(&field.power(&unshift, &j.into()), &unscale);
            field.multiply(&value, &factor)
        };
        (0..n).map(coefficient).collect()
    })
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    rules::dtype_in("a", a, &primes::TRANSFORMS)?;
    let n = length("a", a)?;
    rules::transform_length("a", n)?;
    let most = two_adicity(a.dtype);
    if n.trailing_zeros() > most {
        let expected = format!("at most 2^{most} elements, the two-adicity of {}", a.dtype);
        return Err(OpError::new(
            Code::TransformLength,
            "a",
            expected,
            n.to_string(),
        ));
    }
    if let Some(shift) = args.tensor_if_any("coset_shift")? {
        rules::same_dtype(args, "coset_shift", a.dtype)?;
        rules::rank_is("coset_shift", shift, 0)?;
    }
    Ok(a.ty())
}

/// Columns that a kernel's unit transforms: `csrc/kernels/poly/lanes.h` has the same.
const fn columns(dtype: DType) -> u64 {
    if is_large(dtype) { 8 } else { 16 }
}

/// Whether elements are 32 bytes of a prime field, which kernels compute on eight together.
const fn is_large(dtype: DType) -> bool {
    dtype.is_prime_field() && dtype.size_bytes() == 32
}

/// Binary logarithms of the rows and columns of a transform as a matrix; `None` for a short one.
fn plan(dtype: DType, n: u64) -> Option<(u32, u32)> {
    let rows = n.trailing_zeros() / 2;
    (n >= columns(dtype) * columns(dtype)).then(|| (rows, n.trailing_zeros() - rows))
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let n = length("a", a)?;
    let inverse = args.flag("inverse")?;
    let flags = i64::from(inverse)
        + 2 * i64::from(inverse && args.flag("scale")?)
        + 4 * i64::from(args.tensor_if_any("coset_shift")?.is_some());
    let log = n.trailing_zeros();
    let residues = a.dtype.residues() as u64;
    let butterfly_ns = if is_large(a.dtype) { 4 } else { residues };
    let Some((log_rows, log_columns)) = plan(a.dtype, n) else {
        let rows = Rows::of(a.view).weight(n * u64::from(log + 4) * 10);
        let operands = smallvec![
            rows.operand(args, "out", 0)?,
            rows.operand(args, "a", 0)?,
            rows.same(args, "coset_shift")?,
        ];
        let params = [i64::from(log), 0, step(a.view), flags, step(out.view)];
        return Ok(smallvec![rows.launch("field_ntt_short", operands, &params)]);
    };
    let width = columns(a.dtype);
    let (n1, n2) = (1u64 << log_rows, 1u64 << log_columns);
    let weight = |length: u64| length * width * u64::from(log / 2 + 2) * butterfly_ns / 2;
    let down = Rows::of(a.view).parts(n2 / width).weight(weight(n1));
    let across = Rows::of(a.view).parts(n1 / width).weight(weight(n2));
    let of_columns = smallvec![
        down.temporary(args, (0, n), (width * n1) as i64)?,
        down.operand(args, "a", width as i64 * step(a.view))?,
        down.same(args, "coset_shift")?,
    ];
    let of_rows = smallvec![
        across.operand(args, "out", width as i64 * step(out.view))?,
        across.temporary(args, (0, n), width as i64)?,
        across.same(args, "coset_shift")?,
    ];
    let params = |step| [i64::from(log_rows), i64::from(log_columns), step, flags];
    Ok(smallvec![
        down.launch("field_ntt_columns", of_columns, &params(step(a.view))),
        across.launch("field_ntt_rows", of_rows, &params(step(out.view))),
    ])
}
