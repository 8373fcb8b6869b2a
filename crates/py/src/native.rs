//! Element-wise ops as builtin functions, which Python calls without a frame or a tuple of
//! arguments.

use crate::guard::panicked;
use crate::tensor::Tensor;
use crate::{errors, numbers};
use cloakwork_run::eager::Ready;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use smallvec::SmallVec;
use std::ffi::{CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A function with positional arguments, as Python's `METH_FASTCALL` has it.
pub type Fast = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *mut *mut ffi::PyObject,
    ffi::Py_ssize_t,
) -> *mut ffi::PyObject;

/// A builtin function that computes the element-wise op `name`; `doc` begins with its signature, as
/// those of Python's own do, and `module` is where users find it.
///
/// It lives as long as the process: there is one an op.
#[pyfunction]
#[pyo3(signature = (name, doc="", module="cloakwork"))]
pub fn elementwise<'py>(
    py: Python<'py>,
    name: &str,
    doc: &str,
    module: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let expected = "the name of an element-wise op of one operand or two";
    let (_, _, call) = numbers::found(name).ok_or_else(|| errors::param("op", name, expected))?;
    let call = ffi::PyMethodDefPointer {
        PyCFunctionFast: *call,
    };
    keep(py, (name, doc, module), call, ffi::METH_FASTCALL)
}

/// A builtin function of a name, with a text that begins with its signature, in a module. It lives
/// as long as the process.
pub fn keep<'py>(
    py: Python<'py>,
    (name, doc, module): (&str, &str, &str),
    call: ffi::PyMethodDefPointer,
    flags: c_int,
) -> PyResult<Bound<'py, PyAny>> {
    let text = |text: &str| CString::new(text).map_err(PyErr::from);
    let method = Box::new(ffi::PyMethodDef {
        ml_name: text(name)?.into_raw(),
        ml_meth: call,
        ml_flags: flags,
        ml_doc: text(doc)?.into_raw(),
    });
    let module = PyString::new(py, module);
    // SAFETY: the method, its name and its text are never freed, the flags are those of the
    // function's kind, and the module's name is a string.
    unsafe {
        let method = Box::into_raw(method);
        let made = ffi::PyCFunction_NewEx(method, std::ptr::null_mut(), module.as_ptr());
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// Computes an element-wise op of a call's arguments; null with Python's error set if it fails.
///
/// # Safety
/// Python calls: this thread has its lock, and `operands` are `count` objects.
pub unsafe fn called(
    ready: &'static Ready,
    operands: *mut *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this.
    let py = unsafe { Python::assume_attached() };
    let work = || {
        let operands: SmallVec<[Bound<'_, PyAny>; 2]> = (0..count)
            // SAFETY: there are so many objects, which the caller keeps.
            .map(|place| unsafe { Bound::from_borrowed_ptr(py, *operands.offset(place)) })
            .collect();
        numbers::called_with(py, ready, &operands).and_then(|tensor| made(py, tensor))
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(tensor)) => tensor.into_ptr(),
        Ok(Err(error)) => refused(py, error),
        Err(payload) => refused(py, panicked(payload)),
    }
}

fn made(py: Python<'_>, tensor: Tensor) -> PyResult<Py<PyAny>> {
    Ok(Py::new(py, tensor)?.into_any())
}

/// Sets Python's error.
#[cold]
pub fn refused(py: Python<'_>, error: PyErr) -> *mut ffi::PyObject {
    error.restore(py);
    std::ptr::null_mut()
}
