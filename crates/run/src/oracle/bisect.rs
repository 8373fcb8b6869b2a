//! Finds the first op with a wrong result: runs the executor and the interpreter side by side, and
//! compares the result of each op.

use crate::RunError;
use crate::exec::executor::{Executor, RunOptions};
use crate::exec::hosts::Inputs;
use crate::exec::table::Memories;
use crate::oracle::interpret::{self, Interpreter, Judgement};
use crate::report::names::op_name;
use crate::report::outcome;
use crate::report::outcome::{show_word, unravel};
use cloakwork_ir::{DType, components};
use cloakwork_ops::{Expected, Verdict, agrees};
use cloakwork_plan::Plan;
use cloakwork_verify::{Action, ValueId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// An op whose kernels computed a wrong result.
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
    /// Its element type.
    pub dtype: DType,
    /// Index of the first element that differs; for a result that is judged as a whole, its first
    /// index.
    pub index: Vec<u64>,
    /// The value that the kernel wrote.
    pub got: String,
    /// The correct value.
    pub expected: String,
    /// Number of elements that differ.
    pub different: u64,
    /// Number of elements.
    pub total: u64,
    /// The oracle that says so.
    pub against: Against,
}

/// The oracle that the result of an op was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The op's slow reference.
    Reference,
    /// The portable kernel, as the reference takes too long at this size.
    PortableKernel,
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reference => "the reference",
            Self::PortableKernel => "the portable kernel",
        })
    }
}

/// The result of a bisection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bisection {
    /// The first wrong op.
    pub wrong: Option<WrongOp>,
    /// Number of results that were compared with the reference of their op.
    pub by_reference: u64,
    /// Ops whose operands are too large for their reference, with the number of results: these were
    /// compared with the portable kernel.
    pub by_portable_kernel: BTreeMap<&'static str, u64>,
    /// Number of results of the caller's functions: not compared.
    pub of_functions: u64,
}

impl Bisection {
    /// The oracles that results were compared with, as text.
    #[must_use]
    pub fn compared(&self) -> String {
        let results = |count: u64| match count {
            1 => "1 result".to_owned(),
            count => format!("{count} results"),
        };
        let mut text = format!(
            "{} compared with the slow references of their ops",
            results(self.by_reference)
        );
        if !self.by_portable_kernel.is_empty() {
            let ops: Vec<&str> = self.by_portable_kernel.keys().copied().collect();
            let count = results(self.by_portable_kernel.values().sum());
            text += &format!(
                "; {count} compared only with portable kernels, as they are too large for the \
                 references: {}",
                ops.join(", ")
            );
        }
        if self.of_functions > 0 {
            text += &format!(
                "; {} of user functions not compared",
                results(self.of_functions)
            );
        }
        text
    }
}

impl fmt::Display for WrongOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "step {}: {} (%{}, kernel {}): {} of {} elements differ from {}, first at \
             {:?}: expected {}, got {}",
            self.step,
            self.op,
            self.name,
            self.kernel,
            self.different,
            self.total,
            self.against,
            self.index,
            self.expected,
            self.got
        )
    }
}

/// The same program with every step completed before the next and all buffers in memory, so that
/// each step's writes can be read.
fn unfused(plan: &Plan) -> Result<Executor, RunError> {
    let options = cloakwork_plan::Options {
        fuse: false,
        optimize: false,
        memory_budget_bytes: None,
        ..plan.options.clone()
    };
    let mut unfused = cloakwork_plan::plan(Arc::clone(&plan.verified), &options)
        .map_err(|error| RunError::Internal(error.to_string()))?;
    // The plan is made of the expanded program; steps keep the numbers of the original.
    unfused.origins.clone_from(&plan.origins);
    Executor::new(Arc::new(unfused))
}

/// Runs the program by kernels, and compares each result with its op's reference on the same
/// operands as the kernel's, so that rounding errors of floats do not add up.
///
/// If no op is wrong, an expected value in the file must be wrong.
///
/// # Errors
/// As a run; also if the caller cancels.
pub fn bisect(
    executor: &mut Executor,
    inputs: &impl Inputs,
    tick: &mut dyn FnMut(outcome::Progress) -> bool,
) -> Result<Bisection, RunError> {
    let plan = executor.plan();
    if !plan.fusions.is_empty() || plan.spills() {
        return bisect(&mut unfused(executor.plan())?, inputs, tick);
    }
    let plan = Arc::clone(executor.plan());
    let verified = Arc::clone(&plan.verified);
    let mut interpreter = Interpreter::new(&verified, inputs);
    let mut actions = verified.actions().iter().peekable();
    let mut done = Bisection::default();
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
            let written = Written {
                plan: &plan,
                index,
                memories,
            };
            let is_last = *step == origin;
            written.hold(&mut interpreter, (*step, action), is_last, &mut done)?;
            if done.wrong.is_some() {
                return Err(RunError::Interrupted { step: *step });
            }
        }
        Ok(())
    };
    match executor.run_watched(inputs, &options, tick, Some(&mut watch)) {
        Err(RunError::Interrupted { .. }) if done.wrong.is_some() => Ok(done),
        Err(error) => Err(error),
        Ok(_) => Ok(done),
    }
}

/// The contents of memory after a step of the plan.
struct Written<'a> {
    plan: &'a Plan,
    index: usize,
    memories: &'a Memories<'a>,
}

impl Written<'_> {
    /// Executes an action, and compares the step's result with it.
    fn hold(
        &self,
        interpreter: &mut Interpreter,
        (step, action): (u32, &Action),
        is_last: bool,
        done: &mut Bisection,
    ) -> Result<(), RunError> {
        let step = self.plan.program_step(step);
        let Action::Kernel { call, out } = action else {
            interpreter.action(action)?;
            if let (Action::Copy { value, .. }, true) = (action, is_last)
                && let Some(got) = self.words(*value)?
            {
                let expected = Expected::Exact(interpreter.words(*value));
                done.by_reference += 1;
                done.wrong = self.compare(*value, &got, &expected, Against::Reference);
            }
            return Ok(());
        };
        // If a step has several actions, only the last one's result is compared.
        let got = if is_last { self.words(*out)? } else { None };
        let before = interpreter.words(*out);
        let given = got.as_deref().unwrap_or(&before);
        let judgement = interpreter.judge(step, (call, *out), given)?;
        let mut words = given.to_vec();
        let mut compare = |expected: &Expected, against| match (&got, expected.words()) {
            (Some(got), _) => self.compare(*out, got, expected, against),
            (None, Some(expected)) => {
                words = expected.to_vec();
                None
            }
            (None, None) => None,
        };
        match judgement {
            Judgement::Reference(expected) => {
                done.wrong = compare(&expected, Against::Reference);
                done.by_reference += u64::from(got.is_some());
            }
            Judgement::Portable(expected) => {
                done.wrong = compare(&Expected::Exact(expected), Against::PortableKernel);
                *done.by_portable_kernel.entry(call.def.name).or_default() += 1;
            }
            Judgement::Verdict(_) if got.is_none() => {
                words = interpreter.portable(step, call, *out)?;
            }
            Judgement::Verdict(verdict) => {
                done.by_reference += 1;
                if let Verdict::Wrong { at, expected } = verdict {
                    done.wrong = self.wrong(*out, at, "another".to_owned(), expected);
                }
            }
            Judgement::Callers => done.of_functions += 1,
        }
        interpreter.adopt(*out, &words)
    }

    /// The components of a value's elements, row-major, if the plan stores the value.
    fn words(&self, value: ValueId) -> Result<Option<Vec<i64>>, RunError> {
        let Some((address, view)) = self.plan.place_of(value) else {
            return Ok(None);
        };
        let Some(info) = self.plan.verified.value(value) else {
            return Ok(None);
        };
        let size = info.dtype.size_bytes();
        let start = self.memories.pointer(&address)?.cast::<u8>().cast_const();
        let (low, high) = view.bounds();
        let first = (low - view.offset) * size as i64;
        let bytes = ((high - low) * size as i64) as u64;
        let there = self.memories.on_device(&address, first, bytes)?;
        // Bytes downloaded from a device keep the device's layout.
        let start = there.as_ref().map_or(start, |block| {
            block.as_ptr().wrapping_offset(-first as isize).cast_const()
        });
        let element = |offset: i64| {
            // SAFETY: the plan's address and physical view lie in the operand's memory, which no
            // kernel writes between two steps.
            unsafe {
                let at = start.wrapping_offset((offset - view.offset) as isize * size as isize);
                std::slice::from_raw_parts(at, size)
            }
        };
        let words = view
            .offsets()
            .flat_map(|offset| components(info.dtype, element(offset)));
        Ok(Some(words.collect()))
    }

    fn compare(
        &self,
        value: ValueId,
        got: &[i64],
        expected: &Expected,
        against: Against,
    ) -> Option<WrongOp> {
        let info = self.plan.verified.value(value)?;
        let (component, parts) = (info.dtype.component(), info.dtype.components());
        let want = expected.words()?;
        let differs = |&at: &usize| {
            let want = want
                .get(at)
                .map_or(0, |&word| interpret::wrap(info.dtype, word));
            !agrees(component, got[at], want, expected.slack(at))
        };
        let mut wrong = (0..got.len()).filter(differs);
        let first = wrong.next()?;
        let elements: BTreeSet<usize> = wrong.map(|at| at / parts).chain([first / parts]).collect();
        let (shown, wanted) = (got[first], want.get(first).copied().unwrap_or(0));
        let (shown, wanted) = (show_word(component, shown), show_word(component, wanted));
        Some(WrongOp {
            different: elements.len() as u64,
            against,
            ..self.wrong(value, (first / parts) as u64, shown, wanted)?
        })
    }

    fn wrong(&self, value: ValueId, at: u64, got: String, expected: String) -> Option<WrongOp> {
        let info = self.plan.verified.value(value)?;
        let step = &self.plan.steps[self.index];
        let program = self.plan.verified.program();
        let total = info.view.shape.elements();
        Some(WrongOp {
            step: self.plan.program_step(step.origin),
            op: op_name(program, step.origin).to_owned(),
            kernel: step.symbol(),
            name: program.symbol_name(info.name).to_owned(),
            dtype: info.dtype,
            index: unravel(at, &info.view.shape),
            got,
            expected,
            different: total,
            total,
            against: Against::Reference,
        })
    }
}
