//! Which devices there are, how many threads and which instructions to use.

use crate::errors;
use cloakwork_kernels::{Isa, available_isas, choose_isa};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::OnceLock;

/// The environment variable that says how many threads to use.
const THREADS_VARIABLE: &str = "CLOAKWORK_THREADS";
/// More than any machine has; a larger number is a slip.
const MAX_THREADS: usize = 4096;
const NAMES: [&str; 1] = ["cpu"];

/// Refuses a device that is not there.
pub fn check(name: &str) -> PyResult<()> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(Python::attach(|py| {
        errors::make(py, "DeviceError", (name, NAMES.to_vec()))
    }))
}

/// A number of threads as Python gives it: one that no integer here holds is as wrong as 0.
pub struct Count(usize);

impl<'a, 'py> FromPyObject<'a, 'py> for Count {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                errors::param("threads", object.to_string(), &allowed())
            } else {
                error
            }
        })
    }
}

fn allowed() -> String {
    format!("1 to {MAX_THREADS}")
}

/// How many threads to use: as given, else as the environment says, else one a core.
pub fn threads(given: Option<Count>) -> PyResult<usize> {
    let allowed = allowed();
    let check = |rule, count: usize| {
        let fits = (1..=MAX_THREADS).contains(&count);
        fits.then_some(count)
            .ok_or_else(|| errors::param(rule, count, &allowed))
    };
    if let Some(Count(count)) = given {
        return check("threads", count);
    }
    match std::env::var(THREADS_VARIABLE) {
        Err(_) => Ok(cores()),
        Ok(text) => match text.trim().parse() {
            Ok(count) => check(THREADS_VARIABLE, count),
            Err(_) => Err(errors::param(THREADS_VARIABLE, text, &allowed)),
        },
    }
}

/// Cores that this process may use. Asking the system takes longer than a small op does.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(cloakwork_run::default_threads)
}

/// The instruction set to use.
pub fn isa() -> PyResult<Isa> {
    choose_isa().map_err(|error| {
        let allowed = format!("one of {}, or unset", error.available);
        errors::param(cloakwork_kernels::ISA_VARIABLE, &error.value, &allowed)
    })
}

/// The devices of this machine: a dict each.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let cpu = PyDict::new(py);
    cpu.set_item("name", NAMES[0])?;
    cpu.set_item("isa", isa()?.name())?;
    let available: Vec<&str> = available_isas().into_iter().map(Isa::name).collect();
    cpu.set_item("available_isas", available)?;
    cpu.set_item("threads", threads(None)?)?;
    Ok(vec![cpu])
}
