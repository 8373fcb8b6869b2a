//! Elements of fields and points where Python's numbers meet them. What else Python has for
//! elements, tuples and coordinates, `cloakwork.fields.elements` converts.

use crate::contents::host_copy;
use crate::eval::{Value, eval};
use crate::scalar::Number;
use crate::tensor::{Elements, Inner, Tensor};
use crate::{algebra, errors, numbers};
use cloakwork_ir::{DType, Shape, View};
use cloakwork_library::pairing::Form;
use cloakwork_ops::elements::{self, InvalidElement};
use cloakwork_ops::named;
use cloakwork_run::eager::{self, Ready};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

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

/// Calls a function of `cloakwork.fields.elements` that returns a tensor.
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
    match number {
        Number::Int(value) => residue(py, value, dtype),
        Number::Bool(value) => {
            let value = PyInt::new(py, i64::from(*value)).into_any();
            residue(py, &value, dtype)
        }
        _ => Err(PyTypeError::new_err(format!(
            "{dtype} can be combined with its own dtype and with integers, not with {}",
            number.weak().dtype().long_name()
        ))),
    }
}

/// The image of an integer in a field, as a tensor without axes.
#[pyfunction]
pub fn field_scalar(value: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = value.py();
    let value = integer(value)?;
    residue(py, &value, crate::dtype::from_object(dtype)?).map(Tensor::from)
}

fn residue(py: Python<'_>, value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Inner> {
    let Some(facts) = dtype.field_facts().filter(|_| dtype.is_field()) else {
        let got = format!("an integer with {dtype}");
        let expected = "a point, or an integer times one";
        return Err(errors::make(py, "DTypeError", ("operand", got, expected)));
    };
    let modulus = facts.prime().modulus;
    let count = dtype.canonical_words();
    let mut bytes = vec![0; 8 * count];
    match value.extract::<u64>() {
        Ok(small) if modulus.len() > 1 || small < modulus[0] => {
            bytes[..8].copy_from_slice(&small.to_le_bytes());
        }
        _ => {
            let residue = value.call_method1("__mod__", (algebra::integer(py, modulus)?,))?;
            let residue = residue.call_method1("to_bytes", (bytes.len(), "little"))?;
            bytes.copy_from_slice(residue.cast::<PyBytes>()?.as_bytes());
        }
    }
    let shape = Shape::new(&[count as u64]).map_err(|error| errors::shape(&error))?;
    let words = eager::Tensor::from_bytes(DType::U64, View::contiguous(shape), &bytes);
    let words = Value::Tensor(Inner::Real(words.map_err(errors::run)?));
    eval(py, &named::FROM_CANONICAL, vec![words, Value::DType(dtype)])
}

/// Python's int of an integer of any kind.
///
/// # Errors
/// DTypeError for all else.
fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_exact_instance_of::<PyInt>() {
        return Ok(value.clone());
    }
    let py = value.py();
    let index = py.import("operator")?.getattr("index")?;
    index.call1((value,)).map_err(|error| {
        if !error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        let args = ("operand", errors::kind(value), "an integer");
        errors::make(py, "DTypeError", args)
    })
}

/// An operator of a field or of points that is no element-wise op of one dtype, a power or a
/// multiple of a point; `None` for other operators. `objects` are the operands as they were given.
pub fn special(
    py: Python<'_>,
    ready: &'static Ready,
    operands: [Option<&Inner>; 2],
    objects: [&Bound<'_, PyAny>; 2],
) -> PyResult<Option<Inner>> {
    let [a, b] = operands;
    if std::ptr::eq(ready, &raw const numbers::POW)
        && let Some(a) = a.filter(|a| a.dtype().is_field())
    {
        return match b.filter(|exponent| is_array(objects[1], exponent)) {
            Some(exponent) => raised(py, a, exponents(py, exponent)?).map(Some),
            None => power(py, a, objects[1]).map(Some),
        };
    }
    let point = |x: Option<&Inner>| x.is_some_and(|x| x.dtype().is_point());
    if !std::ptr::eq(ready, &raw const numbers::MULTIPLY) || point(a) == point(b) {
        return Ok(None);
    }
    let (points, by, number) = if point(b) {
        (b, a, objects[0])
    } else {
        (a, b, objects[1])
    };
    let Some(points) = points else {
        return Ok(None);
    };
    let by = match (by, points.dtype()) {
        (Some(by), _) if is_array(number, by) => by.clone(),
        (_, DType::Point(group)) => {
            let scalars = DType::Field(group.facts().curve.facts().scalar);
            residue(py, &integer(number)?, scalars)?
        }
        _ => return Ok(None),
    };
    let operands = [by, points.clone()].map(Value::Tensor).into();
    eval(py, &named::CURVE_MUL, operands).map(Some)
}

/// Whether an operand is an array: one integer of another library's is a number.
fn is_array(object: &Bound<'_, PyAny>, operand: &Inner) -> bool {
    object.is_instance_of::<Tensor>() || operand.view().rank() > 0
}

/// Exponents as words.
///
/// # Errors
/// DTypeError for numbers that are no integers, ParamError for one beyond i64.
fn exponents(py: Python<'_>, exponent: &Inner) -> PyResult<Inner> {
    let dtype = exponent.dtype();
    if !dtype.is_integer() && dtype != DType::Bool {
        let args = ("exponent", dtype.long_name(), "integers");
        return Err(errors::make(py, "DTypeError", args));
    }
    if dtype == DType::U64 && numbers::any(py, &numbers::GREATER, exponent, &word(i64::MAX)?)? {
        let allowed = "less than 2^63: a single exponent may be any integer of Python's";
        return Err(errors::param("exponent", "a larger number", allowed));
    }
    numbers::convert(py, exponent, DType::I64)
}

/// Exponents of `field_pow` are words: a larger one is taken in digits of so many bits.
const DIGIT_BITS: u32 = 62;

/// Powers in a field with an integer of any size as exponent.
fn power(py: Python<'_>, base: &Inner, exponent: &Bound<'_, PyAny>) -> PyResult<Inner> {
    let mut exponent = integer(exponent)?;
    let mut base = base.clone();
    if exponent.lt(0)? {
        base = eval(py, &named::RECIPROCAL, vec![Value::Tensor(base)])?;
        exponent = exponent.neg()?;
    }
    let digit = 1i64 << DIGIT_BITS;
    let mut result: Option<Inner> = None;
    loop {
        let low: i64 = exponent.call_method1("__mod__", (digit,))?.extract()?;
        exponent = exponent.call_method1("__rshift__", (DIGIT_BITS,))?;
        let part = raised(py, &base, word(low)?)?;
        result = Some(match result {
            None => part,
            Some(result) => {
                let operands = [result, part].map(Value::Tensor).into();
                eval(py, &named::MULTIPLY, operands)?
            }
        });
        if let (false, Some(result)) = (exponent.is_truthy()?, &result) {
            return Ok(result.clone());
        }
        base = raised(py, &base, word(digit)?)?;
    }
}

fn raised(py: Python<'_>, base: &Inner, exponent: Inner) -> PyResult<Inner> {
    let operands = [base.clone(), exponent].map(Value::Tensor).into();
    eval(py, &named::FIELD_POW, operands)
}

/// An i64 as a tensor without axes.
pub fn word(value: i64) -> PyResult<Inner> {
    let view = View::contiguous(Shape::scalar());
    let made = eager::Tensor::from_bytes(DType::I64, view, &value.to_le_bytes());
    made.map(Inner::Real).map_err(errors::run)
}
