//! Views under another shape, or with axes swapped.

use super::{Inner, shares};
use crate::eval::{Value, layout};
use crate::index;
use cloakwork_ir::{Shape, View};
use cloakwork_ops::named;
use cloakwork_trace::is_active;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use smallvec::SmallVec;

/// The elements under another shape: a view where strides can say it; see `Tensor.reshape`.
pub fn reshaped(
    py: Python<'_>,
    tensor: &Inner,
    shape: &Bound<'_, PyTuple>,
    copy: Option<bool>,
) -> PyResult<Inner> {
    if let (Some(viewed), false) = (at_once(tensor, shape), copy == Some(true)) {
        return Ok(viewed);
    }
    let sizes = index::sizes(shape, tensor.view().shape.elements())?;
    let shaped = layout(py, &named::RESHAPE, tensor, [Value::Shape(sizes)])?;
    let shares = shares(tensor, &shaped);
    match copy {
        Some(true) if shares => layout(py, &named::COPY, &shaped, []),
        Some(false) if !shares => Err(PyValueError::new_err(
            "reshape: no view of these elements has that shape; copy=False forbids a copy",
        )),
        _ => Ok(shaped),
    }
}

/// The view of a contiguous tensor under a shape with all its sizes given; `None` for a call that
/// says less, or that is wrong.
pub fn at_once(tensor: &Inner, shape: &Bound<'_, PyTuple>) -> Option<Inner> {
    let Inner::Real(real) = tensor else {
        return None;
    };
    if is_active() || !real.view().is_contiguous() {
        return None;
    }
    let only = match shape.len() {
        1 => Some(shape.get_item(0).ok()?),
        _ => None,
    };
    let nested = only
        .as_ref()
        .and_then(|only| only.cast_exact::<PyTuple>().ok());
    let mut dims: SmallVec<[u64; 4]> = SmallVec::new();
    for size in nested.unwrap_or(shape).iter_borrowed() {
        dims.push(size.cast_exact::<PyInt>().ok()?.extract().ok()?);
    }
    let shape = Shape::new(&dims).ok()?;
    if shape.elements() != real.view().shape.elements() {
        return None;
    }
    let mut view = View::contiguous(shape);
    view.offset = real.view().offset;
    real.view_as(view).ok().map(Inner::Real)
}

/// A view with the last two axes swapped; of a matrix alone if `only` is set.
pub fn transposed(py: Python<'_>, tensor: &Inner, only: bool) -> PyResult<Inner> {
    let rank = tensor.view().rank() as i64;
    let text = match rank {
        2 => None,
        _ if only => Some(format!(
            "T: expected two axes, got {rank}; mT swaps the last two"
        )),
        ..2 => Some(format!("mT: expected two axes or more, got {rank}")),
        _ => None,
    };
    match text {
        Some(text) => Err(PyValueError::new_err(text)),
        None => {
            let axes = [Value::Int(rank - 1), Value::Int(rank - 2)];
            layout(py, &named::MOVEAXIS, tensor, axes)
        }
    }
}
