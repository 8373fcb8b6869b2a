//! Tracing and batches as Python calls them: functions are run once while this thread records, and
//! what a batch collected is run.

use crate::errors;
use crate::guard::watched;
use crate::program::Program;
use crate::run::{Run, Settings};
use crate::tensor::{Elements, Inner, Tensor};
use crate::{device, on_device, tensor};
use cloakwork_ir::Type;
use cloakwork_process::Mutex;
use cloakwork_trace::{
    Paused, Place, Recording, Trace, TraceError, Traced, active, begin_batch, end_batch, is_active,
};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Makes a frozen tensor, where the function that is being traced meets it or parts of it, an
/// input of this name instead of a constant. False outside of traces and in a batch, where it does
/// nothing.
#[pyfunction]
pub fn input_when_met(tensor: &Tensor, name: String) -> PyResult<bool> {
    let Some(trace) = active().filter(|trace| !trace.is_batch()) else {
        return Ok(false);
    };
    let tensor = tensor.inner().real("an input of a program")?;
    trace.input_when_met(tensor, name).map_err(errors::traced)?;
    Ok(true)
}

/// Calls `function` as if this thread recorded nothing: so are constants made that outlive a trace.
#[pyfunction]
pub fn unrecorded<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let _paused = Paused::start();
    function.call0()
}

/// Calls `function` on tensors without elements, of the examples' types, and records what it does.
#[pyfunction]
pub fn trace<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    examples: &Bound<'py, PyList>,
) -> PyResult<Program> {
    let trace = Arc::new(Trace::new(device::isa(py)?));
    let recording = Recording::start(&trace).map_err(errors::traced)?;
    let mut inputs = Vec::new();
    for (index, example) in tensor::tensors(examples)?.iter().enumerate() {
        let ty = Type::new(example.dtype(), example.view().shape.clone());
        let traced = trace.input(format!("in{index}"), ty);
        inputs.push(Tensor::from(Inner::from(traced)));
    }
    let returned = function.call1(PyTuple::new(py, inputs)?)?;
    let single = returned.is_instance_of::<Tensor>();
    let outputs = if single {
        PyList::new(py, [&returned])?
    } else {
        as_list(&returned)?
    };
    for (index, tensor) in tensor::tensors(&outputs)?.iter().enumerate() {
        let tensor = on_device::settled(tensor)?;
        let output = watched(|| trace.output(&tensor, format!("out{index}")))?;
        output.map_err(errors::traced)?;
    }
    drop(recording);
    Ok(Program::new(trace.finish()))
}

/// The results of a traced function, if it returned a tuple or a list of tensors.
fn as_list<'py>(returned: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let is_sequence = returned.is_instance_of::<PyTuple>() || returned.is_instance_of::<PyList>();
    let items: Vec<Bound<'py, PyAny>> = if is_sequence {
        returned.try_iter()?.collect::<PyResult<_>>()?
    } else {
        Vec::new()
    };
    if items.is_empty() || items.iter().any(|item| !item.is_instance_of::<Tensor>()) {
        let kind = returned.get_type().name()?;
        return Err(errors::trace(format!(
            "a traced function returns a Tensor, or a tuple or list of them, not {kind}"
        )));
    }
    PyList::new(returned.py(), items)
}

/// A traced tensor has left its trace.
pub fn stray() -> PyErr {
    errors::traced(TraceError::stray())
}

/// The result of a traced tensor, after running its batch if that has not run; none for a tensor of
/// no batch.
pub fn settle(traced: &Traced) -> PyResult<Option<&Inner>> {
    let Some(slot) = traced.slot.as_ref().filter(|slot| slot.get().is_none()) else {
        return Ok(traced.settled());
    };
    let failure = || {
        let reason = slot.failure()?.downcast_ref::<PyErr>()?;
        Some(Python::attach(|py| reason.clone_ref(py)))
    };
    if let Some(error) = failure() {
        return Err(error);
    }
    let done = Python::attach(|py| {
        let done = flush(py, traced.trace());
        // Results of a lazy batch have their own errors.
        done.or_else(
            |error| match traced.trace().is_lazy() && is_kept(py, &error) {
                true => Ok(()),
                false => Err(error),
            },
        )
    });
    match (traced.settled(), failure()) {
        (None, Some(error)) => Err(error),
        (None, None) => Err(done.err().unwrap_or_else(|| {
            errors::trace("the batch that was to compute this tensor was abandoned")
        })),
        (settled, _) => done.map(|()| settled),
    }
}

/// Whether the results that do not exist because of an error tell it: not where the user wants to
/// stop.
pub fn is_kept(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyException>(py)
}

/// A run of a batch that is under way.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Running {
    batch: usize,
    thread: ThreadId,
    generation: u64,
}

static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());

impl Running {
    fn of(batch: &Arc<Trace>) -> Self {
        Self {
            batch: Arc::as_ptr(batch) as usize,
            thread: thread::current().id(),
            generation: cloakwork_process::generation(),
        }
    }

    fn begin(batch: &Arc<Trace>) -> Ended {
        let own = Self::of(batch);
        RUNNING.lock().push(own);
        Ended(own)
    }

    /// Whether it is a run of the same batch on another thread of this process.
    fn is_other(&self, own: &Self) -> bool {
        let same = self.batch == own.batch && self.generation == own.generation;
        same && self.thread != own.thread
    }
}

/// The run ends when it goes.
struct Ended(Running);

impl Drop for Ended {
    fn drop(&mut self) {
        let mut running = RUNNING.lock();
        if let Some(place) = running.iter().position(|one| *one == self.0) {
            running.swap_remove(place);
        }
    }
}

/// Waits until no other thread runs steps of a batch.
fn wait_for_others(py: Python<'_>, batch: &Arc<Trace>) -> PyResult<()> {
    let own = Running::of(batch);
    let mut pause = Duration::from_micros(20);
    while RUNNING.lock().iter().any(|one| one.is_other(&own)) {
        py.detach(|| thread::sleep(pause));
        py.check_signals()?;
        pause = (2 * pause).min(Duration::from_millis(1));
    }
    Ok(())
}

/// Two threads in scopes that wait for each other go on after so many pauses.
const MOST_PAUSES: usize = 1000;

/// Waits until no other thread is within a scope of a batch.
fn wait_for_scopes(py: Python<'_>, batch: &Trace) -> PyResult<()> {
    for _ in 0..MOST_PAUSES {
        if !batch.is_held_elsewhere() {
            return Ok(());
        }
        py.detach(|| thread::sleep(Duration::from_millis(1)));
        py.check_signals()?;
    }
    match is_active() {
        true => Ok(()),
        false => wait_for_scopes(py, batch),
    }
}

/// Runs what waits in a batch, and waits for what other threads run of it. If part of it fails,
/// results that do not depend on that part have their results.
///
/// # Errors
/// The outcome of a run of the program.
pub fn flush(py: Python<'_>, batch: &Arc<Trace>) -> PyResult<()> {
    wait_for_scopes(py, batch)?;
    let done = run_waiting(py, batch);
    wait_for_others(py, batch).and(done)
}

fn run_waiting(py: Python<'_>, batch: &Arc<Trace>) -> PyResult<()> {
    // Others wait from before the steps are taken until the results are there.
    let _ended = Running::begin(batch);
    let waiting = match watched(|| batch.waiting())? {
        None => return Ok(()),
        Some(steps) => steps,
    };
    let made = on_device::known(batch, waiting.program);
    let error = match run(py, &made, &waiting.inputs, batch) {
        Ok(results) => {
            on_device::keep(batch, made);
            for (places, result) in waiting.places.iter().zip(&results) {
                give(places, result)?;
            }
            return Ok(());
        }
        Err(error) => error,
    };
    // A device that fails is not replaced by the host without a word.
    let replays = is_kept(py, &error) && (!batch.is_lazy() || errors::is_of_contents(py, &error));
    let results = match replays {
        true => replayed(py, &made, &waiting.inputs, batch).unwrap_or_default(),
        false => Vec::new(),
    };
    let mut results = results.into_iter();
    for places in waiting.places {
        if let Some(result) = results.next().flatten() {
            give(&places, &result)?;
            continue;
        }
        for place in places {
            place.fail(Box::new(match is_kept(py, &error) {
                true => error.clone_ref(py),
                false => errors::trace("the run that was to compute this tensor was interrupted"),
            }));
        }
    }
    Err(error)
}

/// Gives an output of a batch's program to those who wait for it or for views of it.
fn give(places: &[Place], result: &Inner) -> PyResult<()> {
    for place in places {
        place.set(result).map_err(errors::run)?;
    }
    Ok(())
}

fn run(py: Python<'_>, program: &Program, inputs: &[Inner], batch: &Trace) -> PyResult<Vec<Inner>> {
    let on = batch.device();
    let (bound, resident) = program.bound_by_name(inputs, on, batch.is_lazy())?;
    let settings = Settings {
        threads: device::threads(None)?,
        place: crate::device::Place {
            device: on,
            peers: Vec::new(),
        },
        resident,
        ..Settings::default()
    };
    let done = Run::start(py, program, &bound, settings)?;
    Ok(done.into_tensors())
}

/// The results that do not depend on the call that fails, computed call by call.
fn replayed(
    py: Python<'_>,
    program: &Program,
    inputs: &[Inner],
    batch: &Trace,
) -> PyResult<Vec<Option<Inner>>> {
    let real = |tensor: &Inner| tensor.real("an operand of a batch").cloned();
    let inputs = inputs.iter().map(real).collect::<PyResult<Vec<_>>>()?;
    let results = program.replay(py, &inputs)?.into_iter();
    let to = batch.is_lazy().then(|| batch.device());
    let placed = results.map(|result| {
        let real = result.map(Inner::Real)?;
        // Where the device does nothing any more, the result is lost with it.
        on_device::moved(py, &real, to).ok()
    });
    Ok(placed.collect())
}

/// Starts to collect calls on this thread, which run on a device, or where the batch around does;
/// false if a batch collects already.
///
/// # Errors
/// TraceError inside a function that is being traced, or in a batch on another device.
#[pyfunction]
#[pyo3(signature = (device=None))]
pub fn batch_begin(py: Python<'_>, device: Option<&str>) -> PyResult<bool> {
    let on = device.map(crate::device::named).transpose()?;
    begin_batch(device::isa(py)?, on).map_err(errors::traced)
}

/// Ends the batch of this thread: runs what waits, unless it is abandoned.
#[pyfunction]
pub fn batch_end(py: Python<'_>, abandon: bool) -> PyResult<()> {
    match end_batch() {
        Some(batch) if abandon => {
            batch.abandon();
            Ok(())
        }
        Some(batch) => flush(py, &batch),
        None => Ok(()),
    }
}

/// Adds these functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(batch_begin, module)?)?;
    module.add_function(wrap_pyfunction!(batch_end, module)?)?;
    module.add_function(wrap_pyfunction!(input_when_met, module)?)?;
    module.add_function(wrap_pyfunction!(trace, module)?)?;
    module.add_function(wrap_pyfunction!(unrecorded, module)?)
}
