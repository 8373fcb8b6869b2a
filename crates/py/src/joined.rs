//! Tensors joined along an axis.

use crate::eval::{Value, eval, uninitialized};
use crate::tensor::{Tensor, tensors};
use crate::{dtype, index, on_device};
use cloakwork_ops::named;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A tensor of a dtype with the elements of others along one axis, which is a new one if `stack` is
/// set. They agree in all other axes.
#[pyfunction]
#[pyo3(signature = (pieces, axis, dtype, *, stack=false))]
pub fn joined(
    py: Python<'_>,
    pieces: &Bound<'_, PyList>,
    axis: usize,
    dtype: &Bound<'_, PyAny>,
    stack: bool,
) -> PyResult<Tensor> {
    let (mut pieces, dtype) = (tensors(pieces)?, dtype::from_object(dtype)?);
    let within = on_device::within(py, &pieces)?;
    if stack {
        for piece in &mut pieces {
            *piece = index::with_axis(py, piece, axis)?;
        }
    }
    let size = |piece: &crate::tensor::Inner| piece.view().shape.dims().get(axis).copied();
    let counts: Option<Vec<u64>> = pieces.iter().map(size).collect();
    let (Some(first), Some(counts)) = (pieces.first(), counts) else {
        return Err(PyValueError::new_err("joined: no pieces with this axis"));
    };
    let mut dims = first.view().shape.dims().to_vec();
    dims[axis] = counts.iter().sum();
    let out = uninitialized(py, &dims, dtype)?;
    let mut start = 0;
    for (piece, count) in pieces.into_iter().zip(counts) {
        let part = index::window(py, &out, axis, (start, count))?;
        start += count;
        let operands = vec![
            Value::Tensor(piece),
            Value::DType(dtype),
            Value::Tensor(part),
        ];
        eval(py, &named::ASTYPE, operands)?;
    }
    drop(within);
    on_device::relieved(py, &out)?;
    Ok(Tensor::from(out))
}
