//! Python's operators on tensors.

use super::Tensor;
use crate::eval::{Value, eval};
use crate::{linear, numbers, on_device};
use cloakwork_ops::named;
use cloakwork_run::eager::Ready;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An operator's result, or NotImplemented for operands that it does not take.
#[inline]
pub fn operator(
    ready: &'static Ready,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = a.py();
    match numbers::binary(py, ready, a, b)? {
        Some(result) => Ok(Py::new(py, result)?.into_any()),
        None => Ok(py.NotImplemented()),
    }
}

/// A power; not modulo anything.
pub fn power(
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    modulo: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    if modulo.is_some() {
        return Ok(a.py().NotImplemented());
    }
    operator(&numbers::POW, a, b)
}

/// The quotient, rounded down, and the remainder; or NotImplemented.
pub fn quotient_and_rest(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = a.py();
    let quotient = numbers::binary(py, &numbers::FLOOR_DIVIDE, a, b)?;
    let rest = numbers::binary(py, &numbers::REMAINDER, a, b)?;
    match (quotient, rest) {
        (Some(quotient), Some(rest)) => Ok((quotient, rest).into_pyobject(py)?.into_any().unbind()),
        _ => Ok(py.NotImplemented()),
    }
}

/// The product of matrices, or NotImplemented for operands that are not arrays.
pub fn product(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = a.py();
    let is_number = |x: &Bound<'_, PyAny>| crate::scalar::Number::of(x).is_some();
    let is_array = |x: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(x.is_instance_of::<Tensor>() || x.hasattr("__array_interface__")?)
    };
    if is_number(a) || is_number(b) || !is_array(a)? || !is_array(b)? {
        return Ok(py.NotImplemented());
    }
    let (a, b) = (numbers::tensor_of(a)?, numbers::tensor_of(b)?);
    let product = linear::product(py, &a, &b)?;
    Ok(Py::new(py, Tensor::from(product))?.into_any())
}

/// `a @= b`: the product's elements in place of the tensor's.
pub fn assign_product(a: &Bound<'_, Tensor>, b: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = a.py();
    if let Some(device) = a.get().inner().device() {
        return Err(on_device::not_written(
            &device.to_string(),
            "matmul in place",
        ));
    }
    let result = product(a.as_any(), b)?;
    let result = result.bind(py).cast::<Tensor>()?.get().inner().clone();
    let own = a.get().inner().clone();
    if result.dtype() != own.dtype() || result.view().shape != own.view().shape {
        return Err(PyValueError::new_err(
            "@=: the product is of another shape or dtype than the tensor",
        ));
    }
    let values = vec![Value::Tensor(result), Value::Tensor(own)];
    eval(py, &named::COPY, values).map(|_| ())
}

/// A comparison, element by element.
pub fn compare(op: CompareOp, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let ready = match op {
        CompareOp::Eq => &numbers::EQUAL,
        CompareOp::Ne => &numbers::NOT_EQUAL,
        CompareOp::Lt => &numbers::LESS,
        CompareOp::Le => &numbers::LESS_EQUAL,
        CompareOp::Gt => &numbers::GREATER,
        CompareOp::Ge => &numbers::GREATER_EQUAL,
    };
    operator(ready, a, b)
}

/// Whether an element is equal to a value.
pub fn contains(slf: &Bound<'_, Tensor>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = slf.py();
    let Some(equal) = numbers::binary(py, &numbers::EQUAL, slf.as_any(), value)? else {
        return Ok(false);
    };
    let axes = (0..equal.ndim() as i64)
        .map(cloakwork_ir::ShapeItem::Int)
        .collect();
    equal
        .derive(py, &named::ANY, [Value::Shape(axes)])?
        .__bool__()
}
