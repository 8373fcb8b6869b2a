//! Runs a program by kernels and by references, and compares them.

use crate::{Source, generate};
use cloakwork_ir::{DType, Device, HostId, HostSlot, HostTensor, Program, Type, View, write_word};
use cloakwork_kernels::best_isa;
use cloakwork_ops::reference::sample;
use cloakwork_plan::{Options, Plan, plan};
use cloakwork_run::{Executor, Outcome, RunError, RunOptions, bisect};
use cloakwork_verify::{Verified, verify};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A program's inputs by host slot.
pub type Inputs = HashMap<HostId, HostTensor>;

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

/// A tensor for each input of a program; `word` gives element `i`.
#[must_use]
pub fn inputs(program: &Program, word: fn(u64) -> i64) -> Inputs {
    let slots = (0u32..).zip(&program.hosts);
    let named = slots.filter_map(|(index, slot)| match slot {
        HostSlot::Input { ty, .. } => Some((HostId(index), filled(ty, word)?)),
        _ => None,
    });
    named.collect()
}

/// Maps neighbouring words to distant values.
fn mixed(word: i64) -> u64 {
    (word as u64 ^ 0x5851_f42d).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn filled(ty: &Type, word: fn(u64) -> i64) -> Option<HostTensor> {
    let mut bytes = vec![0; usize::try_from(ty.size_bytes()).ok()?];
    let integer = ty.dtype.is_integer();
    for (i, element) in (0u64..).zip(bytes.chunks_exact_mut(ty.dtype.size_bytes())) {
        let words = match ty.dtype {
            DType::Bool => vec![word(i) & 1],
            _ if integer => vec![word(i)],
            dtype => sample::element(dtype, mixed(word(i))),
        };
        let parts = element.chunks_exact_mut(ty.dtype.component().size_bytes());
        for (part, word) in parts.zip(words) {
            write_word(ty.dtype.component(), word, part);
        }
    }
    HostTensor::new(ty.dtype, View::contiguous(ty.shape.clone()), bytes.into()).ok()
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
