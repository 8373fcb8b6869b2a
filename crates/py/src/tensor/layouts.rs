//! Views under another shape, or with axes swapped.

use super::{Inner, shares};
use crate::eval::{Value, layout};
use crate::index;
use cloakwork_ops::named;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The elements under another shape: a view where strides can say it; see `Tensor.reshape`.
pub fn reshaped(
    py: Python<'_>,
    tensor: &Inner,
    shape: &Bound<'_, PyTuple>,
    copy: Option<bool>,
) -> PyResult<Inner> {
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
