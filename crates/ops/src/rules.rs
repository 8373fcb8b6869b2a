//! Rules that several ops share: each is written once and named by its demand.

use crate::{Args, Code, LaunchInput, OpError, Operand, Value};
use cloakwork_ir::{DType, FIELD_DTYPES, POINT_DTYPES, PRIME_FIELD_DTYPES, Shape, Take, View};

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
    Err(OpError::dtype(
        name,
        names(allowed).join(" or "),
        operand.dtype,
    ))
}

/// The dtype is a prime field's: of what is defined by numbers below a prime, and by their order.
///
/// # Errors
/// It is not.
pub fn prime_field(name: &'static str, dtype: DType) -> Result<(), OpError> {
    if dtype.is_prime_field() {
        return Ok(());
    }
    let error = OpError::dtype(name, ANY_PRIME_FIELD, dtype);
    Err(match dtype.extends() {
        Some(_) => error.hint("elements of an extension have no order"),
        None => error,
    })
}

const ANY_PRIME_FIELD: &str = "any prime field";

/// The names of dtypes; all fields, all prime fields and all points of curves are one each.
#[must_use]
pub fn names(dtypes: &[DType]) -> Vec<&'static str> {
    let has_all = |own: &[DType]| own.iter().all(|dtype| dtypes.contains(dtype));
    let (fields, points) = (has_all(&FIELD_DTYPES), has_all(&POINT_DTYPES));
    let primes = has_all(&PRIME_FIELD_DTYPES);
    let grouped = |dtype: &DType| {
        dtype.is_field() && fields || dtype.is_prime_field() && primes || dtype.is_point() && points
    };
    let listed = |dtype: &&DType| !grouped(dtype);
    let mut names: Vec<&str> = dtypes.iter().filter(listed).map(|d| d.name()).collect();
    names.extend(fields.then_some("any field"));
    names.extend((primes && !fields).then_some(ANY_PRIME_FIELD));
    names.extend(points.then_some("points of any curve"));
    names
}

/// The operand, if it is a tensor, has this dtype.
///
/// # Errors
/// It is a tensor of another dtype, or an integer that the dtype cannot hold.
pub fn same_dtype(args: &Args, name: &'static str, dtype: DType) -> Result<(), OpError> {
    match args.value(name)? {
        Value::Tensor(operand) if operand.dtype != dtype => {
            Err(OpError::dtype(name, dtype.name(), operand.dtype)
                .hint("all operands of this op have the same dtype"))
        }
        Value::Int(value) if dtype == DType::I32 && i32::try_from(value).is_err() => {
            Err(OpError::range(name, "an integer that i32 holds", value))
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
    Err(OpError::shape(
        name,
        format!("{rank} axes"),
        operand.shape(),
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
    Err(OpError::shape(name, expected, operand.shape()))
}

/// Moduli along the last axis of `shape`: one integer, or a tensor of at most one axis that has one
/// element, or one for each index. (Of more elements the first counts if the last axis has size 1,
/// as in HEAL.)
///
/// # Errors
/// A tensor of another shape.
pub fn moduli(args: &Args, name: &'static str, shape: &Shape) -> Result<(), OpError> {
    let Some(operand) = args.tensor_if_any(name)? else {
        return Ok(());
    };
    let last = shape.dims().last().copied().unwrap_or(1);
    let length = operand.dims().first().copied().unwrap_or(1);
    let fits = length == 1 || length == last || (last == 1 && length > 0);
    if fits && operand.view.rank() <= 1 {
        return Ok(());
    }
    let expected = format!("one axis of length 1 or {last}");
    Err(OpError::shape(name, expected, operand.shape())
        .hint("moduli run along the last axis of the result"))
}

/// Whether moduli may be an addend, too: they broadcast to a result as any operand does.
pub fn adds_moduli(args: &Args, moduli: &'static str, out: &'static str) -> bool {
    let (Ok(q), Ok(out)) = (args.tensor_if_any(moduli), args.tensor(out)) else {
        return false;
    };
    q.is_none_or(|q| q.shape().broadcasts_to(out.shape()))
}

/// The view of a moduli tensor that broadcasts to `shape`.
#[must_use]
pub fn moduli_view(moduli: &View, shape: &Shape) -> View {
    if shape.dims().last().is_none_or(|&last| last == 1) {
        let first = moduli.slice(&[Take::Range {
            start: 0,
            stop: 1,
            step: 1,
        }]);
        return first.unwrap_or_else(|_| moduli.clone());
    }
    moduli.clone()
}

/// Moduli as an operand of an element-wise launch over `shape`.
///
/// # Errors
/// Neither an integer nor a tensor.
pub fn moduli_input(
    args: &Args,
    name: &'static str,
    shape: &Shape,
) -> Result<LaunchInput, OpError> {
    Ok(match args.input(name)? {
        LaunchInput::View(source, view) => LaunchInput::View(source, moduli_view(&view, shape)),
        int @ LaunchInput::Int { .. } => int,
    })
}

/// The view under NumPy's broadcast to a shape.
///
/// # Errors
/// It does not broadcast to it.
pub fn broadcast(name: &'static str, view: &View, shape: &Shape) -> Result<View, OpError> {
    view.broadcast_to(shape)
        .ok_or_else(|| no_broadcast(name, &view.shape, shape))
}

/// The shape that an operand broadcasts to with `shape`; an integer changes nothing.
///
/// # Errors
/// They do not go together.
pub fn broadcast_with(args: &Args, name: &'static str, shape: &Shape) -> Result<Shape, OpError> {
    let Some(operand) = args.tensor_if_any(name)? else {
        return Ok(shape.clone());
    };
    shape.broadcast(operand.shape()).ok_or_else(|| {
        let expected = format!("a shape that broadcasts with {shape}");
        OpError::shape(name, expected, operand.shape())
    })
}

/// The finding about a shape that does not broadcast to another.
#[must_use]
pub fn no_broadcast(name: &'static str, from: &Shape, to: &Shape) -> OpError {
    let expected = format!("a shape that broadcasts to {to}");
    OpError::shape(name, expected, from)
}

/// The shape of `out` where it is given, else the one inferred so far.
///
/// # Errors
/// The op has no parameter `out`.
pub fn out_shape(args: &Args, inferred: &Shape) -> Result<Shape, OpError> {
    let out = args.tensor_if_any("out")?;
    Ok(out.map_or(inferred, |out| out.shape()).clone())
}

/// Elements of `out`: the count of operations where each takes one.
#[must_use]
pub fn out_elements(args: &Args) -> u64 {
    args.tensor("out").map_or(0, |out| out.shape().elements())
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
