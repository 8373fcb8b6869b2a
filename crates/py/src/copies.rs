//! Pickling: a tensor's elements as a buffer that a pickle may carry beside itself.

use crate::contents::{dense_copy, with_bytes};
use crate::tensor::{Elements, Inner, Tensor};
use crate::{dtype, errors};
use cloakwork_ir::{Shape, View};
use cloakwork_library::pairing::Form;
use cloakwork_ops::elements;
use cloakwork_run::eager;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// The result of `__reduce_ex__`: the function that rebuilds the tensor, and its arguments.
pub fn reduced<'py>(tensor: &Bound<'py, Tensor>, protocol: i64) -> PyResult<Bound<'py, PyTuple>> {
    let py = tensor.py();
    let own = tensor.get().inner();
    // Views are pickled without the elements that they do not show.
    let real = dense_copy(own.real("pickling")?)?;
    let shape = PyTuple::new(py, real.view().shape.dims())?;
    let name = real.dtype().name();
    // Elements of fields and points have no buffer.
    let bytes = if protocol >= 5 && real.dtype().is_number() {
        let dense = Py::new(py, Tensor::from(Inner::Real(real)))?;
        py.import("pickle")?
            .getattr("PickleBuffer")?
            .call1((dense,))?
    } else {
        let size = real.ty().size_bytes() as usize;
        with_bytes(&real, |bytes| PyBytes::new(py, &bytes[..size]))?.into_any()
    };
    let rebuild = py.import("cloakwork._core")?.getattr("rebuild")?;
    let args = (bytes, name, shape).into_pyobject(py)?;
    (rebuild, args).into_pyobject(py)
}

/// A tensor of a type and shape with a copy of these bytes, row-major.
#[pyfunction]
pub fn rebuild(
    py: Python<'_>,
    memory: &Bound<'_, PyAny>,
    name: &Bound<'_, PyAny>,
    shape: Vec<u64>,
) -> PyResult<Tensor> {
    let dtype = dtype::from_object(name)?;
    let shape = Shape::new(&shape).map_err(|error| errors::shape(&error))?;
    let buffer = PyUntypedBuffer::get(memory)?;
    let bytes = shape.elements() * dtype.size_bytes() as u64;
    if !buffer.is_c_contiguous() || buffer.len_bytes() as u64 != bytes {
        let text = format!(
            "expected {bytes} bytes in a row, got {}",
            buffer.len_bytes()
        );
        return Err(PyValueError::new_err(text));
    }
    let start: *const u8 = buffer.buf_ptr().cast_const().cast();
    let from: &[u8] = if bytes == 0 {
        &[]
    } else {
        // SAFETY: the buffer has so many bytes and is held to the end of this function.
        unsafe { std::slice::from_raw_parts(start, bytes as usize) }
    };
    let found = elements::check(dtype, Form::Montgomery, from);
    let made = eager::Tensor::from_bytes(dtype, View::contiguous(shape), from);
    buffer.release(py);
    found.map_err(|found| errors::invalid_element("memory", dtype, &found))?;
    made.map(|tensor| Inner::Real(tensor).into())
        .map_err(errors::run)
}
