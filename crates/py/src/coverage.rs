//! How the steps of a program run on a device.

use crate::device::{self, Count};
use crate::guard::unlocked;
use crate::program::Program;
use crate::target::{Budget, Target};
use cloakwork_run::coverage;
use pyo3::prelude::*;

/// The table of a program for a device: JSON.
#[pyfunction]
#[pyo3(name = "coverage", signature = (program, device, threads=None, optimize=true, fallback=true))]
pub fn of_program(
    py: Python<'_>,
    program: &Program,
    device: &str,
    threads: Option<Count>,
    optimize: bool,
    fallback: bool,
) -> PyResult<String> {
    let target = Target {
        threads: device::threads(threads)?,
        device: device::named(device)?,
        budget: Budget::default(),
        optimize,
        fallback,
    };
    let plan = program.plan(py, target)?;
    unlocked(py, || coverage::table(&plan, None).to_string())
}
