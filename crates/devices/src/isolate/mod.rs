//! A driver in a process of its own: its crash is an error here, and its hang, too.
//!
//! [`load`] starts a process that loads a library. Its table comes back as facts, and is a driver
//! of this process as any other: its functions send messages (`wire.rs`, `channel.rs`) to the
//! process (`served/`), one thread a device there. Calls are not answered unless their result is
//! needed; transfers go through memory that both map (`staging.rs`). What comes back is checked:
//! the other process may be damaged. A board (`call.rs`) shows the call that the process is in, so
//! that an error names it.

mod call;
mod channel;
mod device;
mod launch;
mod library;
mod process;
mod served;
mod shared;
mod staging;
mod table;
mod wire;

pub use device::Lost;
pub use process::{Program, set_program};
pub use served::serve;
pub(crate) use table::{is_lost, lost};

use crate::{DeviceError, Driver, loaded, register};
use cloakwork_ir::DriverName;
use cloakwork_kernels::{ElsewhereRow, KernelRow, LaunchShape, Rows};
use library::{Library, RowFacts};
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

/// Loads the driver of a shared library in a process of its own: its devices can be named from then
/// on. A call that takes longer than the limit ends the process. A file that is loaded so already
/// gives the same driver, with the new limit.
///
/// # Errors
/// [`DeviceError::Driver`], with the file as the name: the process does not start, the library
/// ends it or does not load, its table is none, its name is taken, or it is loaded in this process.
pub fn load(file: &Path, limit: Option<Duration>) -> Result<DriverName, DeviceError> {
    let refused = |reason: String| DeviceError::Driver {
        name: file.display().to_string(),
        reason,
    };
    let path = std::path::absolute(file).and_then(std::fs::canonicalize);
    let path = path.map_err(|error| refused(format!("cannot be read: {error}")))?;
    if let Some(known) = loaded::of_file(&path) {
        let is_apart = loaded::of(known).is_some_and(|driver| set_limit(driver, limit));
        let reason = "is loaded in this process already; load it first in a process of its own";
        return is_apart
            .then_some(known)
            .ok_or_else(|| refused(reason.to_owned()));
    }
    let driver = driver(&path, limit).map_err(&refused)?;
    register(driver, Some(path)).map_err(|error| match error {
        DeviceError::Driver { reason, .. } => refused(reason),
        other => other,
    })
}

/// Makes GPUs known as `cuda:<i>`, served by a process of their own, if `cuda:<index>` can be used
/// there. CUDA is not initialized in this process.
///
/// # Errors
/// As [`load`]; why the GPU cannot be used; or this process uses CUDA itself.
pub fn cuda(index: u32, limit: Option<Duration>) -> Result<DriverName, DeviceError> {
    let name = format!("{}:{index}", crate::cuda::NAME);
    let refused = |reason: &str| DeviceError::Driver {
        name: name.clone(),
        reason: reason.to_owned(),
    };
    if let Some(known) = DriverName::find(crate::cuda::NAME) {
        let is_apart = loaded::of(known).is_some_and(|driver| set_limit(driver, limit));
        let reason = "is used by this process already; isolate it before its first use";
        return is_apart.then_some(known).ok_or_else(|| refused(reason));
    }
    let driver = driver(Path::new(&name), limit).map_err(|reason| refused(&reason))?;
    register(driver, None)
}

/// A driver in a process of its own: of a library, or of this crate by the name of a device. It is
/// known by no name.
///
/// # Errors
/// As [`load`], in words.
pub fn driver(source: &Path, limit: Option<Duration>) -> Result<Driver, String> {
    // A driver is never unloaded.
    let library: &'static Library = Box::leak(Box::new(Library::load(source, limit)?));
    let rows = library.facts.rows.iter().enumerate();
    let rows = rows.map(|(index, row)| row_of(library, index as u32, row));
    let rows = Rows::new(rows.collect::<Result<_, _>>()?);
    let raw = table::table(library).ok_or("too many drivers in processes of their own")?;
    let (raw, rows) = (Box::leak(Box::new(raw)), Box::leak(Box::new(rows)));
    // SAFETY: the functions are those of this crate.
    unsafe { Driver::of(raw, rows) }.map_err(|error| error.to_string())
}

/// Sets the longest time that a call of a driver may take, if it has a process of its own.
fn set_limit(driver: &Driver, limit: Option<Duration>) -> bool {
    let library = driver.functions().and_then(table::library_of);
    if let Some(library) = library {
        library.set_limit(limit);
    }
    library.is_some()
}

/// Whether a driver has a process of its own.
#[must_use]
pub fn is_apart(driver: &Driver) -> bool {
    let library = driver.functions().and_then(table::library_of);
    library.is_some()
}

thread_local! {
    static CAREFUL: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function. What the calling thread opens meanwhile of drivers in processes of their own
/// gets a process for itself, which waits for each piece of work that a queue gets: where it ends,
/// or loses its device, the error names the kernel and the step.
pub fn carefully<R>(call: impl FnOnce() -> R) -> R {
    /// Puts it back, also where a panic unwinds.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            CAREFUL.set(self.0);
        }
    }
    let _before = Before(CAREFUL.replace(true));
    call()
}

/// Whether the calling thread opens devices carefully.
pub(crate) fn is_careful() -> bool {
    CAREFUL.get()
}

fn row_of(library: &'static Library, index: u32, row: &RowFacts) -> Result<KernelRow, String> {
    // Rows live as long as the process.
    let text = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let size = move |shape: &LaunchShape<'_>| {
        library.prepared_bytes(index, shape.dims, shape.strides, shape.params)
    };
    let row = ElsewhereRow {
        kernel: text(&row.kernel),
        symbol: text(&row.symbol),
        needs: row.needs,
        dtypes: [row.in_dtype, row.out_dtype],
        element_bytes: row.element_bytes,
        constant_operands: row.constant_operands,
        prepared_axis: row.prepared_axis,
        preference: row.preference,
        prepared_bytes: row.prepares.then(|| Box::new(size) as _),
    };
    row.read()
        .ok_or_else(|| format!("kernel row {index} names an unknown dtype or feature"))
}
