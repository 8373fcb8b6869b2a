//! How the steps of a program run on a device.

use crate::device::{self, Count};
use crate::errors;
use crate::guard::unlocked;
use crate::program::Program;
use crate::target::{Budget, Target};
use cloakwork_plan::{Options, Resident};
use cloakwork_run::coverage;
use pyo3::prelude::*;

/// The table of a program for a device: JSON.
#[pyfunction]
#[pyo3(name = "coverage", signature = (program, device, threads=None, optimize=true,
                                      fallback=true))]
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
        place: device::Place::named(device)?,
        budget: Budget::default(),
        optimize,
        fallback,
        resident: Resident::default(),
    };
    let plan = program.plan(py, target)?;
    unlocked(py, || coverage::table(&plan, None).to_string())
}

/// A step that a device cannot run: its number, its op, the reason.
type Left = (u32, String, String);

/// The program in exactly the ops that a device implements, and the steps for which that is not
/// possible.
#[pyfunction]
pub fn specialize(
    py: Python<'_>,
    program: &Program,
    device: &str,
) -> PyResult<(Program, Vec<Left>)> {
    let device = device::named(device)?;
    let (verified, isa) = (program.verified(py)?, device::isa(py)?);
    let options = Options {
        device,
        ..Options::new(isa, 1)
    };
    let made = unlocked(py, || cloakwork_plan::specialize(&verified, &options))?;
    let made = made.map_err(errors::plan)?;
    let left = made.left.into_iter().map(|row| (row.step, row.op, row.why));
    Ok((Program::new(made.program), left.collect()))
}
