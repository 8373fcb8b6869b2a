//! Elements of fields and points where Python's objects meet them: here is when they are converted,
//! which `cloakwork.fields.elements` does.

use crate::contents::host_copy;
use crate::numbers;
use crate::scalar::Number;
use crate::tensor::{Elements, Inner, Tensor};
use cloakwork_ir::DType;
use cloakwork_library::pairing::Form;
use cloakwork_ops::elements::{self, InvalidElement};
use cloakwork_run::eager::Ready;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Calls a function of `cloakwork.fields.elements`.
pub fn call<'py>(
    py: Python<'py>,
    name: &str,
    args: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("cloakwork.fields.elements")?
        .getattr(name)?
        .call1(args)
}

/// The same where it gives a tensor.
pub fn tensor<'py>(py: Python<'py>, name: &str, args: impl PyCallArgs<'py>) -> PyResult<Inner> {
    let made = call(py, name, args)?.cast_into::<Tensor>()?;
    Ok(made.get().inner().clone())
}

/// The row-major place of the first element that canonical words do not name, and why; None if they
/// all do.
#[pyfunction]
pub fn first_invalid(
    words: &Tensor,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<Option<(usize, String)>> {
    let dtype = crate::dtype::from_object(dtype)?;
    let words = words.inner().real("words")?;
    let words = host_copy(words)?;
    let found = elements::check(dtype, Form::Canonical, words.bytes().as_slice()).err();
    Ok(found.map(|InvalidElement { index, reason }| (index, reason.to_string())))
}

/// An integer as an element of a field: its residue.
///
/// # Errors
/// TypeError for other numbers, and for points, which are not numbers.
pub fn element(py: Python<'_>, number: &Number<'_, '_>, dtype: DType) -> PyResult<Inner> {
    let object = crate::dtype::object(py, dtype)?;
    match number {
        Number::Int(value) => tensor(py, "scalar", (*value, object)),
        Number::Bool(value) => tensor(py, "scalar", (i64::from(*value), object)),
        _ => Err(PyTypeError::new_err(format!(
            "{dtype} can be combined with its own dtype and with integers, not with {}",
            number.weak().dtype().long_name()
        ))),
    }
}

/// The function that computes an operator of a field or of points which is no element-wise op of
/// one dtype: a power, or a multiple of a point.
pub fn function(ready: &'static Ready, a: Option<DType>, b: Option<DType>) -> Option<&'static str> {
    let is_point = |dtype: Option<DType>| dtype.is_some_and(DType::is_point);
    if std::ptr::eq(ready, &raw const numbers::POW) && a.is_some_and(DType::is_field) {
        return Some("power");
    }
    let multiplies = std::ptr::eq(ready, &raw const numbers::MULTIPLY);
    (multiplies && is_point(a) != is_point(b)).then_some("multiple")
}
