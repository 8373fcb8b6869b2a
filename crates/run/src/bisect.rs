//! Finds the first op whose result is wrong: the executor and the interpreter run side by side,
//! and what each op wrote is compared.

use crate::execute::{Executor, RunOptions};
use crate::interpret::Interpreter;
use crate::names::op_name;
use crate::outcome::{show_word, unravel};
use crate::table::Memories;
use crate::{RunError, outcome};
use cloakwork_ir::{HostId, HostTensor, components};
use cloakwork_plan::Plan;
use cloakwork_verify::{Action, ValueId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// An op whose kernels wrote something else than its reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongOp {
    /// The program's step.
    pub step: u32,
    /// Its op.
    pub op: String,
    /// The kernel.
    pub kernel: &'static str,
    /// The tensor.
    pub name: String,
    /// Index of the first element that differs.
    pub index: Vec<u64>,
    /// What the kernel wrote.
    pub got: String,
    /// What the reference says.
    pub expected: String,
    /// How many elements differ.
    pub different: u64,
    /// How many there are.
    pub total: u64,
}

impl fmt::Display for WrongOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "step {}: {} (%{}, kernel {}): {} of {} elements differ from the reference, first at \
             {:?}: expected {}, got {}",
            self.step,
            self.op,
            self.name,
            self.kernel,
            self.different,
            self.total,
            self.index,
            self.expected,
            self.got
        )
    }
}

/// The same program with every step done before the next and all in memory, so that what each wrote
/// can be seen.
fn unfused(plan: &Plan) -> Result<Executor, RunError> {
    let options = cloakwork_plan::Options {
        fuse: false,
        memory_budget_bytes: None,
        ..plan.options.clone()
    };
    let plan = cloakwork_plan::plan(Arc::clone(&plan.verified), &options)
        .map_err(|error| RunError::Internal(error.to_string()))?;
    Executor::new(Arc::new(plan))
}

/// Runs the program by kernels and by references together.
///
/// Returns the first op whose results differ; `None` if all agree, so that an expected value in the
/// file must be wrong.
///
/// # Errors
/// As a run; the caller's wish to stop too.
pub fn bisect(
    executor: &mut Executor,
    inputs: &HashMap<HostId, HostTensor>,
    tick: &mut dyn FnMut(outcome::Progress) -> bool,
) -> Result<Option<WrongOp>, RunError> {
    let plan = executor.plan();
    if !plan.fusions.is_empty() || !plan.spilled.is_empty() {
        return bisect(&mut unfused(executor.plan())?, inputs, tick);
    }
    let plan = Arc::clone(executor.plan());
    let verified = Arc::clone(&plan.verified);
    let mut interpreter = Interpreter::new(&verified, inputs);
    let mut actions = verified.actions().iter().peekable();
    let mut found = None;
    let options = RunOptions {
        threads: plan.options.threads,
        ..RunOptions::default()
    };
    let mut watch = |index: usize, memories: &Memories| {
        let origin = plan.steps[index].origin;
        let ends = plan
            .steps
            .get(index + 1)
            .is_none_or(|next| next.origin != origin);
        if !ends {
            return Ok(());
        }
        while let Some((step, action)) = actions.next_if(|(step, _)| *step <= origin) {
            interpreter.action(*step, action)?;
            if let Action::Kernel { out, .. } | Action::Copy { value: out, .. } = action
                && *step == origin
            {
                found = compare(&plan, index, *out, &interpreter, memories)?;
                if found.is_some() {
                    return Err(RunError::Interrupted { step: *step });
                }
            }
        }
        Ok(())
    };
    match executor.run_watched(inputs, &options, tick, Some(&mut watch)) {
        Err(RunError::Interrupted { .. }) if found.is_some() => Ok(found),
        Err(error) => Err(error),
        Ok(_) => Ok(found),
    }
}

fn compare(
    plan: &Plan,
    index: usize,
    value: ValueId,
    interpreter: &Interpreter,
    memories: &Memories,
) -> Result<Option<WrongOp>, RunError> {
    let Some((address, view)) = plan.place_of(value) else {
        return Ok(None);
    };
    let Some(info) = plan.verified.value(value) else {
        return Ok(None);
    };
    let start = memories.pointer(&address)?.cast::<u8>().cast_const();
    let size = info.dtype.size_bytes();
    let expected = interpreter.words(value);
    let (component, parts) = (info.dtype.component(), info.dtype.components());
    let differing = |(flat, (offset, want)): (usize, (i64, &[i64]))| {
        // SAFETY: the plan's address and physical view lie in the operand's memory, which no
        // kernel writes between two steps.
        let bytes = unsafe {
            let at = start.wrapping_offset((offset - view.offset) as isize * size as isize);
            std::slice::from_raw_parts(at, size)
        };
        let mut pairs = components(info.dtype, bytes).zip(want);
        let (got, &want) = pairs.find(|(got, want)| got != *want)?;
        Some((flat as u64, got, want))
    };
    let mut wrong = view
        .offsets()
        .zip(expected.chunks_exact(parts))
        .enumerate()
        .filter_map(differing);
    let Some((flat, got, want)) = wrong.next() else {
        return Ok(None);
    };
    let different = 1 + wrong.count() as u64;
    let step = &plan.steps[index];
    let program = plan.verified.program();
    Ok(Some(WrongOp {
        step: plan.program_step(step.origin),
        op: op_name(program, step.origin).to_owned(),
        kernel: step.row.symbol,
        name: program.symbol_name(info.name).to_owned(),
        index: unravel(flat, &info.view.shape),
        got: show_word(component, got),
        expected: show_word(component, want),
        different,
        total: (expected.len() / parts) as u64,
    }))
}
