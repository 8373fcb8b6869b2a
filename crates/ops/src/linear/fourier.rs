//! Discrete Fourier transforms along the last axis, of any length but 0.

use super::matrices::{self, declare};
use crate::op::{Param, ParamKind};
use crate::{Args, Code, Extents, Launch, OpError, Operand, geometry, rules};
use cloakwork_ir::{DType, MAX_ELEMENTS, Type};
use smallvec::{SmallVec, smallvec};

const NORMS: (i64, i64) = (0, 2);
const LENGTHS: (i64, i64) = (1, MAX_ELEMENTS as i64);
const NORM: Param = Param::new(
    "norm",
    ParamKind::Int(NORMS.0, NORMS.1),
    "what is divided by n: 0 the inverse transform, 1 both by its root, 2 the forward one",
);
const COMPLEX: Param = Param::new(
    "a",
    ParamKind::Tensor,
    "c64 or c128 `[.., n]`, n at least 1",
);
const SAME: Param = Param::new("out", ParamKind::Out, "the shape of `a`");
const COMPLEX_DTYPES: [DType; 2] = [DType::C64, DType::C128];

declare!(
    FFT,
    "fft",
    "`out[k] = sum_j a[j] exp(-2πi jk / n)`, divided as `norm` says.",
    &[COMPLEX, NORM, SAME],
    &["a", "norm", "out"],
    infer_same,
    |args| launch_same(args, false),
    operations
);

declare!(
    IFFT,
    "ifft",
    "`out[j] = sum_k a[k] exp(2πi jk / n)`, divided as `norm` says: what `fft` of the same norm \
     undoes.",
    &[COMPLEX, NORM, SAME],
    &["a", "norm", "out"],
    infer_same,
    |args| launch_same(args, true),
    operations
);

declare!(
    RFFT,
    "rfft",
    "The first `n / 2 + 1` elements of `fft` of real numbers; the others are their conjugates.",
    &[
        Param::new("a", ParamKind::Tensor, "f32 or f64 `[.., n]`, n at least 1"),
        NORM,
        Param::new("out", ParamKind::Out, "`[.., n / 2 + 1]`, complex"),
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
    operations
);

declare!(
    IRFFT,
    "irfft",
    "The n real numbers whose `rfft` of the same norm is `a`: n is even or odd, which `a` does not \
     tell. Imaginary parts of element 0 and, for an even n, n / 2 count as 0.",
    &[
        Param::new("a", ParamKind::Tensor, "c64 or c128 `[.., n / 2 + 1]`"),
        Param::new(
            "n",
            ParamKind::Int(LENGTHS.0, LENGTHS.1),
            "how many real numbers"
        ),
        NORM,
        Param::new("out", ParamKind::Out, "`[.., n]`, real"),
    ],
    &["a", "n", "norm", "out"],
    |args| {
        let (a, n) = (args.tensor("a")?, within(args, "n", LENGTHS)? as u64);
        rules::dtype_in("a", a, &COMPLEX_DTYPES)?;
        let half = n / 2 + 1;
        if length("a", a)? != half {
            let expected = format!("a last axis of n / 2 + 1 = {half}");
            let got = a.shape().to_string();
            return Err(OpError::new(Code::Shape, "a", expected, got));
        }
        resized(args, a.dtype.component(), n)
    },
    |args| launch_half(args, "irfft", scale(args, args.int("n")? as u64, true)?),
    operations
);

/// The length of the last axis.
fn length(name: &'static str, operand: Operand) -> Result<u64, OpError> {
    match operand.dims().last() {
        Some(&length) if length > 0 => Ok(length),
        _ => {
            let got = operand.shape().to_string();
            let expected = "a last axis of at least 1 element";
            Err(OpError::new(Code::Shape, name, expected, got))
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
    Err(OpError::new(Code::Range, name, expected, value.to_string()))
}

fn infer_same(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    within(args, "norm", NORMS)?;
    rules::dtype_in("a", a, &COMPLEX_DTYPES)?;
    length("a", a)?;
    Ok(Type::new(a.dtype, a.shape().clone()))
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

fn launch_same(args: &Args, inverse: bool) -> Result<SmallVec<[Launch; 1]>, OpError> {
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
fn launch_half(
    args: &Args,
    kernel: &'static str,
    scale: i64,
) -> Result<SmallVec<[Launch; 1]>, OpError> {
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
