//! Rules that several ops share: each is written once and named by what it demands.

use crate::{Args, Code, OpError, Operand, Value};
use cloakwork_ir::{DType, Shape};

/// The largest modulus: lazy butterflies need `4 q < 2^64`.
pub const MAX_MODULUS: i64 = 1 << 62;

/// Dtypes of residues.
pub const RESIDUES: [DType; 2] = [DType::I32, DType::I64];

/// The operand's dtype is one of these.
///
/// # Errors
/// It is not.
pub fn dtype_in(name: &'static str, operand: Operand, allowed: &[DType]) -> Result<(), OpError> {
    if allowed.contains(&operand.dtype) {
        return Ok(());
    }
    let names: Vec<&str> = allowed.iter().map(|d| d.name()).collect();
    Err(OpError::new(
        Code::Dtype,
        name,
        names.join(" or "),
        operand.dtype.name(),
    ))
}

/// The operand, if it is a tensor, has this dtype.
///
/// # Errors
/// It is a tensor of another dtype, or an integer that the dtype cannot hold.
pub fn same_dtype(args: &Args, name: &'static str, dtype: DType) -> Result<(), OpError> {
    match args.value(name)? {
        Value::Tensor(operand) if operand.dtype != dtype => {
            Err(
                OpError::new(Code::Dtype, name, dtype.name(), operand.dtype.name())
                    .hint("all operands of this op have the same dtype"),
            )
        }
        Value::Int(value) if dtype == DType::I32 && i32::try_from(value).is_err() => {
            Err(OpError::new(
                Code::Range,
                name,
                "an integer that i32 holds",
                value.to_string(),
            ))
        }
        _ => Ok(()),
    }
}

/// The operand has this rank.
///
/// # Errors
/// It has not.
pub fn rank_is(name: &'static str, operand: Operand, rank: usize) -> Result<(), OpError> {
    if operand.view.rank() == rank {
        return Ok(());
    }
    Err(OpError::new(
        Code::Shape,
        name,
        format!("{rank} axes"),
        operand.shape().to_string(),
    ))
}

/// The operand has this shape.
///
/// # Errors
/// It has not.
pub fn shape_is(name: &'static str, operand: Operand, dims: &[u64]) -> Result<(), OpError> {
    if operand.dims() == dims {
        return Ok(());
    }
    let expected = format!("shape {dims:?}");
    Err(OpError::new(
        Code::Shape,
        name,
        expected,
        operand.shape().to_string(),
    ))
}

/// A modulus: an integer in range, or a tensor of one axis whose length is 1 or that of the last
/// axis of `shape` (or anything if that axis has size 1: then it must broadcast nothing).
///
/// # Errors
/// A wrong shape, or a known value outside `2 ..= 2^62`.
pub fn modulus(args: &Args, name: &'static str, shape: &Shape) -> Result<(), OpError> {
    match args.value(name)? {
        Value::Int(value) => modulus_value(name, value),
        _ => {
            let operand = args.tensor(name)?;
            let last = shape.dims().last().copied().unwrap_or(1);
            let fits = operand.view.rank() <= 1
                && operand
                    .dims()
                    .first()
                    .is_none_or(|&len| len == 1 || len == last);
            if !fits {
                let expected = format!("one axis of length 1 or {last}");
                return Err(
                    OpError::new(Code::Shape, name, expected, operand.shape().to_string())
                        .hint("moduli run along the last axis of the result"),
                );
            }
            modulus_contents(name, operand)
        }
    }
}

/// All known values of a modulus tensor are in range.
///
/// # Errors
/// One is not.
pub fn modulus_contents(name: &'static str, operand: Operand) -> Result<(), OpError> {
    operand.constant.map_or(Ok(()), |tensor| {
        tensor
            .words()
            .into_iter()
            .try_for_each(|value| modulus_value(name, value))
    })
}

fn modulus_value(name: &'static str, value: i64) -> Result<(), OpError> {
    if (2..=MAX_MODULUS).contains(&value) {
        return Ok(());
    }
    Err(OpError::new(
        Code::Modulus,
        name,
        "a modulus in 2 ..= 2^62",
        value.to_string(),
    ))
}

/// A known permutation really is one of `length`.
///
/// # Errors
/// A value is out of range or comes twice.
pub fn permutation_contents(
    name: &'static str,
    operand: Operand,
    length: u64,
) -> Result<(), OpError> {
    let Some(tensor) = operand.constant else {
        return Ok(());
    };
    let expected = format!("a permutation of 0 .. {length}");
    let mut seen = vec![false; usize::try_from(length).unwrap_or(0)];
    for value in tensor.words() {
        match usize::try_from(value)
            .ok()
            .and_then(|index| seen.get_mut(index))
        {
            Some(mark) if !*mark => *mark = true,
            Some(_) => {
                let got = format!("{value} twice");
                return Err(OpError::new(Code::Permutation, name, expected, got));
            }
            None => {
                return Err(OpError::new(
                    Code::Permutation,
                    name,
                    expected,
                    value.to_string(),
                ));
            }
        }
    }
    Ok(())
}

/// A transform length is a power of two.
///
/// # Errors
/// It is not.
pub fn transform_length(name: &'static str, length: u64) -> Result<(), OpError> {
    if length.is_power_of_two() {
        return Ok(());
    }
    Err(OpError::new(
        Code::TransformLength,
        name,
        "a power of two",
        length.to_string(),
    ))
}
