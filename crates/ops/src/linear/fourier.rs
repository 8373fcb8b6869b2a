//! Discrete Fourier transforms along the last axis, of any length but 0.

use super::matrices::{self, declare};
use crate::op::{Param, ParamKind};
use crate::reference::number::{epsilon, largest};
use crate::reference::{Contents, Expected, MOST_OPERATIONS, Number, Reference, Slack, walk};
use crate::{Args, Extents, Launches, OpError, Operand, geometry, rules};
use cloakwork_ir::{DType, MAX_ELEMENTS, Type};
use smallvec::smallvec;

const NORMS: (i64, i64) = (0, 2);
const LENGTHS: (i64, i64) = (1, MAX_ELEMENTS as i64);
const NORM: Param = Param::new(
    "norm",
    ParamKind::Int(NORMS.0, NORMS.1),
    "what is divided by n: 0 the inverse transform, 1 both by its root, 2 the forward one",
);
const COMPLEX: Param = Param::tensor("a", "c64 or c128 `[.., n]`, n at least 1");
const SAME: Param = Param::out("the shape of `a`");
const COMPLEX_DTYPES: [DType; 2] = [DType::C64, DType::C128];

declare!(
    FFT,
    "fft",
    "`out[k] = sum_j a[j] exp(-2πi jk / n)`, divided as `norm` says.",
    &[COMPLEX, NORM, SAME],
    &["a", "norm", "out"],
    infer_same,
    |args| launch_same(args, false),
    operations,
    Reference::Values(|args, contents| transformed(args, contents, Kind::Forward))
);

declare!(
    IFFT,
    "ifft",
    "`out[j] = sum_k a[k] exp(2πi jk / n)`, divided as `norm` says: the inverse of `fft` with \
     the same norm.",
    &[COMPLEX, NORM, SAME],
    &["a", "norm", "out"],
    infer_same,
    |args| launch_same(args, true),
    operations,
    Reference::Values(|args, contents| transformed(args, contents, Kind::Inverse))
);

declare!(
    RFFT,
    "rfft",
    "The first `n / 2 + 1` elements of `fft` of real numbers; the others are their conjugates.",
    &[
        Param::tensor("a", "f32 or f64 `[.., n]`, n at least 1"),
        NORM,
        Param::out("`[.., n / 2 + 1]`, complex"),
    ],
    &["a", "norm", "out"],
    |args| {
        let a = args.tensor("a")?;
        rules::dtype_in("a", a, &[DType::F32, DType::F64])?;
        let half = length("a", a)? / 2 + 1;
        resized(args, super::eigen::complex(a.dtype), half)
    },
    |args| {
        let n = length("a", args.tensor("a")?)?;
        launch_half(args, "rfft", scale(args, n, false)?)
    },
    operations,
    Reference::Values(|args, contents| transformed(args, contents, Kind::Half))
);

declare!(
    IRFFT,
    "irfft",
    "The n real numbers whose `rfft` of the same norm is `a`, which does not determine whether n \
     is even or odd. Imaginary parts of element 0 and, for an even n, n / 2 count as 0.",
    &[
        Param::tensor("a", "c64 or c128 `[.., n / 2 + 1]`"),
        Param::new(
            "n",
            ParamKind::Int(LENGTHS.0, LENGTHS.1),
            "how many real numbers"
        ),
        NORM,
        Param::out("`[.., n]`, real"),
    ],
    &["a", "n", "norm", "out"],
    |args| {
        let (a, n) = (args.tensor("a")?, within(args, "n", LENGTHS)? as u64);
        rules::dtype_in("a", a, &COMPLEX_DTYPES)?;
        let half = n / 2 + 1;
        if length("a", a)? != half {
            let expected = format!("a last axis of n / 2 + 1 = {half}");
            return Err(OpError::shape("a", expected, a.shape()));
        }
        resized(args, a.dtype.component(), n)
    },
    |args| launch_half(args, "irfft", scale(args, args.int("n")? as u64, true)?),
    operations,
    Reference::Values(|args, contents| transformed(args, contents, Kind::Real))
);

/// The length of the last axis.
fn length(name: &'static str, operand: Operand) -> Result<u64, OpError> {
    match operand.dims().last() {
        Some(&length) if length > 0 => Ok(length),
        _ => {
            let expected = "a last axis of at least 1 element";
            Err(OpError::shape(name, expected, operand.shape()))
        }
    }
}

/// An integer in its range, both ends included.
fn within(args: &Args, name: &'static str, (low, high): (i64, i64)) -> Result<i64, OpError> {
    let value = args.int(name)?;
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let expected = format!("an integer from {low} to {high}");
    Err(OpError::range(name, expected, value))
}

fn infer_same(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    within(args, "norm", NORMS)?;
    rules::dtype_in("a", a, &COMPLEX_DTYPES)?;
    length("a", a)?;
    Ok(a.ty())
}

/// The shape of `a` with another last axis.
fn resized(args: &Args, dtype: DType, length: u64) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    within(args, "norm", NORMS)?;
    let last = a.view.rank().saturating_sub(1);
    Ok(Type::new(
        dtype,
        geometry::resized("a", a.shape(), last, length)?,
    ))
}

/// The factor of the result, as the bits of a binary64.
fn scale(args: &Args, n: u64, inverse: bool) -> Result<i64, OpError> {
    let n = n as f64;
    let factor = match (args.int("norm")?, inverse) {
        (0, true) | (2, false) => n.recip(),
        (1, _) => n.sqrt().recip(),
        _ => 1.0,
    };
    Ok(factor.to_bits() as i64)
}

fn launch_same(args: &Args, inverse: bool) -> Result<Launches, OpError> {
    let a = args.tensor("a")?;
    let n = length("a", a)?;
    let operands = smallvec![
        args.operand("out", &args.tensor("out")?.view.strides)?,
        args.operand("a", &a.view.strides)?,
    ];
    let params = [i64::from(inverse), scale(args, n, inverse)?];
    let (batch, line) = a.dims().split_at(a.dims().len().saturating_sub(1));
    Ok(matrices::launch("fft", (batch, line), operands, &params))
}

/// A launch over the result; `a`, of another length, stands still along its last axis.
fn launch_half(args: &Args, kernel: &'static str, scale: i64) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let size = length("a", a)?;
    let mut strides = Extents::from_slice(&a.view.strides);
    let stride = strides.pop().unwrap_or(0);
    strides.push(0);
    let operands = smallvec![
        args.operand("out", &out.view.strides)?,
        args.operand("a", &strides)?,
    ];
    let params = [scale, size as i64, stride];
    let (batch, line) = out.dims().split_at(out.dims().len().saturating_sub(1));
    Ok(matrices::launch(kernel, (batch, line), operands, &params))
}

/// About the multiplications: elements times the logarithm of the length.
fn operations(args: &Args) -> u64 {
    let elements = rules::out_elements(args);
    let length = args
        .tensor("out")
        .ok()
        .and_then(|out| out.dims().last().copied());
    let rounds = length.unwrap_or(1).max(2).ilog2();
    elements.saturating_mul(u64::from(rounds))
}

/// The kind of a transform.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Forward,
    Inverse,
    Half,
    Real,
}

/// Each element by itself, from the sum that defines it. A fast transform is within some
/// `log n eps` of it, of the root of n times the line's norm.
fn transformed(args: &Args, contents: &dyn Contents, kind: Kind) -> Result<Expected, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let given = length("a", a)?;
    let n = if kind == Kind::Real {
        args.int("n")? as u64
    } else {
        given
    };
    let inverse = matches!(kind, Kind::Inverse | Kind::Real);
    let scale = f64::from_bits(scale(args, n, inverse)? as u64);
    if out.shape().elements().saturating_mul(n) > MOST_OPERATIONS {
        return Ok(Expected::TooLarge);
    }
    let made = length("out", out)?;
    walk::along(args, contents, a.view.rank() - 1, &|dtype, line| {
        let whole: Vec<(f64, f64)> = (0..n).map(|j| element(kind, line, j, n)).collect();
        let norm = whole
            .iter()
            .map(|z| z.0 * z.0 + z.1 * z.1)
            .sum::<f64>()
            .sqrt();
        let size = norm * (n as f64).sqrt() * scale;
        let slack = 16.0 * epsilon(dtype) * (1.0 + (n as f64).log2()) * size;
        if norm.is_nan() || size >= largest(dtype) || norm.is_infinite() {
            return vec![(Number::Open, Slack::Open); made as usize];
        }
        let sign = if inverse { 1.0 } else { -1.0 };
        let value = |k: u64| {
            let term = |(j, z): (u64, &(f64, f64))| {
                let turn = (u128::from(j) * u128::from(k) % u128::from(n)) as f64 / n as f64;
                let (sin, cos) = (sign * std::f64::consts::TAU * turn).sin_cos();
                (z.0 * cos - z.1 * sin, z.0 * sin + z.1 * cos)
            };
            let terms = (0..).zip(&whole).map(term);
            let (re, im) = terms.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            match kind {
                Kind::Real => Number::Real(re * scale),
                _ => Number::Complex(re * scale, im * scale),
            }
        };
        (0..made)
            .map(|k| (value(k), Slack::Within(slack)))
            .collect()
    })
}

/// Element j of the line that is transformed: of half a line the rest are conjugates, and its ends
/// are real.
fn element(kind: Kind, line: &[Number], j: u64, n: u64) -> (f64, f64) {
    let of = |j: u64| {
        line.get(j as usize)
            .map_or((0.0, 0.0), |z| (z.real(), z.imaginary()))
    };
    match kind {
        Kind::Real if j == 0 || 2 * j == n => (of(j).0, 0.0),
        Kind::Real if 2 * j > n => (of(n - j).0, -of(n - j).1),
        _ => of(j),
    }
}
