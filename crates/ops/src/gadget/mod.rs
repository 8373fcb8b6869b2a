//! Gadget decomposition: numbers as digits base a power of two, the low digit first.

pub mod g_decomp;
pub mod g_decomp_full_q;
mod wide;

use crate::{Args, OpError, ParamKind};
use cloakwork_ir::DType;

/// The most digits that a decomposition may have: 128 moduli of 62 bits by single bits, and more.
const DIGITS: ParamKind = ParamKind::Int(1, 1 << 14);
/// How many bits a digit may have.
const DIGIT_BITS: ParamKind = ParamKind::Int(1, 62);

/// Result dtypes: that of `a`, or small digits.
const DTYPES: &[(DType, DType)] = &[
    (DType::I64, DType::I64),
    (DType::I64, DType::I8),
    (DType::I32, DType::I32),
    (DType::I32, DType::I8),
];

/// The number of digits and the bits of one, which the result's dtype must hold. Digits of as many
/// bits as the dtype has wrap to negative ones.
fn digits(args: &Args) -> Result<(u64, u32), OpError> {
    let in_range = |name: &'static str, high: i64| {
        let value = args.int(name)?;
        let refused = || OpError::range(name, format!("an integer from 1 to {high}"), value);
        u32::try_from(value)
            .ok()
            .filter(|v| (1..=high).contains(&i64::from(*v)))
            .ok_or_else(refused)
    };
    let dtype = match args.tensor_if_any("out")? {
        Some(out) => out.dtype,
        None => args.tensor("a")?.dtype,
    };
    let bits = in_range("g_base_bits", (8 * dtype.size_bytes() as i64).min(62))?;
    Ok((u64::from(in_range("g_exp", 1 << 14)?), bits))
}

/// The low bits of a word as an element of the result.
fn digit(word: i64, bits: u32, dtype: DType) -> i64 {
    let digit = word & ((1 << bits) - 1);
    match dtype {
        DType::I8 => i64::from(digit as i8),
        DType::I32 => i64::from(digit as i32),
        _ => digit,
    }
}
