//! Running a program as its judge: by kernels and by references together.

use cloakwork_ir::{HostId, HostSlot, HostTensor, Program, Type, View, write_word};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, plan};
use cloakwork_run::{Executor, Outcome, RunOptions, bisect};
use cloakwork_verify::Verified;
use std::collections::HashMap;
use std::sync::Arc;

/// A program's inputs by host slot.
pub type Inputs = HashMap<HostId, HostTensor>;

/// A tensor for each input of a program; `word` says what element `i` is.
#[must_use]
pub fn inputs(program: &Program, word: fn(u64) -> i64) -> Inputs {
    let slots = (0u32..).zip(&program.hosts);
    let named = slots.filter_map(|(index, slot)| match slot {
        HostSlot::Input { ty, .. } => Some((HostId(index), filled(ty, word)?)),
        _ => None,
    });
    named.collect()
}

fn filled(ty: &Type, word: fn(u64) -> i64) -> Option<HostTensor> {
    let mut bytes = vec![0; usize::try_from(ty.size_bytes()).ok()?];
    for (i, element) in (0u64..).zip(bytes.chunks_exact_mut(ty.dtype.component().size_bytes())) {
        let word = match ty.dtype {
            dtype if dtype.is_number() => word(i),
            // Infinity, of which all bits are known.
            dtype if dtype.is_point() => 0,
            // Below every prime.
            _ => word(i) & 0x3fff_ffff,
        };
        write_word(ty.dtype, word, element);
    }
    HostTensor::new(ty.dtype, View::contiguous(ty.shape.clone()), bytes.into()).ok()
}

/// Plans a program for this processor.
///
/// # Errors
/// The planner's.
pub fn planned(verified: &Arc<Verified>, threads: usize) -> Result<Arc<Plan>, String> {
    let options = Options::new(best_isa(), threads);
    plan(Arc::clone(verified), &options)
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

/// Runs a program by kernels, and again with each op's result held to its reference.
///
/// # Errors
/// What the run refuses, or the first op whose kernels disagree with its reference.
pub fn execute(verified: &Arc<Verified>, inputs: &Inputs) -> Result<Outcome, String> {
    let mut executor = Executor::new(planned(verified, 1)?).map_err(|error| error.to_string())?;
    let options = RunOptions {
        verify: true,
        ..RunOptions::default()
    };
    let outcome = executor.run(inputs, &options, &mut |_| true);
    let outcome = outcome.map_err(|error| error.to_string())?;
    match bisect(&mut executor, inputs, &mut |_| true) {
        Ok(None) => Ok(outcome),
        Ok(Some(wrong)) => Err(wrong.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
