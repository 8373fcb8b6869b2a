//! Functions of Python's that a program calls.

use crate::run::adopt;
use crate::tensor::{Inner, Tensor, tensors};
use cloakwork_ir::{HostTensor, Type};
use cloakwork_plan::FunctionCall;
use cloakwork_run::Functions;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The functions of a run, by number, and the errors of their calls.
#[derive(Debug, Default)]
pub struct Pythons {
    functions: Vec<(String, Py<PyAny>)>,
    /// Results of calls that are to be taken yet.
    waiting: Mutex<HashMap<u32, Vec<Option<HostTensor>>>>,
    /// The exception that a function raised.
    raised: Mutex<Option<PyErr>>,
}

impl Pythons {
    /// Functions of tensors that return a list of tensors, with their names.
    pub fn new(functions: Vec<(String, Py<PyAny>)>) -> Self {
        Self {
            functions,
            ..Self::default()
        }
    }

    /// An error of a run with what a function raised as its cause. What is not an exception of the
    /// function's own, such as Ctrl-C, goes on as it is.
    pub fn told(&self, error: PyErr) -> PyErr {
        let raised = self
            .raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(raised) = raised else {
            return error;
        };
        Python::attach(|py| {
            if !raised.is_instance_of::<PyException>(py) {
                return raised;
            }
            error.set_cause(py, Some(raised));
            error
        })
    }

    fn results(
        &self,
        function: u32,
        operands: Vec<HostTensor>,
    ) -> PyResult<Vec<Option<HostTensor>>> {
        Python::attach(|py| {
            let Some((_, function)) = self.functions.get(function as usize) else {
                let count = self.functions.len();
                return Err(crate::errors::internal(format!(
                    "no function {function} of {count}"
                )));
            };
            let operands = operands
                .into_iter()
                .map(|host| Tensor::from(Inner::Real(adopt(host))));
            let operands = PyTuple::new(py, operands)?;
            let given = function.bind(py).call1(operands)?;
            let given = tensors(&given.cast_into::<PyList>()?)?;
            if given.iter().any(Inner::is_secret) {
                let text = "a user function must not return a secret tensor: results are not \
                            secret";
                return Err(crate::errors::secret(text));
            }
            given
                .iter()
                .map(|tensor| crate::program::own(tensor).map(Some))
                .collect()
        })
    }
}

impl Functions for Pythons {
    fn name(&self, function: u32) -> String {
        let found = self.functions.get(function as usize);
        found.map_or_else(|| function.to_string(), |(name, _)| name.clone())
    }

    fn call(
        &self,
        call: &FunctionCall,
        operands: Vec<HostTensor>,
        _expected: &Type,
    ) -> Result<HostTensor, String> {
        if call.result == 0 {
            let results = self.results(call.function, operands).map_err(|error| {
                let words = error.to_string();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                words
            })?;
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.insert(call.call, results);
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let results = waiting.get_mut(&call.call);
        let result = results.and_then(|results| results.get_mut(call.result as usize)?.take());
        result.ok_or_else(|| format!("it returned no result {}", call.result))
    }
}
