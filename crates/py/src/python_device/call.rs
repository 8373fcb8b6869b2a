//! A launch as a call of a method: operands as NumPy's views, exceptions as texts.

use super::method::{Method, Operand};
use cloakwork_devices::memory::{Memory, Room};
use cloakwork_kernels::RawLaunch;
use cloakwork_process::Mutex;
use pyo3::exceptions::{PyBufferError, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{ffi, intern};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The longest text of an exception that an error repeats.
const TEXT_BYTES: usize = 160;

/// The bytes of an allocation, for views: they stay as long as a view does.
#[pyclass(frozen)]
struct DeviceBytes(Arc<Room>);

#[pymethods]
impl DeviceBytes {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        place: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let room = Arc::clone(&slf.get().0);
        let bytes = room.bytes() as ffi::Py_ssize_t;
        // SAFETY: Python gives a description that may be written; the object holds the bytes.
        let code = unsafe {
            ffi::PyBuffer_FillInfo(place, slf.as_ptr(), room.start().cast(), bytes, 0, flags)
        };
        match code {
            0 => Ok(()),
            _ => Err(PyErr::take(slf.py()).unwrap_or_else(|| PyBufferError::new_err("no buffer"))),
        }
    }
}

/// A launch, whose arrays can be read.
struct Launch<'a> {
    dims: &'a [i64],
    strides: &'a [i64],
    data: &'a [*mut c_void],
    params: &'a [i64],
}

/// So many values of an array; none where there are none.
///
/// # Safety
/// They are there.
unsafe fn values<'a, T>(from: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(from, count) },
    }
}

/// Calls the method of a launch. The error is a text for the driver's `reason`.
///
/// # Safety
/// The launch is one of `device.h`, with so many params.
pub unsafe fn run(
    memory: &Mutex<Memory>,
    method: &Method,
    launch: &RawLaunch,
    params: u32,
) -> Result<(), String> {
    let (rank, operands) = (launch.rank as usize, launch.operands as usize);
    // SAFETY: the caller's promise.
    let launch = unsafe {
        Launch {
            dims: values(launch.dims, rank),
            strides: values(launch.strides, rank * operands),
            data: values(launch.data, operands),
            params: values(launch.params, params as usize),
        }
    };
    let called = Python::try_attach(|py| {
        let done = call(py, memory, method, &launch);
        done.map_err(|error| in_words(py, &error))
    });
    called.unwrap_or_else(|| Err("Python is shutting down".to_owned()))
}

fn call(
    py: Python<'_>,
    memory: &Mutex<Memory>,
    method: &Method,
    launch: &Launch<'_>,
) -> PyResult<()> {
    let mut arguments = Vec::with_capacity(method.operands.len() + method.params.len());
    for (index, operand) in method.operands.iter().enumerate() {
        arguments.push(view(py, memory, (operand, index), launch)?);
    }
    for &param in &method.params {
        let value = launch.params.get(param).copied().unwrap_or(0);
        arguments.push(match method.value_bytes {
            0 => value.into_pyobject(py)?.into_any(),
            bytes => low_bits(value, bytes).into_pyobject(py)?.into_any(),
        });
    }
    method.call.bind(py).call1(PyTuple::new(py, arguments)?)?;
    Ok(())
}

/// The lowest bytes of a word.
fn low_bits(value: i64, bytes: u32) -> u64 {
    let bits = 64 - bytes.min(8) * 8;
    (value as u64) << bits >> bits
}

/// An operand as the method gets it: an array over the device's bytes, read-only but for the
/// result; None for an operand that is absent.
fn view<'py>(
    py: Python<'py>,
    memory: &Mutex<Memory>,
    (operand, index): (&Operand, usize),
    launch: &Launch<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let at = launch.data.get(index).copied().unwrap_or_default();
    if at.is_null() {
        return Ok(py.None().into_bound(py));
    }
    let rank = launch.dims.len();
    let all: Vec<usize> = (0..rank.saturating_sub(operand.without)).collect();
    let axes = operand.axes.as_ref().unwrap_or(&all);
    let mut shape: Vec<i64> = axes.iter().map(|&axis| launch.dims[axis]).collect();
    let over = &launch.strides[index * rank..(index + 1) * rank];
    let mut strides: Vec<i64> = axes.iter().map(|&axis| over[axis]).collect();
    if let Some((size, stride)) = operand.more {
        shape.push(launch.params[size]);
        strides.push(launch.params[stride]);
    }
    let strides: Vec<isize> = strides
        .iter()
        .map(|&stride| stride as isize * operand.itemsize)
        .collect();
    array(py, memory, at, (shape, strides), (operand, index == 0))
}

/// NumPy's array there, which NumPy refuses if it leaves the allocation.
fn array<'py>(
    py: Python<'py>,
    memory: &Mutex<Memory>,
    at: *mut c_void,
    (shape, strides): (Vec<i64>, Vec<isize>),
    (operand, is_result): (&Operand, bool),
) -> PyResult<Bound<'py, PyAny>> {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = NDARRAY.get_or_try_init(py, || {
        py.import("numpy")?.getattr("ndarray").map(Bound::unbind)
    })?;
    let held = memory
        .lock()
        .held(at, 0)
        .map(|(room, at)| (Arc::clone(room), at));
    let (room, offset) = held.map_err(PyBufferError::new_err)?;
    let given = PyDict::new(py);
    let is_empty = shape.contains(&0);
    given.set_item(intern!(py, "shape"), PyTuple::new(py, shape)?)?;
    given.set_item(intern!(py, "dtype"), &operand.dtype)?;
    if !is_empty {
        given.set_item(intern!(py, "buffer"), Bound::new(py, DeviceBytes(room))?)?;
        given.set_item(intern!(py, "offset"), offset)?;
        given.set_item(intern!(py, "strides"), PyTuple::new(py, strides)?)?;
    }
    let made = class.bind(py).call((), Some(&given))?;
    if !is_result {
        let flags = PyDict::new(py);
        flags.set_item(intern!(py, "write"), false)?;
        made.call_method(intern!(py, "setflags"), (), Some(&flags))?;
    }
    Ok(made)
}

/// An exception's class and text, cut to a length; no traceback, which could show data.
fn in_words(py: Python<'_>, error: &PyErr) -> String {
    let class = error.get_type(py).name();
    let class = class.map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = error.value(py).str();
    let text: String = text.map_or_else(|_| String::new(), |text| text.to_string_lossy().into());
    let mut end = text.len().min(TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let words = format!("{class}: {}", &text[..end]);
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        // The run asks for signals itself: this one is still to be told. No code of Python may run
        // behind this: it would get the signal.
        // SAFETY: the interpreter's lock is held.
        unsafe { ffi::PyErr_SetInterrupt() };
    }
    words
}
