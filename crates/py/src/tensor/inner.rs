//! What tensors are views of.

use super::Tensor;
use crate::errors;
use crate::trace::Traced;
use cloakwork_ir::{DType, View};
use cloakwork_run::eager;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// What a tensor is a view of.
#[derive(Clone)]
pub enum Inner {
    /// Elements in memory.
    Real(eager::Tensor),
    /// A value of a program that is being recorded.
    /// Boxed: tensors with elements are what must be small.
    Traced(Box<Traced>),
}

impl Inner {
    /// Shape and strides.
    pub fn view(&self) -> &View {
        match self {
            Self::Real(tensor) => tensor.view(),
            Self::Traced(traced) => &traced.view,
        }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Real(tensor) => tensor.dtype(),
            Self::Traced(traced) => traced.dtype,
        }
    }

    /// Whether its elements must not be shown.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Real(tensor) if tensor.is_secret())
    }

    /// The elements in memory.
    ///
    /// # Errors
    /// It is traced: there are none.
    pub fn real(&self, wish: &str) -> PyResult<&eager::Tensor> {
        match self {
            Self::Real(tensor) => Ok(tensor),
            Self::Traced(traced) => match traced.settle()? {
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
