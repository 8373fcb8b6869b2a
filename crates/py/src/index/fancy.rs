//! Keys of tensors of integers for neighbouring axes, and of one mask for the first axes, by
//! prepared calls. `cloakwork.tensors.indexing` has the others, and explains errors of a key.

use super::{Resolved, element_of, entry, is_basic, sized};
use crate::contents::with_bytes;
use crate::errors;
use crate::eval::{Value, eval, layout};
use crate::field::word;
use crate::numbers::{self, apart, convert, of_two};
use crate::tensor::{Inner, Tensor};
use cloakwork_ir::{DType, MAX_RANK, Shape, ShapeItem, read_word};
use cloakwork_ops::named;
use cloakwork_trace::is_active;
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};
use smallvec::SmallVec;
use std::iter::repeat_n;
use std::ops::Range;

/// Sizes of axes.
type Sizes = SmallVec<[u64; MAX_RANK]>;

/// A key of tensors.
enum Key {
    /// Indices into one axis of a tensor, which may be several axes of the indexed one: i64.
    Indices(Inner, usize, Inner),
    /// A mask of the first axes.
    Mask(Inner),
}

/// The elements that such a key selects, as a copy; `None` for other keys and for invalid ones.
pub fn get(py: Python<'_>, tensor: &Inner, key: &Bound<'_, PyAny>) -> PyResult<Option<Inner>> {
    if let Some(selected) = at_once(tensor, key)? {
        return Ok(Some(selected));
    }
    let selected = match of_tensors(py, tensor, key)? {
        Some(Key::Indices(source, axis, indices)) => along(py, source, axis, &indices),
        Some(Key::Mask(mask)) => match masked(py, tensor, &mask) {
            Ok(Some(selected)) => Ok(selected),
            _ => return Ok(None),
        },
        None => return Ok(None),
    };
    Ok(selected.ok())
}

/// The rows of a small tensor that one small tensor selects.
fn at_once(tensor: &Inner, key: &Bound<'_, PyAny>) -> PyResult<Option<Inner>> {
    let Ok(key) = key.cast_exact::<Tensor>() else {
        return Ok(None);
    };
    let (Inner::Real(rows), Inner::Real(key), false) = (tensor, key.get().inner(), is_active())
    else {
        return Ok(None);
    };
    let selected = match key.dtype() {
        DType::Bool => rows.rows_where(key),
        _ => rows.rows_at(key),
    };
    Ok(selected.map_err(errors::run)?.map(Inner::Real))
}

/// Writes to the elements that such a key selects; whether it did.
pub fn put(
    py: Python<'_>,
    tensor: &Inner,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let value = element_of(py, value, tensor)?;
    let done = match of_tensors(py, tensor, key)? {
        Some(Key::Indices(target, 0, indices)) => scattered(py, &target, &indices, value),
        Some(Key::Mask(mask)) if value.view().rank() == 0 => blended(py, tensor, &mask, value),
        _ => return Ok(false),
    };
    Ok(done.unwrap_or(false))
}

fn of_tensors(py: Python<'_>, tensor: &Inner, key: &Bound<'_, PyAny>) -> PyResult<Option<Key>> {
    let key = match key.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() == 1 => &tuple.get_item(0)?,
        Ok(tuple) => return Ok(several(py, tensor, tuple).ok().flatten()),
        Err(_) => key,
    };
    let Some(known) = known(key)? else {
        return Ok(None);
    };
    let dims = tensor.view().shape.dims();
    Ok(match known.dtype() {
        DType::Bool => {
            let own = known.view().shape.dims();
            let fits = !own.is_empty() && dims.starts_with(own);
            fits.then_some(Key::Mask(known))
        }
        _ if dims.is_empty() => None,
        _ => indices_of(py, &known)?.map(|indices| Key::Indices(tensor.clone(), 0, indices)),
    })
}

/// An entry of a key as a tensor, if it is one, or an array or a list that becomes one.
fn known(key: &Bound<'_, PyAny>) -> PyResult<Option<Inner>> {
    if let Ok(tensor) = key.cast::<Tensor>() {
        return Ok(Some(tensor.get().inner().clone()));
    }
    let selection = key.py().import("cloakwork.tensors.selection")?;
    let known = selection.getattr("known")?.call1((key,))?;
    let tensor = known.cast::<Tensor>().ok();
    Ok(tensor.map(|tensor| tensor.get().inner().clone()))
}

/// Indices as i64, if the tensor has integers that i64 holds.
fn indices_of(py: Python<'_>, tensor: &Inner) -> PyResult<Option<Inner>> {
    let dtype = tensor.dtype();
    if !dtype.is_integer() || dtype == DType::U64 {
        return Ok(None);
    }
    convert(py, tensor, DType::I64).map(Some)
}

/// A key of integers and tensors of them for neighbouring axes, and slices for others.
fn several(py: Python<'_>, tensor: &Inner, keys: &Bound<'_, PyTuple>) -> PyResult<Option<Key>> {
    let dims = tensor.view().shape.dims();
    let mut basic = Resolved::all_of(tensor);
    let mut indices: SmallVec<[(Inner, u64); 4]> = SmallVec::new();
    // The axes of the view that slices take before indices, and the last place of an index.
    let (mut before, mut last) = (0, None);
    for (place, key) in keys.iter().enumerate() {
        let Some(&dim) = dims.get(place) else {
            return Ok(None);
        };
        if key.is_instance_of::<PySlice>() {
            basic.replace(place, entry(&key, place, dim)?);
            before += usize::from(last.is_none());
            continue;
        }
        if key.is_none() || last.is_some_and(|last| last + 1 != place) {
            return Ok(None);
        }
        last = Some(place);
        if is_basic(&key) {
            basic.replace(place, entry(&key, place, dim)?);
        } else if let Some(known) = known(&key)?
            && let Some(own) = indices_of(py, &known)?
            && own.view().shape.elements() > 0
        {
            indices.push((own, dim));
        } else {
            return Ok(None);
        }
    }
    let view = super::taken(py, tensor, &basic)?;
    match indices.as_slice() {
        [] => Ok(None),
        [(only, _)] => Ok(Some(Key::Indices(view, before, only.clone()))),
        _ => merged(py, view, before, &indices),
    }
}

/// Indices into neighbouring axes as indices into one, if a view can have that axis.
fn merged(
    py: Python<'_>,
    view: Inner,
    axis: usize,
    indices: &[(Inner, u64)],
) -> PyResult<Option<Key>> {
    let size = indices.iter().map(|(_, size)| size).product();
    let dims = spliced(
        view.view().shape.dims(),
        axis..axis + indices.len(),
        &[size],
    );
    let shape = Shape::new(&dims).map_err(|error| crate::errors::shape(&error))?;
    if !matches!(view.view().reshape(&shape), Ok(Some(_))) {
        return Ok(None);
    }
    let source = reshaped(py, &view, &dims)?;
    let places = places(py, indices, size as i64)?;
    Ok(Some(Key::Indices(source, axis, places)))
}

/// Row-major places of elements by their indices along several axes; `beyond` for an index that is
/// out of range.
fn places(py: Python<'_>, indices: &[(Inner, u64)], beyond: i64) -> PyResult<Inner> {
    let two = |ready, a: &Inner, b: &Inner| of_two(py, ready, a, b);
    let either = |a: Inner, b: Inner, condition: Inner| {
        eval(
            py,
            &named::WHERE,
            [a, b, condition].map(Value::Tensor).into(),
        )
    };
    let (zero, mut step) = (word(0)?, 1);
    let mut found: Option<(Inner, Inner)> = None;
    for (own, size) in indices.iter().rev() {
        let size = *size as i64;
        let limit = word(size)?;
        let from_end = two(&numbers::ADD, own, &limit)?;
        let own = either(from_end, own.clone(), two(&numbers::LESS, own, &zero)?)?;
        let low = two(&numbers::LESS, &own, &zero)?;
        let wrong = two(
            &numbers::BITWISE_OR,
            &low,
            &two(&numbers::GREATER_EQUAL, &own, &limit)?,
        )?;
        found = Some(match found {
            None => (own, wrong),
            Some((sum, before)) => {
                let part = two(&numbers::MULTIPLY, &own, &word(step)?)?;
                let wrong = two(&numbers::BITWISE_OR, &wrong, &before)?;
                (two(&numbers::ADD, &part, &sum)?, wrong)
            }
        });
        step *= size;
    }
    match found {
        Some((sum, wrong)) => either(word(beyond)?, sum, wrong),
        None => Ok(zero),
    }
}

/// The slices of a tensor at indices (i64) along an axis, which the axes of the indices replace.
pub fn along(py: Python<'_>, source: Inner, axis: usize, indices: &Inner) -> PyResult<Inner> {
    let (rank, own) = (source.view().rank(), indices.view().shape.dims());
    let dims = spliced(source.view().shape.dims(), axis..axis + 1, own);
    let picked = taken(py, source, axis, along_axis(py, indices, axis, rank)?)?;
    reshaped(py, &picked, &dims)
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
    let flat = reshaped(py, mask, &[elements])?;
    let places = vec![Value::Tensor(flat), Value::Int(count)];
    let places = eval(py, &named::NONZERO, places)?;
    let source = spliced(tensor.view().shape.dims(), 0..rank, &[elements]);
    let source = reshaped(py, tensor, &source)?;
    let places = along_axis(py, &places, 0, source.view().rank())?;
    taken(py, source, 0, places).map(Some)
}

/// `tensor[indices] = value`, where the value is an element, or as large as what it is written to.
fn scattered(py: Python<'_>, tensor: &Inner, indices: &Inner, value: Inner) -> PyResult<bool> {
    let dims = tensor.view().shape.dims();
    let own = indices.view().shape.dims();
    let count = indices.view().shape.elements();
    let value = apart(py, value, tensor)?;
    let rows = spliced(dims, 0..1, &[count]);
    let values = if value.view().rank() == 0 {
        layout(py, &named::BROADCAST_TO, &value, [sized(&rows)])?
    } else if *value.view().shape.dims() == *spliced(dims, 0..1, own) {
        reshaped(py, &value, &rows)?
    } else {
        return Ok(false);
    };
    let indices = reshaped(py, indices, &[count])?;
    let indices = apart(py, indices, tensor)?;
    let [a, out] = [(); 2].map(|()| Value::Tensor(tensor.clone()));
    let operands = [indices, values].map(Value::Tensor);
    let values = [a].into_iter().chain(operands);
    let values = values.chain([Value::Int(0), out]).collect();
    eval(py, &named::SCATTER, values).map(|_| true)
}

/// `tensor[mask] = element`, whose shapes do not depend on the contents of the mask.
fn blended(py: Python<'_>, tensor: &Inner, mask: &Inner, value: Inner) -> PyResult<bool> {
    let mut dims = Sizes::from_slice(mask.view().shape.dims());
    dims.resize(tensor.view().rank(), 1);
    let condition = apart(py, reshaped(py, mask, &dims)?, tensor)?;
    let value = apart(py, value, tensor)?;
    let operands = [value, tensor.clone(), condition, tensor.clone()];
    let values = operands.map(Value::Tensor).into();
    eval(py, &named::WHERE, values).map(|_| true)
}

/// Indices with the axes that `take_along_axis` wants for this axis of so many.
fn along_axis(py: Python<'_>, indices: &Inner, axis: usize, rank: usize) -> PyResult<Inner> {
    let mut dims: Sizes = repeat_n(1, rank).collect();
    dims[axis] = indices.view().shape.elements();
    reshaped(py, indices, &dims)
}

fn reshaped(py: Python<'_>, tensor: &Inner, dims: &[u64]) -> PyResult<Inner> {
    if tensor.view().shape.dims() == dims {
        return Ok(tensor.clone());
    }
    layout(py, &named::RESHAPE, tensor, [sized(dims)])
}

fn taken(py: Python<'_>, source: Inner, axis: usize, indices: Inner) -> PyResult<Inner> {
    let operands = [source, indices].map(Value::Tensor);
    let values = operands.into_iter().chain([Value::Int(axis as i64)]);
    eval(py, &named::TAKE_ALONG_AXIS, values.collect())
}

/// Sizes with others in place of those of some axes.
fn spliced(dims: &[u64], axes: Range<usize>, others: &[u64]) -> Sizes {
    let (before, after) = (&dims[..axes.start], &dims[axes.end..]);
    [before, others, after]
        .into_iter()
        .flatten()
        .copied()
        .collect()
}
