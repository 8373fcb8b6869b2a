//! A run: outside of Python's lock, yet it hears Ctrl-C and says how far it is.

use crate::device::Place;
use crate::errors;
use crate::functions::Pythons;
use crate::guard::unlocked;
use crate::program::Program;
use crate::target::{Budget, Target};
use crate::tensor::{Inner, Tensor};
use cloakwork_formats::files::{Access, save_with};
use cloakwork_ir::{HostSlot, HostTensor};
use cloakwork_plan::{Download, Plan, Resident};
use cloakwork_run::{
    Bisection, Functions, Inputs, Mismatch, Outcome, Output, Progress, RunOptions, bisect,
    coverage, eager, is_wiping, measured, profile, totals,
};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// How to run.
#[derive(Default)]
pub struct Settings {
    /// Worker threads.
    pub threads: usize,
    /// The memory budget: beyond it buffers are spilled to disk, or the plan is refused.
    pub memory_budget: Budget,
    /// Compare with the values that the program expects.
    pub verify: bool,
    /// Record each step's time.
    pub profile: bool,
    /// After a mismatch, look for the first op whose result is wrong.
    pub bisect: bool,
    /// Called with the steps done and the steps there are.
    pub progress: Option<Py<PyAny>>,
    /// Take ready tasks in a random order that follows from this number.
    pub schedule_seed: Option<u64>,
    /// Where the file of a run that spills is made.
    pub spill_dir: Option<PathBuf>,
    /// Python's own functions that the program calls, with their names.
    pub functions: Vec<(String, Py<PyAny>)>,
    /// An input is secret: leave nothing of it in the executor's memory.
    pub secret: bool,
    /// Let passes clean the program first; a run that may look for a wrong op runs the steps that
    /// the program has.
    pub optimize: bool,
    /// Refuse to run steps on the host that are wanted on a device.
    pub no_fallback: bool,
    /// Where the program computes, if it names no device itself.
    pub place: Place,
    /// Inputs that the device holds, and whether it keeps the results.
    pub resident: Resident,
}

/// The outcome of a run.
#[pyclass(frozen, module = "cloakwork._core")]
pub struct Run {
    plan: Arc<Plan>,
    outcome: Outcome,
    bisection: Option<Bisection>,
}

/// The callback of the executor between steps.
struct Ticker {
    progress: Option<Py<PyAny>>,
    stopped: Option<PyErr>,
}

impl Ticker {
    /// Whether to go on.
    fn tick(&mut self, at: Progress) -> bool {
        // Python hears signals itself when a run is done.
        if self.progress.is_none() && at.done == at.total {
            return true;
        }
        let heard = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (at.done, at.total)).map(drop),
                None => Ok(()),
            }
        });
        self.stopped = heard.err();
        self.stopped.is_none()
    }
}

/// The planning target of a run.
fn target(settings: &Settings) -> Target {
    Target {
        // Only a plan for several threads knows what may run in another order.
        threads: match settings.schedule_seed {
            Some(_) => settings.threads.max(2),
            None => settings.threads,
        },
        place: settings.place.clone(),
        resident: settings.resident.clone(),
        budget: settings.memory_budget.clone(),
        optimize: settings.optimize && !settings.bisect,
        fallback: !settings.no_fallback,
    }
}

/// Refuses to run a plan with settings that it does not allow.
fn check(plan: &Plan, settings: &Settings) -> PyResult<()> {
    // A proof's own copies are spilled, too, encrypted under a key of the run.
    let spills = plan.spills() && !is_wiping();
    if settings.secret && (spills || plan.memory.file_bytes > 0) {
        return Err(errors::secret(
            "a run on a secret tensor must not spill to disk: increase the memory budget, and \
             allocate nothing on disk",
        ));
    }
    if settings.secret && !plan.calls.is_empty() {
        return Err(errors::secret(
            "a run on a secret tensor must not call user functions: they would see its elements",
        ));
    }
    let given = settings.functions.len();
    if let Some(call) = plan
        .calls
        .iter()
        .find(|call| call.function as usize >= given)
    {
        let expected = format!("one for function {} of the program", call.function);
        return Err(errors::param(
            "functions",
            format!("{given} functions"),
            &expected,
        ));
    }
    Ok(())
}

impl Run {
    /// Runs a program once.
    pub fn start(
        py: Python<'_>,
        program: &Program,
        inputs: &(impl Inputs + Sync),
        settings: Settings,
    ) -> PyResult<Self> {
        let mut ready = program.ready(py, target(&settings), |plan| check(plan, &settings))?;
        let executor = &mut ready.executor;
        let plan = Arc::clone(executor.plan());
        let calls = !plan.calls.is_empty();
        let pythons = calls.then(|| Arc::new(Pythons::new(settings.functions)));
        let options = RunOptions {
            threads: settings.threads,
            verify: settings.verify || settings.bisect,
            profile: settings.profile || measured::is_measured(),
            schedule_seed: settings.schedule_seed,
            spill_dir: settings.spill_dir,
            wipe: settings.secret || is_wiping(),
            functions: pythons.clone().map(|own| own as Arc<dyn Functions>),
            ..RunOptions::default()
        };
        let mut ticker = Ticker {
            progress: settings.progress,
            stopped: None,
        };
        let start = Instant::now();
        let done = unlocked(py, || {
            let mut tick = |at| ticker.tick(at);
            let result = executor.run(inputs, &options, &mut tick);
            let differs = result
                .as_ref()
                .is_ok_and(|outcome| !outcome.mismatches.is_empty());
            let bisection = (settings.bisect && differs)
                .then(|| bisect(executor, inputs, &mut |at| ticker.tick(at)));
            (result, bisection)
        });
        if options.wipe {
            // The state that a panic or a search for a wrong op left.
            executor.zeroize();
        }
        let before_failure = executor.take_outputs_before_failure();
        let (result, bisection) = done?;
        program.keep(ready);
        if let Some(stopped) = ticker.stopped {
            return Err(stopped);
        }
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => {
                let told = match pythons {
                    Some(pythons) => pythons.told(errors::run(error)),
                    None => errors::run(error),
                };
                if !before_failure.is_empty() {
                    let outputs: Vec<_> = before_failure.into_iter().map(named_tensor).collect();
                    told.value(py).setattr("outputs_before", outputs)?;
                }
                return Err(told);
            }
        };
        if measured::is_measured() {
            measured::add_run(start, &plan, &outcome);
        }
        let bisection = bisection.transpose().map_err(errors::run)?;
        Ok(Self {
            plan,
            outcome,
            bisection,
        })
    }
}

impl Run {
    /// The outputs as tensors, in order: on the host, or on the device that keeps them.
    pub fn into_tensors(self) -> Vec<Inner> {
        let outputs = self.outcome.outputs.into_iter();
        let here = outputs.map(|output| Inner::Real(adopt(output.tensor)));
        here.chain(self.outcome.kept.into_iter().map(Inner::Away))
            .collect()
    }
}

/// A result as a tensor over the memory that the run wrote.
pub fn adopt(host: HostTensor) -> eager::Tensor {
    let (view, bytes) = (host.view().clone(), host.bytes().clone());
    let slice = bytes.as_slice();
    let place = (
        slice.as_ptr().cast_mut(),
        slice.len(),
        eager::Lent::Writable,
    );
    // SAFETY: a run's results are blocks of their own, which their bytes keep and nobody else
    // writes; the host tensor's view stays inside them.
    unsafe { eager::Tensor::from_foreign(host.dtype(), view, place, Box::new(bytes)) }
}

/// An output's name, if it has one, and its tensor.
fn named_tensor(output: Output) -> (Option<String>, Tensor) {
    (output.name, Inner::Real(adopt(output.tensor)).into())
}

#[pymethods]
impl Run {
    /// The outputs, in order: tensors over the memory that the run wrote, or on the device that
    /// keeps them.
    fn outputs(&self) -> Vec<Tensor> {
        let here = self.outcome.outputs.iter().cloned();
        let here = here.map(|output| named_tensor(output).1);
        let kept = self.outcome.kept.iter().cloned();
        here.chain(kept.map(|kept| Inner::Away(kept).into()))
            .collect()
    }

    /// The names of the outputs, in order; none where the program expects a value instead.
    fn output_names(&self) -> Vec<Option<String>> {
        let program = self.plan.verified.program();
        let name = |download: &Download| match program.host(download.host) {
            Some(HostSlot::Output { name }) => Some(name.clone()),
            _ => None,
        };
        self.plan.downloads.iter().map(name).collect()
    }

    /// Downloads that differ from what the program expects, as `cloakwork.Mismatch`.
    fn mismatches<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let class = py
            .import("cloakwork.programs.report")?
            .getattr("Mismatch")?;
        let instance = |mismatch: &Mismatch| {
            class.call1((
                mismatch.step,
                mismatch.segment.as_deref(),
                &mismatch.name,
                mismatch.written_by.clone(),
                mismatch.index.clone(),
                &mismatch.got,
                &mismatch.expected,
                mismatch.different,
                mismatch.total,
                mismatch.to_string(),
            ))
        };
        self.outcome.mismatches.iter().map(instance).collect()
    }

    /// The first op whose result differs from its reference, as `cloakwork.WrongOp`.
    fn wrong_op<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(wrong) = self.bisection.as_ref().and_then(|done| done.wrong.as_ref()) else {
            return Ok(None);
        };
        let class = py.import("cloakwork.programs.report")?.getattr("WrongOp")?;
        let instance = class.call1((
            wrong.step,
            &wrong.op,
            wrong.kernel,
            &wrong.name,
            wrong.index.clone(),
            &wrong.got,
            &wrong.expected,
            wrong.different,
            wrong.total,
            wrong.to_string(),
        ))?;
        Ok(Some(instance))
    }

    /// The reference of a search for a wrong op, in words; None without a search.
    fn compared(&self) -> Option<String> {
        self.bisection.as_ref().map(Bisection::compared)
    }

    /// Totals an op and a segment: JSON.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        unlocked(py, || {
            totals::summary(&self.plan, &self.outcome).to_string()
        })
    }

    /// How the steps of the program ran, with the transfers of those on the host: JSON.
    fn coverage(&self, py: Python<'_>) -> PyResult<String> {
        unlocked(py, || {
            coverage::table(&self.plan, Some(&self.outcome)).to_string()
        })
    }

    /// Planned steps `start` to `stop - 1`: JSON.
    fn steps(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<String> {
        unlocked(py, || {
            serde_json::Value::from(totals::steps(&self.plan, &self.outcome, start..stop))
                .to_string()
        })
    }

    /// Write the profile, which Perfetto and Chrome open.
    fn write_profile(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = unlocked(py, || {
            save_with(&path, Access::Shared, |out| {
                profile::write_chrome(&self.plan, &self.outcome, out)
            })
        })?;
        written.map_err(|error| errors::save(error, &path))
    }
}
