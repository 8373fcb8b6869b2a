//! Drivers that this process has loaded.

use crate::device::CPU;
use crate::errors;
use crate::guard::unlocked;
use cloakwork_devices::{
    Capabilities, DeviceError, Driver, Drivers, cuda, file_of, isolate, load, ops_of,
};
use cloakwork_ir::{Device, DriverName};
use cloakwork_ops::custom::registered;
use cloakwork_ops::{OpDef, Param, ParamKind};
use cloakwork_verify::declare;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many devices of a driver are listed by name.
const LISTED: u32 = 16;

/// The refusal of a device that nobody has: it lists those that there are.
pub fn unknown_device(name: &str) -> PyErr {
    Python::attach(|py| errors::make(py, "DeviceError", (name, names())))
}

/// The refusal of a GPU, with the reason.
pub fn refused_gpu(name: &str, reason: &str) -> PyErr {
    Python::attach(|py| errors::make(py, "DeviceError", (name, names(), reason)))
}

/// Why `cuda:<index>` cannot be used; None if it can, and GPUs have names from then on.
#[pyfunction]
pub fn cuda_reason(py: Python<'_>, index: u16) -> PyResult<Option<String>> {
    unlocked(py, || cuda(u32::from(index)).err().map(reason_of))
}

/// The reason of an error alone.
fn reason_of(error: DeviceError) -> String {
    match error {
        DeviceError::Device { reason, .. } | DeviceError::Driver { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// A driver that cannot be used.
pub fn refused(error: &DeviceError) -> PyErr {
    let (name, reason) = match error {
        DeviceError::Driver { name, reason } => (name.clone(), reason.clone()),
        other => (String::new(), other.to_string()),
    };
    Python::attach(|py| errors::make(py, "DriverError", (name, reason)))
}

/// The devices on which programs run.
fn names() -> Vec<String> {
    let fixed = [CPU.to_owned(), "sim:<i>".to_owned()];
    let loaded = DriverName::all().flat_map(devices_of);
    fixed.into_iter().chain(loaded).collect()
}

/// The names of a driver's devices.
fn devices_of(name: DriverName) -> Vec<String> {
    let count = driver_of(name).count();
    let listed = (0..count.min(LISTED)).map(|index| format!("{name}:{index}"));
    match count {
        u32::MAX => vec![format!("{name}:<i>")],
        _ => listed.collect(),
    }
}

fn driver_of(name: DriverName) -> &'static Driver {
    Drivers::default().of(Device::Loaded(name, 0)).0
}

/// Load the driver of a shared library; returns its name.
#[pyfunction]
pub fn load_driver(file: PathBuf) -> PyResult<&'static str> {
    // SAFETY: the user's promise: the library keeps the contract of `device.h`.
    let name = unsafe { load(&file) };
    name.map(DriverName::as_str)
        .map_err(|error| refused(&error))
}

/// Load a driver in a process of its own: that of a shared library, or of GPUs where the file is
/// `cuda:<index>`. Returns its name. A call that takes more seconds than the limit ends the
/// process. `program` is the command line of the process.
#[pyfunction]
pub fn load_isolated(
    py: Python<'_>,
    file: PathBuf,
    limit: Option<f64>,
    program: Vec<OsString>,
) -> PyResult<&'static str> {
    let mut words = program.into_iter();
    let program = isolate::Program {
        file: words.next().unwrap_or_default(),
        arguments: words.collect(),
    };
    isolate::set_program(program);
    let limit = limit.map(Duration::from_secs_f64);
    if let Some(index) = gpu_of(&file) {
        let name = py.detach(|| isolate::cuda(index, limit));
        let refused = |error| refused_gpu(&file.to_string_lossy(), &reason_of(error));
        return name.map(DriverName::as_str).map_err(refused);
    }
    let name = py.detach(|| isolate::load(&file, limit));
    name.map(DriverName::as_str)
        .map_err(|error| refused(&error))
}

/// The number of a GPU that is named as a device is.
fn gpu_of(file: &Path) -> Option<u32> {
    file.to_str()?.strip_prefix("cuda:")?.parse().ok()
}

/// Serve a driver in a process of its own, for the parent with this process number; never returns.
#[pyfunction]
pub fn serve_driver(py: Python<'_>, parent: i32) {
    py.detach(|| isolate::serve(parent))
}

/// The declarations of ops that a library exports, if it does.
#[pyfunction]
pub fn driver_ops(file: PathBuf) -> PyResult<Option<String>> {
    // SAFETY: as `load_driver`.
    unsafe { ops_of(&file) }.map_err(|error| refused(&error))
}

/// Make the ops of a file of declarations known; returns their names.
#[pyfunction]
pub fn declare_ops(py: Python<'_>, text: &str, file: &str) -> PyResult<Vec<&'static str>> {
    let declared = unlocked(py, || declare(text, file))?;
    let declared = declared.map_err(|error| {
        let parts = (error.file, error.line, error.expected, error.got);
        errors::make(py, "DeclarationError", parts)
    })?;
    Ok(declared.into_iter().map(|def| def.name).collect())
}

/// A parameter of a vendor's op: its name, and whether it may be left out, for which value.
type Parameter = (&'static str, bool, Option<i64>);

/// The vendors' ops that are known: name, definition, file and parameters.
#[pyfunction]
pub fn declared_ops() -> Vec<(&'static str, &'static str, &'static str, Vec<Parameter>)> {
    let parameter = |param: &Param| {
        let may_miss = param.kind == ParamKind::Out || param.default.is_some();
        (param.name, may_miss, param.default)
    };
    let about = |def: &'static OpDef| {
        let file = def.custom().map_or("", |custom| custom.file.as_str());
        (
            def.name,
            def.doc,
            file,
            def.params.iter().map(parameter).collect(),
        )
    };
    registered().into_iter().map(about).collect()
}

/// The drivers that are loaded: a dict each.
#[pyfunction]
pub fn loaded_drivers(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let about = |name: DriverName| {
        let driver = driver_of(name);
        let found = PyDict::new(py);
        found.set_item("name", name.as_str())?;
        found.set_item("file", file_of(name).map(Path::as_os_str))?;
        found.set_item("devices", devices_of(name))?;
        let mut kernels: Vec<&str> = driver.rows().all().iter().map(|row| row.kernel).collect();
        kernels.sort_unstable();
        kernels.dedup();
        found.set_item("kernels", kernels)?;
        found.set_item("takes_segments", driver.has(Capabilities::SEGMENTS))?;
        found.set_item("isolated", isolate::is_apart(driver))?;
        Ok(found)
    };
    DriverName::all().map(about).collect()
}
