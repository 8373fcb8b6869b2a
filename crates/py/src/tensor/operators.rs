//! Python's operators on tensors.

use super::Tensor;
use crate::eval::{Value, eval};
use crate::operand::{answered, elements_beside, is_foreign, tensor_of};
use crate::tensor::Inner;
use crate::{linear, numbers, on_device};
use cloakwork_ops::named;
use cloakwork_run::eager::Ready;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The other operand's methods for operators of which a tensor is the first operand.
static REFLECTED: [(&Ready, &str); 18] = [
    (&numbers::ADD, "__radd__"),
    (&numbers::SUBTRACT, "__rsub__"),
    (&numbers::MULTIPLY, "__rmul__"),
    (&numbers::DIVIDE, "__rtruediv__"),
    (&numbers::FLOOR_DIVIDE, "__rfloordiv__"),
    (&numbers::REMAINDER, "__rmod__"),
    (&numbers::POW, "__rpow__"),
    (&numbers::BITWISE_AND, "__rand__"),
    (&numbers::BITWISE_OR, "__ror__"),
    (&numbers::BITWISE_XOR, "__rxor__"),
    (&numbers::BITWISE_LEFT_SHIFT, "__rlshift__"),
    (&numbers::BITWISE_RIGHT_SHIFT, "__rrshift__"),
    (&numbers::EQUAL, "__eq__"),
    (&numbers::NOT_EQUAL, "__ne__"),
    (&numbers::LESS, "__gt__"),
    (&numbers::LESS_EQUAL, "__ge__"),
    (&numbers::GREATER, "__lt__"),
    (&numbers::GREATER_EQUAL, "__le__"),
];

/// An operator's result: the other operand's answer if it claims operators, else the op's. Python's
/// own defaults, such as unequal objects and repeated lists, never answer for a tensor.
#[inline]
pub fn operator(
    ready: &'static Ready,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = a.py();
    if is_foreign(b)
        && let Some((_, method)) = REFLECTED.iter().find(|(own, _)| std::ptr::eq(*own, ready))
        && let Some(answer) = answered_first(a, b, method)?
    {
        return Ok(answer.unbind());
    }
    Ok(Py::new(py, numbers::binary(py, ready, a, b)?)?.into_any())
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

/// The quotient, rounded down, and the remainder.
pub fn quotient_and_rest(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = a.py();
    if let Some(answer) = answered_first(a, b, "__rdivmod__")? {
        return Ok(answer.unbind());
    }
    let quotient = numbers::binary(py, &numbers::FLOOR_DIVIDE, a, b)?;
    let rest = numbers::binary(py, &numbers::REMAINDER, a, b)?;
    Ok((quotient, rest).into_pyobject(py)?.into_any().unbind())
}

/// The product of matrices.
pub fn product(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if let Some(answer) = answered_first(a, b, "__rmatmul__")? {
        return Ok(answer.unbind());
    }
    let product = product_of(a, b)?;
    Ok(Py::new(a.py(), Tensor::from(product))?.into_any())
}

fn product_of(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Inner> {
    let elements = |other: &Bound<'_, PyAny>| elements_beside(&numbers::ADD, other, false);
    let a_tensor = tensor_of(a, "x1 of matmul", elements(b))?;
    let b_tensor = tensor_of(b, "x2 of matmul", elements(a))?;
    linear::product(a.py(), &a_tensor, &b_tensor)
}

/// [`answered`] where the tensor is the first operand: the second one was asked before a tensor is.
fn answered_first<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    method: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match a.is_instance_of::<Tensor>() {
        true => answered(a, b, method),
        false => Ok(None),
    }
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
    let result = product_of(a.as_any(), b)?;
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
    let equal = numbers::binary(py, &numbers::EQUAL, slf.as_any(), value)?;
    let axes = (0..equal.ndim() as i64)
        .map(cloakwork_ir::ShapeItem::Int)
        .collect();
    equal
        .derive(py, &named::ANY, [Value::Shape(axes)])?
        .__bool__()
}
