//! Element-wise calls from operators and functions: operands brought to one type, then the op.

use crate::element::Only;
use crate::eval::{Value, eval};
use crate::field::word;
use crate::guard::called;
use crate::native::{self, Fast};
use crate::operand::{Given, elements_beside, elements_of, given};
use crate::scalar::Number;
use crate::tensor::{Elements, Inner, Tensor, shares};
use crate::{device, errors, field, on_device, scalar};
use cloakwork_ir::{DType, ShapeItem};
use cloakwork_ops::promotion::{Operand as Promoted, common};
use cloakwork_ops::{Elementwise as Rule, OpDef, named};
use cloakwork_run::eager::{self, Element, FEW_ELEMENTS, Ready, ReadyOperand};
use cloakwork_trace::{Paused, computes_small_calls, is_active};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The result of an element-wise op of one operand.
pub fn unary(py: Python<'_>, ready: &'static Ready, a: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    match given(a, ready, "x", || None)? {
        Given::Number(number) => of_one(py, ready, &number.tensor(number.weak().dtype())?),
        Given::Tensor(inner) => of_one(py, ready, inner),
        Given::Owned(inner) => of_one(py, ready, &inner),
    }
}

/// The result of an element-wise op of one tensor.
pub fn of_one(py: Python<'_>, ready: &'static Ready, a: &Inner) -> PyResult<Tensor> {
    let (def, rule) = ready.def().map_err(errors::eager)?;
    let dtype = rule.takes.computes_in(a.dtype());
    if let Inner::Real(tensor) = a
        && tensor.dtype() == dtype
    {
        let operands = [ReadyOperand::Tensor(tensor)];
        if is_now(&operands) {
            return at_once(py, ready, dtype, &operands);
        }
    }
    let a = convert(py, a, dtype)?;
    eval(py, def, vec![Value::Tensor(a)]).map(Tensor::from)
}

/// The result of an element-wise op of two tensors of one type, in which the op computes.
pub fn of_two(py: Python<'_>, ready: &'static Ready, a: &Inner, b: &Inner) -> PyResult<Inner> {
    if let (Inner::Real(x), Inner::Real(y)) = (a, b) {
        let operands = [ReadyOperand::Tensor(x), ReadyOperand::Tensor(y)];
        if is_now(&operands) {
            return at_once(py, ready, x.dtype(), &operands).map(|made| made.inner().clone());
        }
    }
    let (def, _) = ready.def().map_err(errors::eager)?;
    eval(py, def, [a, b].map(|x| Value::Tensor(x.clone())).into())
}

/// The result of an element-wise op of two operands.
#[inline]
pub fn binary(
    py: Python<'_>,
    ready: &'static Ready,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
) -> PyResult<Tensor> {
    // Two tensors of one type, which is the most frequent call: nothing to find out or to convert.
    if let (Ok(x), Ok(y)) = (a.cast_exact::<Tensor>(), b.cast_exact::<Tensor>()) {
        let (x, y) = (x.get().inner(), y.get().inner());
        let dtype = x.dtype();
        let (_, rule) = ready.def().map_err(errors::eager)?;
        if let (Inner::Real(x), Inner::Real(y)) = (x, y)
            && dtype == y.dtype()
            && rule.takes.computes_in(dtype) == dtype
            && !(is_power(ready) && dtype.is_signed_integer())
        {
            let operands = [ReadyOperand::Tensor(x), ReadyOperand::Tensor(y)];
            if is_now(&operands) {
                return at_once(py, ready, dtype, &operands);
            }
        }
    }
    converted(py, ready, a, b)
}

/// [`binary`] of operands that must be converted before.
#[inline(never)]
fn converted(
    py: Python<'_>,
    ready: &'static Ready,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
) -> PyResult<Tensor> {
    let objects = [a, b];
    let (a, b) = (
        given(a, ready, "x1", || elements_beside(ready, b, true))?,
        given(b, ready, "x2", || elements_beside(ready, a, false))?,
    );
    if let (Some(tensor), Given::Number(exponent)) = (a.inner(), &b)
        && is_squared(ready, tensor.dtype(), exponent)
    {
        return of_one(py, &SQUARE, tensor);
    }
    let dtypes = [&a, &b].map(|operand| operand.inner().map(Inner::dtype));
    if let Some(result) = field::special(py, ready, [a.inner(), b.inner()], objects)? {
        return Ok(Tensor::from(result));
    }
    let other = dtypes.into_iter().flatten().find(|d| !d.is_number());
    let (a, b) = match other {
        Some(dtype) => (a.in_field(py, dtype)?, b.in_field(py, dtype)?),
        None => (a, b),
    };
    let (def, rule) = ready.def().map_err(errors::eager)?;
    let dtype = computed_in(def, rule, a.promoted(), b.promoted())?;
    if is_power(ready) && dtype.is_signed_integer() {
        not_negative(py, &b)?;
    }
    match of_one_type(py, ready, dtype, &a, &b) {
        Ok(result) => Ok(result),
        Err(error) => match compared(ready, dtype, &a, &b)? {
            Some((ready, a, b)) => of_one_type(py, ready, dtype, &a, &b),
            None => Err(error),
        },
    }
}

/// The result of an element-wise op of two operands in the type in which it computes.
#[inline]
fn of_one_type(
    py: Python<'_>,
    ready: &'static Ready,
    dtype: DType,
    a: &Given<'_, '_>,
    b: &Given<'_, '_>,
) -> PyResult<Tensor> {
    // A conversion would be a step of the batch.
    let is_of = |operand: &Given<'_, '_>| operand.inner().is_none_or(|x| x.dtype() == dtype);
    if (!is_active() || (is_of(a) && is_of(b)))
        && let (Some(x), Some(y)) = (Ready1::of(py, a, dtype)?, Ready1::of(py, b, dtype)?)
    {
        let operands = [x.operand(), y.operand()];
        if is_now(&operands) {
            return at_once(py, ready, dtype, &operands);
        }
    }
    let (def, _) = ready.def().map_err(errors::eager)?;
    let values = [a, b].into_iter().map(|operand| match operand {
        Given::Number(number) => number.tensor(dtype).map(Value::Tensor),
        Given::Tensor(inner) => convert(py, inner, dtype).map(Value::Tensor),
        Given::Owned(inner) => convert(py, inner, dtype).map(Value::Tensor),
    });
    let values = values.collect::<PyResult<Vec<_>>>()?;
    eval(py, def, values).map(Tensor::from)
}

/// A comparison with an integer that the type does not hold, as one with the greatest or the least
/// that it holds: `x < 300` is `x <= 255` for uint8. `None` for all other calls.
#[cold]
fn compared<'a, 'py>(
    ready: &'static Ready,
    dtype: DType,
    a: &'a Given<'a, 'py>,
    b: &'a Given<'a, 'py>,
) -> PyResult<Option<(&'static Ready, Given<'a, 'py>, Given<'a, 'py>)>> {
    let (tensor, number, is_flipped) = match (a, b) {
        (Given::Number(Number::Int(number)), tensor) => (tensor, number, true),
        (tensor, Given::Number(Number::Int(number))) => (tensor, number, false),
        _ => return Ok(None),
    };
    let Some(inner) = tensor.inner() else {
        return Ok(None);
    };
    let Some(is_above) = scalar::is_beyond(number, dtype)? else {
        return Ok(None);
    };
    let is = |other: &'static Ready| std::ptr::eq(ready, other);
    let lower = is(&LESS) || is(&LESS_EQUAL);
    let higher = is(&GREATER) || is(&GREATER_EQUAL);
    if !(lower || higher || is(&EQUAL) || is(&NOT_EQUAL)) {
        return Ok(None);
    }
    let is_lower = if is_flipped { higher } else { lower };
    let is_true = is(&NOT_EQUAL) || ((lower || higher) && is_lower == is_above);
    let ready = match (is_above, is_true) {
        (true, true) => &LESS_EQUAL,
        (true, false) => &GREATER,
        (false, true) => &GREATER_EQUAL,
        (false, false) => &LESS,
    };
    let bound = scalar::bound(dtype, is_above).tensor(dtype);
    let bound = bound.map(Inner::Real).map_err(errors::eager)?;
    let (tensor, bound) = (Given::Tensor(inner), Given::Owned(bound));
    Ok(Some((ready, tensor, bound)))
}

/// The power, for which integers have rules of their own.
fn is_power(ready: &'static Ready) -> bool {
    std::ptr::eq(ready, &raw const POW)
}

/// ParamError for a negative exponent of integers. Those of a recorded step are not known: there
/// `1 / x^-exponent` is rounded towards 0.
fn not_negative(py: Python<'_>, exponent: &Given<'_, '_>) -> PyResult<()> {
    let is_negative = match exponent {
        Given::Number(Number::Int(number)) => number.lt(0)?,
        other => match other.inner() {
            Some(inner) if inner.dtype().is_signed_integer() => any(py, &LESS, inner, &word(0)?)?,
            _ => false,
        },
    };
    match is_negative {
        true => Err(errors::param(
            "exponent",
            "a negative integer",
            "0 or more for integers: convert them first, x.astype(\"float64\")",
        )),
        false => Ok(()),
    }
}

/// Whether a comparison holds for an element of a tensor whose elements are known and not secret.
pub fn any(py: Python<'_>, ready: &'static Ready, a: &Inner, b: &Inner) -> PyResult<bool> {
    if !matches!(a, Inner::Real(_)) || a.is_secret() {
        return Ok(false);
    }
    let _paused = is_active().then(Paused::start);
    let found = of_two(py, ready, a, &convert(py, b, a.dtype())?)?;
    let axes = (0..found.view().rank() as i64)
        .map(ShapeItem::Int)
        .collect();
    let found = eval(
        py,
        &named::ANY,
        vec![Value::Tensor(found), Value::Shape(axes)],
    )?;
    Only::of(found.real("the answer")?).map(|answer| answer.is_true())
}

/// Whether a call is the power 2 of numbers that keep their type: a product, of fewer roundings.
/// Each way to write a power asks here, so that all of them give the same bits.
pub fn is_squared(ready: &'static Ready, dtype: DType, exponent: &Number<'_, '_>) -> bool {
    let is_two = |exponent: &Number<'_, '_>| match exponent {
        Number::Int(integer) => integer.extract::<u64>().is_ok_and(|integer| integer == 2),
        Number::Float(float) => *float == 2.0 && !dtype.is_integer(),
        _ => false,
    };
    is_power(ready) && dtype.is_number() && dtype != DType::Bool && is_two(exponent)
}

/// The type in which a call of two operands computes.
fn computed_in(def: &OpDef, rule: &Rule, a: Promoted, b: Promoted) -> PyResult<DType> {
    let common = common(a, b);
    let common = common.map_err(|e| PyTypeError::new_err(format!("{}: {e}", def.name)))?;
    Ok(rule.takes.computes_in(common))
}

/// Writes the result of an element-wise op into its first operand.
pub fn assign(
    py: Python<'_>,
    ready: &'static Ready,
    a: &Inner,
    b: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let is_checked = is_power(ready) && a.dtype().is_signed_integer();
    if !is_checked && assigned_at_once(py, ready, a, b)? {
        return Ok(());
    }
    let (def, rule) = ready.def().map_err(errors::eager)?;
    if let Some(device) = a.device() {
        let action = format!("{} in place", def.name);
        return Err(on_device::not_written(&device.to_string(), &action));
    }
    let dtype = a.dtype();
    let object = b;
    let b = given(b, ready, "x2", || elements_of(ready, dtype, false))?;
    if is_checked {
        not_negative(py, &b)?;
    }
    // The first object is the tensor.
    if let Some(result) = field::special(py, ready, [Some(a), b.inner()], [object, object])? {
        let values = vec![Value::Tensor(result), Value::Tensor(a.clone())];
        return eval(py, &named::COPY, values).map(|_| ());
    }
    let b = if dtype.is_number() {
        b
    } else {
        b.in_field(py, dtype)?
    };
    let result = computed_in(def, rule, Promoted::Tensor(dtype), b.promoted())?;
    let result = rule.gives.of(result);
    if result != dtype {
        return Err(PyTypeError::new_err(format!(
            "{}: the result is {}, which a tensor of {} cannot hold; compute out of place, or \
             convert with astype",
            def.name,
            result.long_name(),
            dtype.long_name()
        )));
    }
    let b = match b {
        Given::Number(number) => number.tensor(dtype)?,
        Given::Tensor(inner) => apart(py, convert(py, inner, dtype)?, a)?,
        Given::Owned(inner) => convert(py, &inner, dtype)?,
    };
    let (a, out) = (Value::Tensor(a.clone()), Value::Tensor(a.clone()));
    eval(py, def, vec![a, Value::Tensor(b), out]).map(|_| ())
}

/// [`assign`] to a contiguous tensor from a number that its type holds, or from another such tensor
/// of its type; whether it did.
fn assigned_at_once(
    py: Python<'_>,
    ready: &'static Ready,
    a: &Inner,
    b: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let Inner::Real(to) = a else {
        return Ok(false);
    };
    let dtype = to.dtype();
    if is_active() || !dtype.is_number() {
        return Ok(false);
    }
    let element;
    let operand = match b.cast::<Tensor>() {
        Ok(tensor) => match tensor.get().inner() {
            Inner::Real(other) => ReadyOperand::Tensor(other),
            Inner::Traced(_) | Inner::Away(_) => return Ok(false),
        },
        Err(_) => match Number::of(b) {
            Some(number) if number.weak().meets(dtype) == dtype => {
                element = number.element(dtype)?;
                ReadyOperand::Element(&element)
            }
            _ => return Ok(false),
        },
    };
    let mapped = match operand {
        ReadyOperand::Tensor(other) => other.storage().is_mapped(),
        ReadyOperand::Element(_) => false,
    };
    let (isa, weight) = (device::isa(py)?, to.view().shape.elements());
    let call = |threads| ready.call_in_place(to, operand, threads, isa);
    called(py, Some(weight), mapped, call)?.map_err(errors::eager)
}

/// A tensor that may be read while `written` is: itself, or a copy where they share memory.
pub fn apart(py: Python<'_>, tensor: Inner, written: &Inner) -> PyResult<Inner> {
    if !shares(&tensor, written) {
        return Ok(tensor);
    }
    eval(py, &named::COPY, vec![Value::Tensor(tensor)])
}

/// Whether a call is computed at once: outside of recordings, and on few elements in a batch, where
/// nothing waits that it may depend on.
#[inline]
fn is_now(operands: &[ReadyOperand<'_>]) -> bool {
    let is_few = |operand: &ReadyOperand<'_>| match operand {
        ReadyOperand::Tensor(tensor) => tensor.is_plain(FEW_ELEMENTS),
        ReadyOperand::Element(_) => true,
    };
    !is_active() || (operands.iter().all(is_few) && computes_small_calls())
}

/// An operand that a call without a detour takes.
enum Ready1<'a> {
    Tensor(&'a eager::Tensor),
    Converted(eager::Tensor),
    Element(Element),
}

impl<'a> Ready1<'a> {
    #[inline]
    fn of(py: Python<'_>, given: &'a Given<'_, '_>, dtype: DType) -> PyResult<Option<Self>> {
        Ok(match given {
            Given::Number(number) => Some(Self::Element(number.element(dtype)?)),
            other => match other.inner() {
                Some(Inner::Real(tensor)) if tensor.dtype() == dtype => Some(Self::Tensor(tensor)),
                Some(inner @ Inner::Real(_)) => match convert(py, inner, dtype)? {
                    Inner::Real(tensor) => Some(Self::Converted(tensor)),
                    Inner::Traced(_) | Inner::Away(_) => None,
                },
                _ => None,
            },
        })
    }

    #[inline]
    fn operand(&self) -> ReadyOperand<'_> {
        match self {
            Self::Tensor(tensor) => ReadyOperand::Tensor(tensor),
            Self::Converted(tensor) => ReadyOperand::Tensor(tensor),
            Self::Element(element) => ReadyOperand::Element(element),
        }
    }
}

#[inline]
fn at_once(
    py: Python<'_>,
    ready: &'static Ready,
    dtype: DType,
    operands: &[ReadyOperand<'_>],
) -> PyResult<Tensor> {
    let isa = device::isa(py)?;
    let mapped = operands.iter().any(|operand| match operand {
        ReadyOperand::Tensor(tensor) => tensor.storage().is_mapped(),
        ReadyOperand::Element(_) => false,
    });
    let weight = Some(Ready::weight_ns(operands));
    let call = |threads| ready.call(dtype, operands, threads, isa);
    called(py, weight, mapped, call)?
        .map(|tensor| Tensor::from(Inner::Real(tensor)))
        .map_err(errors::eager)
}

/// The tensor with a type that somebody asks for: no imaginary part is dropped.
pub fn recast(py: Python<'_>, tensor: &Inner, dtype: DType) -> PyResult<Inner> {
    let to_real = dtype.is_number() && !dtype.is_complex() && dtype != DType::Bool;
    if tensor.dtype().is_complex() && to_real {
        let allowed = "a complex dtype or bool: use real() or imag()";
        return Err(errors::unfit_dtype(dtype.long_name(), allowed));
    }
    convert(py, tensor, dtype)
}

/// The tensor with another type.
pub fn convert(py: Python<'_>, tensor: &Inner, dtype: DType) -> PyResult<Inner> {
    if tensor.dtype() == dtype {
        return Ok(tensor.clone());
    }
    if let Inner::Real(real) = tensor
        && !is_active()
    {
        let (isa, weight) = (device::isa(py)?, real.view().shape.elements());
        let mapped = real.storage().is_mapped();
        let convert = |threads| real.converted(dtype, threads, isa);
        let converted = called(py, Some(weight), mapped, convert)?.map_err(errors::eager)?;
        if let Some(converted) = converted {
            return Ok(Inner::Real(converted));
        }
    }
    eval(
        py,
        &named::ASTYPE,
        vec![Value::Tensor(tensor.clone()), Value::DType(dtype)],
    )
}

/// The result of an element-wise op as a function of one operand or two.
pub fn called_with(
    py: Python<'_>,
    ready: &'static Ready,
    operands: &[Bound<'_, PyAny>],
) -> PyResult<Tensor> {
    let (def, rule) = ready.def().map_err(errors::eager)?;
    match (operands, rule.operands) {
        ([a], 1) => unary(py, ready, a),
        ([a, b], 2) => binary(py, ready, a, b),
        (given, count) => Err(PyTypeError::new_err(format!(
            "{} takes {count} positional arguments, got {}",
            def.name,
            given.len()
        ))),
    }
}

macro_rules! table {
    ($($constant:ident $name:literal,)*) => {
        $(#[doc = concat!("`", $name, "`.")] pub static $constant: Ready = Ready::new($name);)*
        /// All of them by name, each with its function for Python.
        pub static TABLE: &[(&str, &Ready, Fast)] = &[$(($name, &$constant, {
            unsafe extern "C" fn call(
                _module: *mut ffi::PyObject,
                operands: *mut *mut ffi::PyObject,
                count: ffi::Py_ssize_t,
            ) -> *mut ffi::PyObject {
                // SAFETY: Python calls it as the protocol says.
                unsafe { native::called(&$constant, operands, count) }
            }
            call
        }),)*];
    };
}

table! {
    ABS "abs", ACOS "acos", ACOSH "acosh", ADD "add", ASIN "asin", ASINH "asinh", ATAN "atan",
    ATAN2 "atan2", ATANH "atanh", BITWISE_AND "bitwise_and", BITWISE_INVERT "bitwise_invert",
    BITWISE_LEFT_SHIFT "bitwise_left_shift", BITWISE_OR "bitwise_or",
    BITWISE_RIGHT_SHIFT "bitwise_right_shift", BITWISE_XOR "bitwise_xor", CEIL "ceil",
    CONJ "conj", COPYSIGN "copysign", COS "cos", COSH "cosh", DIVIDE "divide", EQUAL "equal",
    EXP "exp", EXPM1 "expm1", FLOOR "floor", FLOOR_DIVIDE "floor_divide", GREATER "greater",
    GREATER_EQUAL "greater_equal", HYPOT "hypot", IMAG "imag", ISFINITE "isfinite",
    ISINF "isinf", ISNAN "isnan", LESS "less", LESS_EQUAL "less_equal", LOG "log",
    LOG10 "log10", LOG1P "log1p", LOG2 "log2", LOGADDEXP "logaddexp",
    LOGICAL_AND "logical_and", LOGICAL_NOT "logical_not", LOGICAL_OR "logical_or",
    LOGICAL_XOR "logical_xor", MAXIMUM "maximum", MINIMUM "minimum", MULTIPLY "multiply",
    NEGATIVE "negative", NEXTAFTER "nextafter", NOT_EQUAL "not_equal", POSITIVE "positive",
    POW "pow", REAL "real", RECIPROCAL "reciprocal", REMAINDER "remainder", ROUND "round",
    SIGN "sign", SIGNBIT "signbit", SIN "sin", SINH "sinh", SQRT "sqrt", SQUARE "square",
    SUBTRACT "subtract", TAN "tan", TANH "tanh", TRUNC "trunc",
}

/// The op of this name, with its function.
pub fn found(name: &str) -> Option<&'static (&'static str, &'static Ready, Fast)> {
    TABLE.iter().find(|(own, ..)| *own == name)
}
