//! Drivers from shared libraries.

use crate::abi::{RawDriver, RawFunctions, RawSegmentFunctions};
use crate::driver::{DeviceError, other_version};
use crate::{Capabilities, Driver, loaded};
use cloakwork_ir::DriverName;
use libloading::Library;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

/// The symbol that a library exports: `CW_DRIVER_TABLE_SYMBOL`.
const SYMBOL: &str = "cw_driver_table";
/// `cw_driver_table_fn`.
type TableFn = unsafe extern "C" fn() -> *const RawDriver;

/// The symbol of the declarations of ops: `CW_DRIVER_OPS_SYMBOL`.
const OPS_SYMBOL: &str = "cw_driver_ops";
/// `cw_driver_ops_fn`.
type OpsFn = unsafe extern "C" fn() -> *const c_char;

/// Loads the driver of a shared library: its devices can be named from then on, by every program
/// of the process. A file that is loaded already gives the same driver. It is never unloaded.
///
/// # Errors
/// [`DeviceError::Driver`], with the file as the name: no shared library, one without the symbol,
/// a table of another version or one that contradicts itself, or a name that another driver has.
///
/// # Safety
/// Loading runs the library's code, and its functions keep the contract of `device.h`.
pub unsafe fn load(file: &Path) -> Result<DriverName, DeviceError> {
    let refused = |reason: String| DeviceError::Driver {
        name: file.display().to_string(),
        reason,
    };
    let path = std::path::absolute(file).and_then(std::fs::canonicalize);
    let path = path.map_err(|error| refused(format!("cannot be read: {error}")))?;
    if let Some(known) = loaded::of_file(&path) {
        return Ok(known);
    }
    // SAFETY: the caller's promise.
    let table = unsafe { table_of(&path) }.map_err(&refused)?;
    // SAFETY: the words of the table have been looked at; what they lead to is the caller's
    // promise.
    let driver = unsafe { Driver::new(table) }.map_err(|error| match error {
        DeviceError::Driver { reason, .. } => refused(reason),
        other => other,
    })?;
    if let Some(symbol) = repeated(&driver) {
        let reason =
            format!("expected a symbol of its own for each kernel row, got {symbol} twice");
        return Err(refused(reason));
    }
    register(driver, Some(path)).map_err(|error| match error {
        DeviceError::Driver { reason, .. } => refused(reason),
        other => other,
    })
}

/// The declarations of ops that a library exports, if it does: the text of a file of declarations.
///
/// # Errors
/// As [`load`], or the text is not UTF-8.
///
/// # Safety
/// As [`load`].
pub unsafe fn ops_of(file: &Path) -> Result<Option<String>, DeviceError> {
    let refused = |reason: String| DeviceError::Driver {
        name: file.display().to_string(),
        reason,
    };
    let path = std::path::absolute(file).and_then(std::fs::canonicalize);
    let path = path.map_err(|error| refused(format!("cannot be read: {error}")))?;
    // SAFETY: the caller's promise.
    let library = unsafe { Library::new(path) };
    let library =
        library.map_err(|error| refused(format!("cannot be loaded: {}", words(&error))))?;
    // SAFETY: the symbol has the type of the header.
    let Ok(ops) = (unsafe { library.get::<OpsFn>(OPS_SYMBOL.as_bytes()) }) else {
        return Ok(None);
    };
    // SAFETY: the caller's promise.
    let text = unsafe { ops() };
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as above: a string, which is copied.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    let text =
        text.map_err(|_| refused(format!("expected UTF-8 of {OPS_SYMBOL}, got other bytes")))?;
    Ok(Some(text.to_owned()))
}

/// The symbol of two rows, by which plans and reports would name both.
fn repeated(driver: &Driver) -> Option<&'static str> {
    let mut seen = BTreeSet::new();
    let mut rows = driver.rows().all().iter();
    rows.find(|row| !seen.insert(row.symbol))
        .map(|row| row.symbol)
}

/// Makes the devices of a driver known by its name.
///
/// # Errors
/// The name is no name of a driver, or is taken; or its memory is the process's.
pub fn register(driver: Driver, file: Option<PathBuf>) -> Result<DriverName, DeviceError> {
    let refused = |reason: String| DeviceError::Driver {
        name: driver.name().to_owned(),
        reason,
    };
    if driver.has(Capabilities::HOST_MEMORY) {
        let reason = "expected a device with memory of its own, got CW_DEVICE_HOST_MEMORY";
        return Err(refused(reason.to_owned()));
    }
    if !driver.computes() {
        return Err(refused("expected kernel rows, got none".to_owned()));
    }
    let name = driver.name();
    loaded::add(name, driver, file).map_err(|error| DeviceError::Driver {
        name: name.to_owned(),
        reason: error.to_string(),
    })
}

/// The table of a library, as far as it can be looked at without trusting it.
///
/// # Safety
/// As [`load`].
pub(crate) unsafe fn table_of(path: &Path) -> Result<&'static RawDriver, String> {
    // SAFETY: the caller's promise.
    let library = unsafe { Library::new(path) };
    let library = library.map_err(|error| format!("cannot be loaded: {}", words(&error)))?;
    // SAFETY: the symbol has the type of the header.
    let table = unsafe { library.get::<TableFn>(SYMBOL.as_bytes()) };
    let table = *table.map_err(|_| format!("expected the exported symbol {SYMBOL}, got none"))?;
    // Its table, rows and texts live as long as the process.
    std::mem::forget(library);
    // SAFETY: as above.
    unsafe { looked_at(table()) }
}

/// The reason why a library cannot be loaded, without the words of others around it.
fn words(error: &libloading::Error) -> String {
    let mut source: &dyn std::error::Error = error;
    while let Some(inner) = source.source() {
        source = inner;
    }
    source.to_string()
}

/// The table, if no word of it is null that must not be.
///
/// # Safety
/// A table that is not null begins with its version and its size; one of this version keeps the
/// contract of `device.h`, but for pointers that are null.
unsafe fn looked_at(table: *const RawDriver) -> Result<&'static RawDriver, String> {
    if table.is_null() || !table.is_aligned() {
        return Err(format!("expected a table of {SYMBOL}, got {table:p}"));
    }
    // SAFETY: every version of the table begins with these two numbers.
    let [abi, struct_bytes] = unsafe { table.cast::<[u32; 2]>().read() };
    if let Some(reason) = other_version(abi, struct_bytes) {
        return Err(reason);
    }
    // SAFETY: a table of this version has these words; they are read as numbers.
    unsafe {
        let functions = (&raw const (*table).functions).read();
        let segments = (&raw const (*table).segments).read();
        let absent = |field: *const usize| field.read() == 0;
        if absent((&raw const (*table).name).cast()) {
            return Err("expected a name, got null".to_owned());
        }
        let calls = [
            ("count", (&raw const (*table).count).cast()),
            ("kernels", (&raw const (*table).kernels).cast()),
            ("features", (&raw const (*table).features).cast()),
        ];
        if let Some((name, _)) = calls.into_iter().find(|(_, field)| absent(*field)) {
            return Err(format!("expected the function {name}, got null"));
        }
        every_word(functions, "functions", size_of::<RawFunctions>())?;
        every_word(segments, "segments", size_of::<RawSegmentFunctions>())?;
        named((*table).name)?;
        Ok(&*table)
    }
}

/// # Safety
/// The table is null, or holds so many bytes of function pointers.
unsafe fn every_word<T>(table: *const T, name: &str, bytes: usize) -> Result<(), String> {
    if table.is_null() {
        return Ok(());
    }
    let count = bytes / size_of::<usize>();
    // SAFETY: the caller's promise; function pointers are read as numbers.
    let words = unsafe { std::slice::from_raw_parts(table.cast::<usize>(), count) };
    match words.iter().position(|&word| word == 0) {
        Some(index) => Err(format!(
            "expected functions of device.h, got null as number {index} of `{name}`"
        )),
        None => Ok(()),
    }
}

/// # Safety
/// The pointer leads to a string.
unsafe fn named(name: *const c_char) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    match name.to_str() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("expected a name in UTF-8, got {name:?}")),
    }
}
