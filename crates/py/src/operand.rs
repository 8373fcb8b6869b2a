//! Operands of calls: tensors, Python's numbers, and all else as `cloakwork.asarray` converts or
//! refuses it. Operators, functions and assignments ask here.

use crate::scalar::Number;
use crate::tensor::{Inner, Tensor};
use crate::{dtype, errors, field, numbers};
use cloakwork_ir::DType;
use cloakwork_ops::promotion::Operand as Promoted;
use cloakwork_run::eager::Ready;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An operand of a call.
pub enum Given<'a, 'py> {
    Tensor(&'a Inner),
    Owned(Inner),
    Number(Number<'a, 'py>),
}

impl Given<'_, '_> {
    /// The operand where the other one is of a field, or a point: numbers become elements.
    pub fn in_field(self, py: Python<'_>, dtype: DType) -> PyResult<Self> {
        match self {
            Self::Number(number) => field::element(py, &number, dtype).map(Self::Owned),
            other => Ok(other),
        }
    }

    /// Its part in the type in which the call computes.
    pub fn promoted(&self) -> Promoted {
        match self {
            Self::Tensor(inner) => Promoted::Tensor(inner.dtype()),
            Self::Owned(inner) => Promoted::Tensor(inner.dtype()),
            Self::Number(number) => Promoted::Number(number.weak()),
        }
    }

    pub fn inner(&self) -> Option<&Inner> {
        match self {
            Self::Tensor(inner) => Some(inner),
            Self::Owned(inner) => Some(inner),
            Self::Number(_) => None,
        }
    }
}

/// An argument of a call as an operand. Python's sequences hold `elements` of a field, or points,
/// where these are given.
///
/// # Errors
/// DTypeError or ParamError of Python, with the op and the argument, for all that is no array.
#[inline]
pub fn given<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    ready: &'static Ready,
    argument: &str,
    elements: impl FnOnce() -> Option<DType>,
) -> PyResult<Given<'a, 'py>> {
    if let Ok(tensor) = value.cast_exact::<Tensor>() {
        return Ok(Given::Tensor(tensor.get().inner()));
    }
    if let Some(number) = Number::of(value) {
        return Ok(Given::Number(number));
    }
    foreign(value, ready, argument, elements()).map(Given::Owned)
}

#[cold]
fn foreign(
    value: &Bound<'_, PyAny>,
    ready: &'static Ready,
    argument: &str,
    elements: Option<DType>,
) -> PyResult<Inner> {
    let (def, _) = ready.def().map_err(errors::eager)?;
    let place = format!("{argument} of {}", def.name);
    tensor_of(value, &place, elements)
}

/// The elements of a sequence beside another operand of a call, where that one has no numbers.
pub fn elements_beside(
    ready: &'static Ready,
    other: &Bound<'_, PyAny>,
    is_first: bool,
) -> Option<DType> {
    let other = other.cast::<Tensor>().ok()?;
    elements_of(ready, other.get().inner().dtype(), is_first)
}

/// [`elements_beside`] an operand of this type: those of its type, but scalars beside points that
/// are multiplied, and integers for exponents.
pub fn elements_of(ready: &'static Ready, other: DType, is_first: bool) -> Option<DType> {
    let is = |op: &'static Ready| std::ptr::eq(ready, op);
    match other {
        _ if other.is_number() || (is(&numbers::POW) && !is_first) => None,
        DType::Point(group) if is(&numbers::MULTIPLY) => {
            Some(DType::Field(group.facts().curve.facts().scalar))
        }
        other => Some(other),
    }
}

/// A tensor, or what `cloakwork.asarray` makes of another value.
///
/// # Errors
/// As [`given`]; `place` names the value.
pub fn tensor_of(
    value: &Bound<'_, PyAny>,
    place: &str,
    elements: Option<DType>,
) -> PyResult<Inner> {
    if let Ok(tensor) = value.cast::<Tensor>() {
        return Ok(tensor.get().inner().clone());
    }
    let py = value.py();
    let operand = py.import("cloakwork.tensors.arrays")?.getattr("operand")?;
    let elements = elements.map(|dtype| dtype::object(py, dtype)).transpose()?;
    let tensor = operand.call1((value, place, elements))?;
    Ok(tensor.cast_into::<Tensor>()?.get().inner().clone())
}

/// A new tensor, as `cloakwork.tensor` makes it.
pub fn tensor_with(
    data: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&str>,
) -> PyResult<Inner> {
    let make = data.py().import("cloakwork")?.getattr("tensor")?;
    let tensor = make.call1((data, dtype, device))?.cast_into::<Tensor>()?;
    Ok(tensor.get().inner().clone())
}

/// The answer of the other operand's own method where it claims operators: other libraries' arrays
/// (`__array_priority__` above 0), and classes with an `__array_ufunc__` of their own, as
/// ciphertexts have. `None` if it claims none, or does not know tensors: it is converted then.
pub fn answered<'py>(
    tensor: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
    method: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = tensor.py();
    if !is_foreign(other) || !claims(other)? {
        return Ok(None);
    }
    // Of the operand, as a class also has the operators of its own class: `int | None`.
    let Some(own) = other.getattr_opt(method)? else {
        return Ok(None);
    };
    let answer = own.call1((tensor,))?;
    Ok((!answer.is(py.NotImplemented())).then_some(answer))
}

/// Whether an operand is neither a tensor nor a number of Python's.
#[inline]
pub fn is_foreign(operand: &Bound<'_, PyAny>) -> bool {
    // Nothing is derived from tensors.
    !operand.is_exact_instance_of::<Tensor>() && Number::of(operand).is_none()
}

/// Whether an operand claims operators with tensors. NumPy's own arrays, masked ones too, do not.
fn claims(other: &Bound<'_, PyAny>) -> PyResult<bool> {
    static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let array = ARRAY.import(other.py(), "numpy", "ndarray")?;
    let kind = other.get_type();
    if kind.is(array) {
        return Ok(false);
    }
    let name = "__array_ufunc__";
    if let Some(own) = kind.getattr_opt(name)?
        && !own.is(&array.getattr(name)?)
    {
        return Ok(true);
    }
    let priority = other.getattr_opt("__array_priority__")?;
    let is_higher = |own: Bound<'_, PyAny>| own.extract::<f64>().is_ok_and(|own| own > 0.0);
    Ok(priority.is_some_and(is_higher) && !other.is_instance(array)?)
}
