//! What tensors are views of.

use super::Tensor;
use crate::{errors, trace};
use cloakwork_run::eager;
pub use cloakwork_trace::Tensor as Inner;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Tensors that have elements, or will have some once a batch has run.
pub trait Elements {
    /// The elements in memory.
    ///
    /// # Errors
    /// It is traced: there are none.
    fn real(&self, wish: &str) -> PyResult<&eager::Tensor>;
}

impl Elements for Inner {
    fn real(&self, wish: &str) -> PyResult<&eager::Tensor> {
        match self {
            Self::Real(tensor) => Ok(tensor),
            Self::Traced(traced) => match trace::settle(traced)? {
                Some(Self::Real(tensor)) => Ok(tensor),
                _ => Err(errors::trace(format!(
                    "{wish}: a traced tensor has a shape and a dtype but no elements; a traced \
                     function cannot depend on them"
                ))),
            },
        }
    }
}

/// Tensors of a Python list.
pub fn tensors(list: &Bound<'_, PyList>) -> PyResult<Vec<Inner>> {
    let inner = |item: Bound<'_, PyAny>| {
        let tensor = item.cast::<Tensor>().map_err(PyErr::from)?;
        Ok(tensor.get().inner().clone())
    };
    list.iter().map(inner).collect()
}
