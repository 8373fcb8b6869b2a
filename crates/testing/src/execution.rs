//! Runs a program by kernels and by references, and compares them.

use cloakwork_conformance::{Inputs, Source, generate};
use cloakwork_ir::Device;
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, plan};
use cloakwork_run::{Executor, Outcome, RunError, RunOptions, bisect};
use cloakwork_verify::{Verified, verify};
use std::fmt;
use std::sync::Arc;

/// Random programs, from this seed on, that name no device but disks: they can be planned for any.
///
/// # Panics
/// A generated program has an error: a mistake of the generator.
#[allow(clippy::expect_used)]
pub fn programs_without_devices(seed: u64) -> impl Iterator<Item = (u64, Arc<Verified>)> {
    let all = (seed..).map(|number| {
        let program = Arc::new(generate(&mut Source::from_seed(number)));
        let verified = verify(program).verified.expect("no error");
        (number, Arc::new(verified))
    });
    let is_named = |device| !matches!(device, Device::Cpu | Device::Disk(_));
    all.filter(move |(_, verified)| {
        let mut storages = verified.storages().iter();
        !storages.any(|storage| is_named(storage.device))
    })
}

/// Plans a program for this processor.
///
/// # Errors
/// The planner's error.
pub fn planned(verified: &Arc<Verified>, threads: usize) -> Result<Arc<Plan>, String> {
    let options = Options::new(best_isa(), threads);
    plan(Arc::clone(verified), &options)
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

/// The reason why a program has no results that its references confirm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The planner or the run refuses it: contents that an op does not accept, or out of memory.
    Refused(String),
    /// An op's kernels disagree with its reference.
    Wrong(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) | Self::Wrong(text) => f.write_str(text),
        }
    }
}

/// Runs a program by kernels, and again with each op's result compared with its reference.
///
/// # Errors
/// The error of the run, or the first op whose kernels disagree with its reference.
pub fn execute(verified: &Arc<Verified>, inputs: &Inputs) -> Result<Outcome, Failure> {
    let refused = |error: RunError| Failure::Refused(error.to_string());
    let plan = planned(verified, 1).map_err(Failure::Refused)?;
    let mut executor = Executor::new(plan).map_err(refused)?;
    let options = RunOptions {
        verify: true,
        ..RunOptions::default()
    };
    let outcome = executor.run(inputs, &options, &mut |_| true);
    let outcome = outcome.map_err(refused)?;
    let done = bisect(&mut executor, inputs, &mut |_| true).map_err(refused)?;
    match done.wrong {
        None => Ok(outcome),
        Some(wrong) => Err(Failure::Wrong(wrong.to_string())),
    }
}
