//! Iteration over tensors.

use super::Tensor;
use crate::index;
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// Iterates over a tensor's first axis.
#[pyclass(module = "cloakwork._core")]
pub struct Rows {
    tensor: Py<Tensor>,
    next: usize,
    count: usize,
}

impl Rows {
    /// The first `count` rows.
    pub fn new(tensor: &Bound<'_, Tensor>, count: usize) -> Self {
        Self {
            tensor: tensor.clone().unbind(),
            next: 0,
            count,
        }
    }
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        if self.next >= self.count {
            return Ok(None);
        }
        let key = PyInt::new(py, self.next).into_any();
        self.next += 1;
        let row = index::basic(py, self.tensor.get().inner(), &key)?;
        Ok(row.map(Tensor::from))
    }
}
