//! Devices held to references, and programs compared between devices: reports are JSON.

use crate::device::{self, Count};
use crate::errors;
use crate::functions::Pythons;
use crate::guard::unlocked;
use crate::program::{Program, lend};
use crate::tensor::{self, Inner};
use cloakwork_conformance as conformance;
use cloakwork_conformance::{
    Comparing, Comparison, Conformance, Difference, Failure, OpHeld, Place, Reference, Refused,
    Shows, Side, Sized, Speed, Trying,
};
use cloakwork_devices::Drivers;
use cloakwork_ir::{HostSlot, text};
use cloakwork_run::Functions;
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Elements of a program's data beyond which a report has no text of it.
const MOST_ELEMENTS: u64 = 1 << 12;

/// Whether to continue, as Python's signals and a callback say.
struct Asking {
    progress: Option<Py<PyAny>>,
    stopped: Option<PyErr>,
}

impl Asking {
    fn go_on(&mut self) -> bool {
        self.heard(|_, _| Ok(()))
    }

    fn case(&mut self, at: conformance::Progress) -> bool {
        let (round, rounds) = at.round;
        self.heard(|py, progress| {
            progress
                .call1(py, (at.cases, round, rounds, at.op))
                .map(drop)
        })
    }

    fn heard(&mut self, tell: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<()>) -> bool {
        let heard = Python::attach(|py| {
            py.check_signals()?;
            self.progress
                .as_ref()
                .map_or(Ok(()), |progress| tell(py, progress))
        });
        self.stopped = self.stopped.take().or(heard.err());
        self.stopped.is_none()
    }

    /// The result of work that asked.
    fn told<T>(self, done: Result<T, Refused>) -> PyResult<T> {
        match (self.stopped, done) {
            (Some(stopped), _) => Err(stopped),
            (None, Ok(done)) => Ok(done),
            (None, Err(Refused::Plan(error))) => Err(errors::plan(error)),
            (None, Err(Refused::Run(error))) => Err(errors::run(error)),
            (None, Err(Refused::Internal(text))) => Err(errors::internal(text)),
        }
    }
}

fn side(py: Python<'_>, name: &str, threads: usize) -> PyResult<Side> {
    Ok(Side {
        device: device::named(name)?,
        drivers: Drivers::default(),
        isa: device::isa(py)?,
        threads,
        functions: None,
        wipe: false,
    })
}

/// Compares a program between two devices: a report, and the steps that show the first difference
/// as a program, unless an input is secret.
#[pyfunction]
#[pyo3(signature = (program, inputs, *, device, reference, repeat, threads=None, functions=None,
                    secret=false))]
#[expect(clippy::too_many_arguments, reason = "one a keyword")]
pub fn diff(
    py: Python<'_>,
    program: &Program,
    inputs: &Bound<'_, PyList>,
    device: &str,
    reference: &str,
    repeat: u32,
    threads: Option<Count>,
    functions: Option<Vec<(String, Py<PyAny>)>>,
    secret: bool,
) -> PyResult<(String, Option<Program>)> {
    let threads = device::threads(threads)?;
    let given = tensor::tensors(inputs)?;
    let secret = secret || given.iter().any(Inner::is_secret);
    let inputs = program.bind(&given.iter().map(lend).collect::<PyResult<Vec<_>>>()?)?;
    let pythons = functions.map(|functions| Arc::new(Pythons::new(functions)));
    let sided = |name| {
        side(py, name, threads).map(|side| Side {
            functions: pythons.clone().map(|own| own as Arc<dyn Functions>),
            wipe: secret,
            ..side
        })
    };
    let comparing = Comparing {
        repeat,
        ..Comparing::new(sided(device)?, sided(reference)?)
    };
    let verified = program.verified(py)?;
    let mut asking = Asking {
        progress: None,
        stopped: None,
    };
    let done = unlocked(py, || {
        conformance::diff(&verified, &inputs, &comparing, &mut || asking.go_on())
    })?;
    let mut found = asking.told(done).map_err(|error| match &pythons {
        Some(pythons) => pythons.told(error),
        None => error,
    })?;
    let report = of_comparison(&found, secret).to_string();
    let shown = found.difference.take().filter(|_| !secret);
    Ok((
        report,
        shown.map(|difference| Program::new(difference.program)),
    ))
}

/// Holds a device to the references of all ops that it claims: a report.
#[pyfunction]
#[pyo3(signature = (device, *, seed, ops, rounds, seconds, speed, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one a keyword")]
pub fn conform(
    py: Python<'_>,
    device: &str,
    seed: u64,
    ops: BTreeSet<String>,
    rounds: usize,
    seconds: f64,
    speed: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    // A driver that is loaded here brings ops of its own.
    let (device, host) = (side(py, device, 1)?, side(py, device::CPU, 1)?);
    let known: BTreeSet<&str> = conformance::ops_held().map(|def| def.name).collect();
    if let Some(unknown) = ops.iter().find(|op| !known.contains(op.as_str())) {
        let allowed = "ops that are computed and have a reference: docs/ops.md lists them";
        return Err(errors::param("ops", unknown, allowed));
    }
    let mut asking = Asking {
        progress,
        stopped: None,
    };
    let done = unlocked(py, || {
        let mut trying = Trying {
            device,
            host,
            seed,
            ops,
            rounds,
            budget: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            speed,
            progress: &mut |at| asking.case(at),
        };
        conformance::conform(&mut trying).map(|found| of_conformance(&found).to_string())
    })?;
    asking.told(done)
}

fn of_comparison(found: &Comparison, secret: bool) -> Value {
    json!({
        "compared": found.compared,
        "rounded": found.rounded,
        "unjudged": found.unjudged,
        "windows": found.windows,
        "difference": found.difference.as_ref().map(|one| of_difference(one, secret)),
    })
}

fn of_difference(found: &Difference, secret: bool) -> Value {
    let unequal = found.unequal.as_ref();
    let shown = |text: &String| (!secret).then(|| text.clone());
    let (alone, first, last) = match found.shows {
        Shows::Alone => (true, found.step, found.step),
        Shows::Together { first, last } => (false, first, last),
    };
    let place = match found.place {
        Place::Result => "result",
        Place::BesideResult => "beside the result",
        Place::Other(_) => "another tensor",
    };
    json!({
        "step": found.step,
        "op": found.op,
        "part": found.part,
        "kernels": found.kernels,
        "segment": found.segment,
        "name": found.name,
        "place": place,
        "last_written": match found.place {
            Place::Other(step) => Some(step),
            _ => None,
        },
        "index": unequal.map(|unequal| unequal.index.clone()),
        "got": unequal.and_then(|unequal| shown(&unequal.got)),
        "expected": unequal.and_then(|unequal| shown(&unequal.expected)),
        "different": unequal.map_or(0, |unequal| unequal.different),
        "total": unequal.map_or(0, |unequal| unequal.total),
        "failed": found.failed.as_ref().map(|text| match secret {
            true => "the run failed".to_owned(),
            false => text.clone(),
        }),
        "alone": alone,
        "first_step": first,
        "last_step": last,
        "wrong_runs": found.wrong_runs,
        "runs": found.runs,
    })
}

fn of_failure(failure: &Failure) -> Value {
    let mut found = of_difference(&failure.difference, false);
    let against = match failure.against {
        Reference::OfOp => "the reference of the op",
        Reference::Host => "the host",
        Reference::OneRun => "a run without another at the same time",
    };
    let program = &failure.difference.program;
    let data = program.hosts.iter().filter_map(|slot| match slot {
        HostSlot::Data(tensor) => Some(tensor.view().shape.elements()),
        _ => None,
    });
    let is_short = data.sum::<u64>() <= MOST_ELEMENTS;
    if let Some(fields) = found.as_object_mut() {
        fields.insert("against".to_owned(), against.into());
        let call = is_short.then(|| text::print(program));
        fields.insert("program".to_owned(), call.into());
    }
    found
}

fn of_speed(speed: &Speed) -> Value {
    json!({
        "elements": speed.elements,
        "bytes": speed.bytes,
        "device_ns": speed.device_ns,
        "host_ns": speed.host_ns,
        "kernels": speed.kernels,
    })
}

fn of_op(op: &OpHeld) -> Value {
    json!({
        "op": op.def.name,
        "family": op.def.family.name(),
        "cases": op.cases,
        "by_reference": op.by_reference,
        "by_portable": op.by_portable,
        "refused": op.refused,
        "kernels": op.kernels,
        "failure": op.failure.as_ref().map(of_failure),
        "speeds": op.speeds.iter().map(of_speed).collect::<Vec<_>>(),
    })
}

fn of_sizes((kernel, sized): (&&str, &Sized)) -> (String, Value) {
    let Sized { tried, of } = sized;
    ((*kernel).to_owned(), json!({ "tried": tried, "of": of }))
}

fn of_conformance(found: &Conformance) -> Value {
    json!({
        "ops": found.ops.iter().map(of_op).collect::<Vec<_>>(),
        "unclaimed": found.unclaimed,
        "untried": found.untried,
        "unreached": found.unreached,
        "shadowed": found.shadowed,
        "sizes": found.sizes.iter().map(of_sizes).collect::<serde_json::Map<_, _>>(),
        "programs": found.programs,
        "program_steps": found.program_steps,
        "program_failure": found.program_failure.as_ref().map(of_failure),
        "rounds": found.rounds,
        "is_cut": found.is_cut,
    })
}
