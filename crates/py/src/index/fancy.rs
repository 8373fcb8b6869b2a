//! Keys that are one tensor of integers, or one mask, for the first axes: a handful of ops. Keys of
//! several tensors, and what is wrong with a key, are `cloakwork.tensors.indexing`'s.

use super::element_of;
use crate::contents::with_bytes;
use crate::eval::{Value, eval, layout};
use crate::numbers::{apart, convert};
use crate::tensor::{Inner, Tensor};
use cloakwork_ir::{DType, MAX_RANK, ShapeItem, read_word};
use cloakwork_ops::named;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A key of one tensor.
enum Key {
    /// Indices into the first axis: i64.
    Indices(Inner),
    /// A mask of the first axes.
    Mask(Inner),
}

/// The elements that such a key selects, as a copy; `None` for another key, and for one with which
/// something is wrong.
pub fn get(py: Python<'_>, tensor: &Inner, key: &Bound<'_, PyAny>) -> PyResult<Option<Inner>> {
    let selected = match only(py, tensor, key)? {
        Some(Key::Indices(indices)) => rows(py, tensor, &indices),
        Some(Key::Mask(mask)) => match masked(py, tensor, &mask) {
            Ok(Some(selected)) => Ok(selected),
            _ => return Ok(None),
        },
        None => return Ok(None),
    };
    Ok(selected.ok())
}

/// Writes to the elements that such a key selects; whether it did.
pub fn put(
    py: Python<'_>,
    tensor: &Inner,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let value = element_of(py, value, tensor)?;
    let done = match only(py, tensor, key)? {
        Some(Key::Indices(indices)) => scattered(py, tensor, &indices, value),
        Some(Key::Mask(mask)) if value.view().rank() == 0 => blended(py, tensor, &mask, value),
        _ => return Ok(false),
    };
    Ok(done.unwrap_or(false))
}

/// The key as one tensor, if it is one, or an array or a list that becomes one.
fn only(py: Python<'_>, tensor: &Inner, key: &Bound<'_, PyAny>) -> PyResult<Option<Key>> {
    let key = match key.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() == 1 => &tuple.get_item(0)?,
        Ok(_) => return Ok(None),
        Err(_) => key,
    };
    let known = match key.cast::<Tensor>() {
        Ok(_) => key.clone(),
        Err(_) => py
            .import("cloakwork.tensors.selection")?
            .getattr("known")?
            .call1((key,))?,
    };
    let Ok(known) = known.cast::<Tensor>() else {
        return Ok(None);
    };
    let (known, dims) = (known.get().inner(), tensor.view().shape.dims());
    Ok(match known.dtype() {
        DType::Bool => {
            let own = known.view().shape.dims();
            let fits = !own.is_empty() && dims.starts_with(own);
            fits.then(|| Key::Mask(known.clone()))
        }
        dtype if dtype.is_integer() && dtype != DType::U64 && !dims.is_empty() => {
            Some(Key::Indices(convert(py, known, DType::I64)?))
        }
        _ => None,
    })
}

/// `tensor[indices]`.
fn rows(py: Python<'_>, tensor: &Inner, indices: &Inner) -> PyResult<Inner> {
    let dims = tensor.view().shape.dims();
    let flat = along_first(py, indices, dims.len())?;
    let taken = taken(py, tensor.clone(), flat)?;
    reshaped(py, &taken, indices.view().shape.dims(), &dims[1..])
}

/// `tensor[mask]`; `None` where the mask's elements cannot or must not be counted.
fn masked(py: Python<'_>, tensor: &Inner, mask: &Inner) -> PyResult<Option<Inner>> {
    let Inner::Real(real) = mask else {
        return Ok(None);
    };
    if real.is_secret() {
        return Ok(None);
    }
    let rank = mask.view().rank();
    let axes = (0..rank as i64).map(ShapeItem::Int).collect();
    let count = vec![Value::Tensor(mask.clone()), Value::Shape(axes)];
    let Inner::Real(count) = eval(py, &named::COUNT_NONZERO, count)? else {
        return Ok(None);
    };
    let count = with_bytes(&count, |bytes| {
        read_word(DType::I64, bytes.get(..8).unwrap_or_default())
    })?;
    let elements = mask.view().shape.elements();
    let flat = reshaped(py, mask, &[elements], &[])?;
    let places = vec![Value::Tensor(flat), Value::Int(count)];
    let places = eval(py, &named::NONZERO, places)?;
    let rest = &tensor.view().shape.dims()[rank..];
    let source = reshaped(py, tensor, &[elements], rest)?;
    let places = along_first(py, &places, rest.len() + 1)?;
    taken(py, source, places).map(Some)
}

/// `tensor[indices] = value`, where the value is an element, or as large as what it is written to.
fn scattered(py: Python<'_>, tensor: &Inner, indices: &Inner, value: Inner) -> PyResult<bool> {
    let rest = &tensor.view().shape.dims()[1..];
    let own = indices.view().shape.dims();
    let count = indices.view().shape.elements();
    let value = apart(py, value, tensor)?;
    let values = if value.view().rank() == 0 {
        layout(py, &named::BROADCAST_TO, &value, [sizes(&[count], rest)])?
    } else if is_of(&value, own, rest) {
        reshaped(py, &value, &[count], rest)?
    } else {
        return Ok(false);
    };
    let indices = reshaped(py, indices, &[count], &[])?;
    let indices = apart(py, indices, tensor)?;
    let [a, out] = [(); 2].map(|()| Value::Tensor(tensor.clone()));
    let operands = [indices, values].map(Value::Tensor);
    let values = [a].into_iter().chain(operands);
    let values = values.chain([Value::Int(0), out]).collect();
    eval(py, &named::SCATTER, values).map(|_| true)
}

/// `tensor[mask] = element`, which no mask's contents decide the shape of.
fn blended(py: Python<'_>, tensor: &Inner, mask: &Inner, value: Inner) -> PyResult<bool> {
    let own = mask.view().shape.dims();
    let ones = vec![1; tensor.view().rank() - own.len()];
    let condition = reshaped(py, mask, own, &ones)?;
    let value = apart(py, value, tensor)?;
    let operands = [value, tensor.clone(), condition, tensor.clone()];
    let values = operands.map(Value::Tensor).into();
    eval(py, &named::WHERE, values).map(|_| true)
}

/// Indices as `take_along_axis` has them for the first of so many axes.
fn along_first(py: Python<'_>, indices: &Inner, rank: usize) -> PyResult<Inner> {
    let count = indices.view().shape.elements();
    reshaped(py, indices, &[count], &[1; MAX_RANK][1..rank])
}

fn reshaped(py: Python<'_>, tensor: &Inner, first: &[u64], rest: &[u64]) -> PyResult<Inner> {
    if is_of(tensor, first, rest) {
        return Ok(tensor.clone());
    }
    layout(py, &named::RESHAPE, tensor, [sizes(first, rest)])
}

/// Whether a tensor has these sizes, one list behind the other.
fn is_of(tensor: &Inner, first: &[u64], rest: &[u64]) -> bool {
    let mut dims = tensor.view().shape.dims().iter();
    dims.len() == first.len() + rest.len()
        && first.iter().chain(rest).all(|d| dims.next() == Some(d))
}

fn taken(py: Python<'_>, source: Inner, indices: Inner) -> PyResult<Inner> {
    let operands = [source, indices].map(Value::Tensor);
    let values = operands.into_iter().chain([Value::Int(0)]);
    eval(py, &named::TAKE_ALONG_AXIS, values.collect())
}

fn sizes(first: &[u64], rest: &[u64]) -> Value {
    let sizes = first.iter().chain(rest);
    Value::Shape(sizes.map(|&size| ShapeItem::Int(size as i64)).collect())
}
