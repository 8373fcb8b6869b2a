//! Which devices there are, how many threads and which instructions to use.

use crate::{drivers, errors, guard, on_device};
use cloakwork_devices::Drivers;
use cloakwork_ir::Device;
use cloakwork_kernels::{Isa, choose_isa};
use cloakwork_process::Once;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The environment variable that says how many threads to use.
const THREADS_VARIABLE: &str = "CLOAKWORK_THREADS";
/// The environment variable that names a backend.
const BACKEND_VARIABLE: &str = "CLOAKWORK_BACKEND";
/// More than any machine has; a larger number is a slip.
const MAX_THREADS: usize = 4096;
/// The number of threads that `set_threads` chose; 0 for none.
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// The set that all calls use, and [`KNOWN`]; 0 before the first query, or [`BY_CONTEXT`].
static ISA: AtomicU64 = AtomicU64::new(0);
/// The bit that distinguishes a set, which may be empty, from none.
const KNOWN: u64 = 1 << 63;
/// An instruction set has been selected: since then each call asks its context.
const BY_CONTEXT: u64 = 1;
/// As the environment said when it was first asked; held as in `ISA`.
static ENVIRONMENT: AtomicU64 = AtomicU64::new(0);
/// `get` of the context variable that Python's `select_backend` sets: None, or a tuple that begins
/// with the name of an instruction set, or with None.
static CONTEXT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// The device that is always there.
pub const CPU: &str = "cpu";
/// A device on which programs run, by its name, or by the file of its driver.
pub fn named(name: &str) -> PyResult<Device> {
    if let Some(device) = known(name) {
        return Ok(device);
    }
    if let Some(index) = name
        .strip_prefix("cuda:")
        .and_then(|index| index.parse().ok())
    {
        let reason = Python::attach(|py| drivers::cuda_reason(py, index))?;
        return match (reason, known(name)) {
            (Some(reason), _) => Err(drivers::refused_gpu(name, &reason)),
            (None, Some(device)) => Ok(device),
            (None, None) => Err(drivers::unknown_device(name)),
        };
    }
    let resolved: String = Python::attach(|py| {
        let module = py.import("cloakwork.device.loading")?;
        module.getattr("resolve")?.call1((name,))?.extract()
    })?;
    known(&resolved).ok_or_else(|| drivers::unknown_device(name))
}

/// Where a program runs that names no device itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The device, or the first one.
    pub device: Device,
    /// Further devices, equal to it.
    pub peers: Vec<Device>,
}

impl Place {
    /// The devices of names with commas between: "sim:0,sim:1".
    pub fn named(names: &str) -> PyResult<Self> {
        let devices = split(names)?.into_iter().map(|name| named(name.trim()));
        let devices = devices.collect::<PyResult<Vec<Device>>>()?;
        let driver = |device: &Device| Drivers::default().of(*device).0.name();
        let (device, peers) = devices.split_first().map_or_else(
            || (Device::Cpu, Vec::new()),
            |(first, peers)| (*first, peers.to_vec()),
        );
        let is_equal = |peer: &Device| driver(peer) == driver(&device);
        let repeats = (1..devices.len()).any(|i| devices[..i].contains(&devices[i]));
        if repeats || !peers.iter().all(is_equal) {
            let expected = "different devices of one driver, such as sim:0,sim:1; the processor \
                            takes part in any case";
            return Err(errors::param("device", names.to_owned(), expected));
        }
        Ok(Self { device, peers })
    }
}

/// The names between commas; Python knows which files have commas in their paths.
fn split(names: &str) -> PyResult<Vec<String>> {
    if !names.contains(',') {
        return Ok(vec![names.to_owned()]);
    }
    Python::attach(|py| {
        let module = py.import("cloakwork.device.loading")?;
        module.getattr("split_names")?.call1((names,))?.extract()
    })
}

/// The device of a name, if its driver has it.
fn known(name: &str) -> Option<Device> {
    let device = Device::from_name(name)?;
    let drivers = Drivers::default();
    let (driver, index) = drivers.of(device);
    (drivers.run_on(device) && index < driver.count()).then_some(device)
}

/// The refusal of a device that cannot hold tensors.
pub fn cannot_hold(name: &str) -> PyErr {
    let known = format!("{CPU}, or a device with memory of its own, such as sim:0");
    Python::attach(|py| errors::make(py, "DeviceError", (name, vec![known])))
}

/// Refuses a device that cannot hold tensors.
#[pyfunction]
#[pyo3(name = "check_device")]
pub fn check(name: &str) -> PyResult<()> {
    on_device::holder(name).map(drop)
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
    if let Some(Count(count)) = given {
        return checked("threads", count);
    }
    let chosen = THREADS.load(Ordering::Relaxed);
    if chosen != 0 {
        return Ok(chosen);
    }
    match std::env::var(THREADS_VARIABLE) {
        Err(_) => Ok(cores()),
        Ok(text) => match text.trim().parse() {
            Ok(count) => checked(THREADS_VARIABLE, count),
            Err(_) => Err(errors::param(THREADS_VARIABLE, text, &allowed())),
        },
    }
}

fn checked(rule: &str, count: usize) -> PyResult<usize> {
    let fits = (1..=MAX_THREADS).contains(&count);
    fits.then_some(count)
        .ok_or_else(|| errors::param(rule, count, &allowed()))
}

/// Cores that this process may use. Asking the system takes longer than a small op does.
fn cores() -> usize {
    static CORES: Once<usize> = Once::new();
    *CORES.get_or_init(cloakwork_process::default_threads)
}

/// The instruction set to use: as was selected in this context, else as the environment says, else
/// the best.
#[inline]
pub fn isa(py: Python<'_>) -> PyResult<Isa> {
    match held(ISA.load(Ordering::Relaxed)) {
        Some(isa) => Ok(isa),
        None => asked(py),
    }
}

/// The instruction set to use, for callers that hold Python's lock without a token.
pub fn selected() -> PyResult<Isa> {
    Python::attach(isa)
}

/// The set that a word holds, if it holds one.
fn held(word: u64) -> Option<Isa> {
    match word & KNOWN {
        0 => None,
        _ => Isa::from_bits(word & !KNOWN),
    }
}

#[cold]
fn asked(py: Python<'_>) -> PyResult<Isa> {
    if ISA.load(Ordering::Relaxed) == BY_CONTEXT
        && let Some(isa) = of_context(py)?
    {
        return Ok(isa);
    }
    let isa = match held(ENVIRONMENT.load(Ordering::Relaxed)) {
        Some(isa) => isa,
        None => of_environment()?,
    };
    let word = isa.bits() | KNOWN;
    ENVIRONMENT.store(word, Ordering::Relaxed);
    // A selection that another thread makes meanwhile stays.
    let _ = ISA.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed);
    Ok(isa)
}

/// The set that is selected in this context: a thread's, or a task's.
fn of_context(py: Python<'_>) -> PyResult<Option<Isa>> {
    let Some(get) = CONTEXT.get(py) else {
        return Ok(None);
    };
    let chosen = get.bind(py).call0()?;
    if chosen.is_none() {
        return Ok(None);
    }
    let first = chosen.cast::<PyTuple>()?.get_item(0)?;
    if first.is_none() {
        return Ok(None);
    }
    let name: &str = first.extract()?;
    Ok(Isa::from_name(name).filter(|isa| isa.is_available()))
}

fn of_environment() -> PyResult<Isa> {
    let isa = match backend()? {
        Some(isa) => Ok(isa),
        None => choose_isa(),
    };
    isa.map_err(|error| {
        let allowed = format!("one of {}, or unset", error.available);
        errors::param(cloakwork_kernels::ISA_VARIABLE, &error.value, &allowed)
    })
}

/// The instruction set that the environment's backend names, if it names one.
fn backend() -> PyResult<Option<Isa>> {
    let Ok(name) = std::env::var(BACKEND_VARIABLE) else {
        return Ok(None);
    };
    let isas = cloakwork_kernels::available_isas();
    match name.as_str() {
        "" | "auto" | "cpu" | "cpu_simd" => return Ok(None),
        gpu if gpu == "gpu" || gpu.starts_with("cuda") => check(gpu)?,
        _ => {}
    }
    let wanted = name.strip_prefix("cpu_").and_then(Isa::from_name);
    let found = wanted.filter(|isa| isas.contains(isa));
    found.map(Some).ok_or_else(|| {
        let names: Vec<String> = isas.iter().map(|isa| format!("cpu_{isa}")).collect();
        let allowed = format!("auto, cpu, cpu_simd, {}", names.join(", "));
        errors::param(BACKEND_VARIABLE, &name, &allowed)
    })
}

/// Adds what is set and told of calls on the host, and the context variable of `select_backend`.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(available_isas, module)?)?;
    module.add_function(wrap_pyfunction!(processor_isas, module)?)?;
    module.add_function(wrap_pyfunction!(get_threads, module)?)?;
    module.add_function(wrap_pyfunction!(last_dispatch, module)?)?;
    module.add_function(wrap_pyfunction!(memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(release_cached, module)?)?;
    module.add_function(wrap_pyfunction!(set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(set_thresholds, module)?)?;
    module.add_function(wrap_pyfunction!(thresholds, module)?)?;
    let py = module.py();
    let default = PyDict::new(py);
    default.set_item("default", py.None())?;
    let class = py.import("contextvars")?.getattr("ContextVar")?;
    let variable = class.call(("cloakwork_backend",), Some(&default))?;
    CONTEXT.get_or_try_init(py, || variable.getattr("get").map(Bound::unbind))?;
    module.add("selected_backend", variable)?;
    module.add_function(wrap_pyfunction!(ask_context, module)?)
}

/// Each call asks its context from now on which instruction set was selected there.
#[pyfunction]
fn ask_context() {
    ISA.store(BY_CONTEXT, Ordering::Relaxed);
}

/// Instruction sets with kernels that run here, the best last.
#[pyfunction]
pub fn available_isas() -> Vec<String> {
    let isas = cloakwork_kernels::available_isas();
    isas.iter().map(Isa::to_string).collect()
}

/// Instruction sets that the processor has, whether this build has kernels for them or not.
#[pyfunction]
fn processor_isas() -> Vec<String> {
    let isas = cloakwork_kernels::processor_isas();
    isas.map(|isa| isa.to_string()).collect()
}

/// Set the number of threads; None: the environment's number, or one per core.
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

/// The weights from which calls release Python's lock, and from which they are divided between
/// threads: nanoseconds on one core, or elements of element-wise calls.
#[pyfunction]
pub fn thresholds() -> (u64, u64) {
    (guard::release_ns(), 2 * cloakwork_run::split_ns())
}

/// Sets both.
#[pyfunction]
pub fn set_thresholds(release: u64, parallel: u64) {
    guard::set_release_ns(release);
    cloakwork_run::set_split_ns(parallel / 2);
}

/// Bytes of tensors and arenas: in use, at most so far, kept for reuse.
#[pyfunction]
pub fn memory_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = cloakwork_run::memory_stats();
    let found = PyDict::new(py);
    found.set_item("live_bytes", stats.live_bytes)?;
    found.set_item("peak_bytes", stats.peak_bytes)?;
    found.set_item("cached_bytes", stats.cached_bytes)?;
    Ok(found)
}

/// The last launch of this thread's eager calls: kernel, units, threads, and the launches so far.
#[pyfunction]
pub fn last_dispatch() -> Option<(&'static str, u64, usize, u64)> {
    let last = cloakwork_run::last_dispatch()?;
    Some((last.kernel, last.units, last.threads, last.launches))
}

/// Gives cached memory back to the system, and counts peaks anew.
#[pyfunction]
pub fn release_cached() {
    on_device::release();
    cloakwork_run::release_cached();
}

/// The devices of this machine: a dict each.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let cpu = PyDict::new(py);
    cpu.set_item("name", CPU)?;
    cpu.set_item("isa", isa(py)?.to_string())?;
    cpu.set_item("available_isas", available_isas())?;
    cpu.set_item("threads", threads(None)?)?;
    Ok(vec![cpu])
}
