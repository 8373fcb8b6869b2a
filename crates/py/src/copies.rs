//! Pickling: a tensor's elements as a buffer that a pickle may carry beside itself.

use crate::buffer::from_buffer;
use crate::contents::{dense_copy, with_bytes};
use crate::dtype::element_type;
use crate::tensor::{Elements, Inner, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// The result of `__reduce_ex__`: the function that rebuilds the tensor, and its arguments.
pub fn reduced<'py>(tensor: &Bound<'py, Tensor>, protocol: i64) -> PyResult<Bound<'py, PyTuple>> {
    let py = tensor.py();
    let own = tensor.get().inner();
    // Views are pickled without the elements that they do not show.
    let real = dense_copy(own.real("pickling")?)?;
    let shape = PyTuple::new(py, real.view().shape.dims())?;
    let name = real.dtype().long_name();
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

/// A tensor of a type and shape with a copy of these bytes, row-major: pickles call this name.
#[pyfunction]
pub fn rebuild(
    py: Python<'_>,
    memory: &Bound<'_, PyAny>,
    name: &Bound<'_, PyAny>,
    shape: Vec<u64>,
) -> PyResult<Tensor> {
    // Pickles of former versions have the names of programs.
    let dtype = element_type(py, name)?;
    from_buffer(py, memory, dtype.bind(py), shape)
}
