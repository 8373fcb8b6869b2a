//! Which devices there are, how many threads and which instructions to use.

use crate::{errors, numbers};
use cloakwork_kernels::{Isa, available_isas, choose_isa};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The environment variable that says how many threads to use.
const THREADS_VARIABLE: &str = "CLOAKWORK_THREADS";
/// The environment variable that names a backend.
const BACKEND_VARIABLE: &str = "CLOAKWORK_BACKEND";
/// More than any machine has; a larger number is a slip.
const MAX_THREADS: usize = 4096;
/// What was chosen by a call; 0 where nothing was.
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// One more than the number of the set that is in use; 0 where nobody asked yet.
static ISA: AtomicU32 = AtomicU32::new(0);
/// The device that is always there.
pub const CPU: &str = "cpu";
const NAMES: [&str; 1] = [CPU];

/// Refuses a device that is not there.
pub fn check(name: &str) -> PyResult<()> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(Python::attach(|py| {
        errors::make(py, "DeviceError", (name, NAMES.to_vec()))
    }))
}

/// A number of threads as Python gives it: one that no integer here holds is as wrong as 0.
pub struct Count(usize);

impl<'a, 'py> FromPyObject<'a, 'py> for Count {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                errors::param("threads", object.to_string(), &allowed())
            } else {
                error
            }
        })
    }
}

fn allowed() -> String {
    format!("1 to {MAX_THREADS}")
}

/// How many threads to use: as given, else as the environment says, else one a core.
pub fn threads(given: Option<Count>) -> PyResult<usize> {
    let allowed = allowed();
    let check = |rule, count: usize| {
        let fits = (1..=MAX_THREADS).contains(&count);
        fits.then_some(count)
            .ok_or_else(|| errors::param(rule, count, &allowed))
    };
    if let Some(Count(count)) = given {
        return check("threads", count);
    }
    let chosen = THREADS.load(Ordering::Relaxed);
    if chosen != 0 {
        return Ok(chosen);
    }
    match std::env::var(THREADS_VARIABLE) {
        Err(_) => Ok(cores()),
        Ok(text) => match text.trim().parse() {
            Ok(count) => check(THREADS_VARIABLE, count),
            Err(_) => Err(errors::param(THREADS_VARIABLE, text, &allowed)),
        },
    }
}

/// Cores that this process may use. Asking the system takes longer than a small op does.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(cloakwork_run::default_threads)
}

/// The instruction set to use: as `select_isa` said, else as the environment did when it was first
/// asked, else the best.
pub fn isa() -> PyResult<Isa> {
    let chosen = ISA.load(Ordering::Relaxed);
    if let Some(isa) = chosen.checked_sub(1).and_then(Isa::from_abi) {
        return Ok(isa);
    }
    let isa = match backend()? {
        Some(isa) => Ok(isa),
        None => choose_isa(),
    };
    let isa = isa.map_err(|error| {
        let allowed = format!("one of {}, or unset", error.available);
        errors::param(cloakwork_kernels::ISA_VARIABLE, &error.value, &allowed)
    })?;
    ISA.store(isa as u32 + 1, Ordering::Relaxed);
    Ok(isa)
}

/// The instruction set that the environment's backend names, if it names one.
fn backend() -> PyResult<Option<Isa>> {
    let Ok(name) = std::env::var(BACKEND_VARIABLE) else {
        return Ok(None);
    };
    let isas = available_isas();
    match name.as_str() {
        "" | "auto" | "cpu" | "cpu_simd" => return Ok(None),
        gpu if gpu == "gpu" || gpu.starts_with("cuda") => check(gpu)?,
        _ => {}
    }
    let wanted = name.strip_prefix("cpu_");
    let found = isas.iter().find(|isa| Some(isa.name()) == wanted);
    found.copied().map(Some).ok_or_else(|| {
        let names: Vec<String> = isas.iter().map(|isa| format!("cpu_{isa}")).collect();
        let allowed = format!("auto, cpu, cpu_simd, {}", names.join(", "));
        errors::param(BACKEND_VARIABLE, &name, &allowed)
    })
}

/// Use this instruction set from now on; None: what the environment says, or the best.
#[pyfunction]
#[pyo3(signature = (name))]
pub fn select_isa(name: Option<&str>) -> PyResult<()> {
    let chosen = match name {
        None => 0,
        Some(name) => {
            let found = available_isas().into_iter().find(|isa| isa.name() == name);
            let isa = found.ok_or_else(|| {
                let names: Vec<&str> = available_isas().into_iter().map(Isa::name).collect();
                errors::param("isa", name, &format!("one of {}", names.join(", ")))
            })?;
            isa as u32 + 1
        }
    };
    ISA.store(chosen, Ordering::Relaxed);
    numbers::forget_kernels();
    Ok(())
}

/// Use so many threads from now on; None: what the environment says, or one a core.
#[pyfunction]
#[pyo3(signature = (count))]
pub fn set_threads(count: Option<Count>) -> PyResult<()> {
    let count = match count {
        None => 0,
        given => threads(given)?,
    };
    THREADS.store(count, Ordering::Relaxed);
    Ok(())
}

/// How many threads calls use at most.
#[pyfunction]
pub fn get_threads() -> PyResult<usize> {
    threads(None)
}

/// Bytes of tensors and of what programs run in: in use, the most so far, kept for reuse.
#[pyfunction]
pub fn memory_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = cloakwork_run::memory_stats();
    let found = PyDict::new(py);
    found.set_item("live_bytes", stats.live_bytes)?;
    found.set_item("peak_bytes", stats.peak_bytes)?;
    found.set_item("cached_bytes", stats.cached_bytes)?;
    Ok(found)
}

/// What this thread's last eager call ran: kernel, units, threads, and the launches so far.
#[pyfunction]
pub fn last_dispatch() -> Option<(&'static str, u64, usize, u64)> {
    let last = cloakwork_run::last_dispatch()?;
    Some((last.kernel, last.units, last.threads, last.launches))
}

/// Gives cached memory back to the system, and counts peaks anew.
#[pyfunction]
pub fn release_cached() {
    cloakwork_run::release_cached();
}

/// The devices of this machine: a dict each.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let cpu = PyDict::new(py);
    cpu.set_item("name", NAMES[0])?;
    cpu.set_item("isa", isa()?.name())?;
    let available: Vec<&str> = available_isas().into_iter().map(Isa::name).collect();
    cpu.set_item("available_isas", available)?;
    cpu.set_item("threads", threads(None)?)?;
    Ok(vec![cpu])
}
