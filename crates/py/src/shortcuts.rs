//! Builtin functions in front of functions of the namespace: plain calls, which are most, are
//! answered without a frame of Python's. All others, and wrong ones, are the function's own.

use crate::eval::{Value, eval};
use crate::guard::panicked;
use crate::native::{keep, refused};
use crate::tensor::{Inner, Tensor, reshaped_at_once};
use crate::{buffer, creation, errors, scalar};
use cloakwork_ir::ShapeItem;
use cloakwork_ops::{OpDef, find};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple, PyType};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A function of the namespace behind its builtin one.
pub struct Behind {
    declared: Py<PyAny>,
    /// The op of its name, if there is one.
    op: Option<&'static OpDef>,
}

/// The arguments of a call.
struct Given<'a, 'py> {
    positional: &'a [Bound<'py, PyAny>],
    /// Names and values.
    keywords: Option<(&'a Bound<'py, PyTuple>, &'a [Bound<'py, PyAny>])>,
}

/// The result of a plain call; `None` for any other.
type Shortcut = fn(Python<'_>, &Behind, &Given<'_, '_>) -> PyResult<Option<Tensor>>;

type Builtin = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

struct Entry {
    name: &'static str,
    behind: &'static PyOnceLock<Behind>,
    call: Builtin,
}

macro_rules! shortcuts {
    ($($name:literal $shortcut:path,)*) => {
        static SHORTCUTS: &[Entry] = &[$({
            static BEHIND: PyOnceLock<Behind> = PyOnceLock::new();
            unsafe extern "C" fn call(
                _module: *mut ffi::PyObject,
                arguments: *const *mut ffi::PyObject,
                count: ffi::Py_ssize_t,
                names: *mut ffi::PyObject,
            ) -> *mut ffi::PyObject {
                // SAFETY: Python calls it as the protocol says.
                unsafe { called(&BEHIND, $shortcut, arguments, count, names) }
            }
            Entry { name: $name, behind: &BEHIND, call }
        },)*];
    };
}

shortcuts! {
    "arange" arange, "asarray" asarray, "concat" concat, "empty" zeros, "max" extreme,
    "min" extreme, "prod" reduced, "reshape" reshape, "stack" stack, "sum" reduced, "where" choice,
    "zeros" zeros,
}

/// The builtin function in front of `declared`; `doc` begins with its signature.
///
/// It lives as long as the process; a second one of a name stands before the first's function.
#[pyfunction]
pub fn shortcut<'py>(
    py: Python<'py>,
    name: &str,
    doc: &str,
    module: &str,
    declared: Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let entry = SHORTCUTS.iter().find(|entry| entry.name == name);
    let expected = "the name of a function that has a shortcut";
    let entry = entry.ok_or_else(|| errors::param("name", name, expected))?;
    let op = find(name);
    entry.behind.get_or_init(py, || Behind { declared, op });
    let call = ffi::PyMethodDefPointer {
        PyCFunctionFastWithKeywords: entry.call,
    };
    keep(
        py,
        (name, doc, module),
        call,
        ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
    )
}

/// Answers a call; null with Python's error set if it fails.
///
/// # Safety
/// Python calls: this thread has its lock, and `arguments` are `count` objects and one for each of
/// `names`, which is null or a tuple of texts.
unsafe fn called(
    behind: &PyOnceLock<Behind>,
    shortcut: Shortcut,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this.
    let py = unsafe { Python::assume_attached() };
    let work = || {
        // SAFETY: it is null, or an object that the caller keeps.
        let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
        let names = names
            .map(|names| names.cast_into::<PyTuple>())
            .transpose()?;
        let named = names.as_ref().map_or(0, |names| names.len() as isize);
        let all: SmallVec<[Bound<'_, PyAny>; 4]> = (0..count + named)
            // SAFETY: there are so many objects, which the caller keeps.
            .map(|place| unsafe { Bound::from_borrowed_ptr(py, *arguments.offset(place)) })
            .collect();
        let (positional, values) = all.split_at(count as usize);
        let given = Given {
            positional,
            keywords: names.as_ref().map(|names| (names, values)),
        };
        let behind = behind
            .get(py)
            .ok_or_else(|| errors::internal("a shortcut to nothing"))?;
        match shortcut(py, behind, &given)? {
            Some(made) => Ok(Py::new(py, made)?.into_any()),
            None => given.asked(py, &behind.declared),
        }
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => result.into_ptr(),
        Ok(Err(error)) => refused(py, error),
        Err(payload) => refused(py, panicked(payload)),
    }
}

impl<'py> Given<'_, 'py> {
    /// The result of the function itself.
    #[cold]
    fn asked(&self, py: Python<'py>, declared: &Py<PyAny>) -> PyResult<Py<PyAny>> {
        let positional = PyTuple::new(py, self.positional)?;
        let Some((names, values)) = self.keywords else {
            return declared.call1(py, positional);
        };
        let keywords = PyDict::new(py);
        for (name, value) in names.iter().zip(values) {
            keywords.set_item(name, value)?;
        }
        declared.call(py, positional, Some(&keywords))
    }

    /// The arguments of a call without keywords.
    fn plain(&self) -> Option<&[Bound<'py, PyAny>]> {
        self.keywords.is_none().then_some(self.positional)
    }
}

fn tensor<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Inner> {
    Some(object.cast::<Tensor>().ok()?.get().inner())
}

/// A reduction along all axes or one: `f(x, axis=None, keepdims=False)`.
fn reduced(py: Python<'_>, behind: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    let ([x], Some(op)) = (given.positional, behind.op) else {
        return Ok(None);
    };
    let Some(x) = tensor(x) else {
        return Ok(None);
    };
    let rank = x.view().rank() as i64;
    let (mut only, mut keeps) = (None, false);
    if let Some((names, values)) = given.keywords {
        for (name, value) in names.iter().zip(values) {
            let name = name.extract::<&str>()?;
            if name == "axis" && value.is_exact_instance_of::<PyInt>() {
                let Ok(axis) = value.extract::<i64>() else {
                    return Ok(None);
                };
                if !(-rank..rank).contains(&axis) {
                    return Ok(None);
                }
                only = Some(axis.rem_euclid(rank));
            } else if name == "keepdims" && value.is_exact_instance_of::<PyBool>() {
                keeps = value.is_truthy()?;
            } else if !(name == "axis" && value.is_none()) {
                return Ok(None);
            }
        }
    }
    let axes = only.map_or(0..rank, |axis| axis..axis + 1);
    let axes = axes.map(ShapeItem::Int).collect();
    let values = [
        Value::Tensor(x.clone()),
        Value::Shape(axes),
        Value::Int(keeps.into()),
    ];
    eval(py, op, values.into()).map(|made| Some(made.into()))
}

/// `max`, `min`: of real numbers, and of one or more.
fn extreme(py: Python<'_>, behind: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    let fits = |x: &Inner| {
        let dtype = x.dtype();
        let has_order = dtype.is_integer() || dtype.is_real_float();
        has_order && x.view().shape.elements() > 0
    };
    match given.positional.first().and_then(tensor).is_some_and(fits) {
        true => reduced(py, behind, given),
        false => Ok(None),
    }
}

/// `where(condition, x1, x2)` of tensors, two of one dtype.
fn choice(py: Python<'_>, behind: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    let (Some([condition, a, b]), Some(op)) = (given.plain(), behind.op) else {
        return Ok(None);
    };
    match [a, b, condition].map(tensor) {
        [Some(a), Some(b), Some(condition)] if a.dtype() == b.dtype() => {
            let values = [a, b, condition].map(|x| Value::Tensor(x.clone()));
            eval(py, op, values.into()).map(|made| Some(made.into()))
        }
        _ => Ok(None),
    }
}

/// `zeros(shape)`, `zeros(shape, dtype)`.
fn zeros(_: Python<'_>, _: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    match given.plain() {
        Some([shape]) => creation::zeros_at_once(shape, None),
        Some([shape, dtype]) if !dtype.is_none() => creation::zeros_at_once(shape, Some(dtype)),
        _ => Ok(None),
    }
}

/// `arange(stop)`, `arange(start, stop)`, `arange(start, stop, step)`.
fn arange(_: Python<'_>, _: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    match given.plain() {
        Some([stop]) => creation::range_at_once(stop, None, None),
        Some([start, stop]) => creation::range_at_once(start, Some(stop), None),
        Some([start, stop, step]) => creation::range_at_once(start, Some(stop), Some(step)),
        _ => Ok(None),
    }
}

/// `reshape(x, shape)` with all sizes given.
fn reshape(_: Python<'_>, _: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    let Some([x, shape]) = given.plain() else {
        return Ok(None);
    };
    let (Some(x), Ok(shape)) = (tensor(x), shape.cast_exact::<PyTuple>()) else {
        return Ok(None);
    };
    Ok(reshaped_at_once(x, shape).map(Tensor::from))
}

/// `concat(arrays)`.
fn concat(_: Python<'_>, _: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    match given.plain() {
        Some([arrays]) => creation::joined_at_once(arrays, false),
        _ => Ok(None),
    }
}

/// `stack(arrays)`.
fn stack(_: Python<'_>, _: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    match given.plain() {
        Some([arrays]) => creation::joined_at_once(arrays, true),
        _ => Ok(None),
    }
}

/// `asarray(obj)` of a number, a list of them, or an array with axes.
fn asarray(py: Python<'_>, _: &Behind, given: &Given<'_, '_>) -> PyResult<Option<Tensor>> {
    let Some([object]) = given.plain() else {
        return Ok(None);
    };
    if let Ok(list) = object.cast_exact::<PyList>() {
        return scalar::numbers(list);
    }
    if object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>() {
        return scalar::number(object, None);
    }
    static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if !object.get_type().is(ARRAY.import(py, "numpy", "ndarray")?) {
        return Ok(None);
    }
    match buffer::asarray(object, None) {
        // Arrays without axes are numbers.
        Ok(made) => Ok(made.filter(|made| made.inner().view().rank() > 0)),
        // Of elements that have no buffer, such as times.
        Err(error) if error.is_instance_of::<PyBufferError>(py) => Ok(None),
        Err(error) if error.is_instance_of::<PyValueError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}
