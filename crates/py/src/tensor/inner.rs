//! Tensors of the engine behind `cloakwork.Tensor`: in memory, or traced.

use super::Tensor;
use crate::eval::on_host;
use crate::{errors, trace};
use cloakwork_run::eager;
pub use cloakwork_trace::Tensor as Inner;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// Tensors that have elements, or will have some once a batch has run.
pub trait Elements {
    /// The elements in the host's memory; of a tensor on a device, a copy that is only read.
    ///
    /// # Errors
    /// It is traced: there are none.
    fn real(&self, wish: &str) -> PyResult<&eager::Tensor>;
}

impl Elements for Inner {
    fn real(&self, wish: &str) -> PyResult<&eager::Tensor> {
        match self {
            Self::Real(tensor) => Ok(tensor),
            Self::Away(tensor) => on_host(tensor),
            Self::Traced(traced) => match trace::settle(traced)? {
                Some(Self::Real(tensor)) => Ok(tensor),
                Some(Self::Away(tensor)) => on_host(tensor),
                _ => Err(errors::trace(format!(
                    "{wish}: a traced tensor has a shape and a dtype but no elements; a traced \
                     function cannot depend on them"
                ))),
            },
        }
    }
}

/// Whether two tensors are views of one storage.
pub fn shares(a: &Inner, b: &Inner) -> bool {
    match (a, b) {
        (Inner::Real(a), Inner::Real(b)) => Arc::ptr_eq(a.storage(), b.storage()),
        (Inner::Traced(a), Inner::Traced(b)) => a.shares_storage(b),
        // Nothing writes them, so that nobody can tell a view from a copy.
        (Inner::Away(_), _) => true,
        _ => false,
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
