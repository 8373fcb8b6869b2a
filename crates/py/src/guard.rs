//! Python's lock around work of the engine; panics and truncated files become errors.

use crate::{device, errors};
use cloakwork_formats::files::Watch;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A call that takes longer releases Python's lock: other threads would lose more than releasing
/// and acquiring it costs.
const RELEASE_NS: u64 = 32_768;

static RELEASE: AtomicU64 = AtomicU64::new(RELEASE_NS);

/// About how long a call takes on one core that releases Python's lock, in nanoseconds.
#[inline]
pub fn release_ns() -> u64 {
    RELEASE.load(Ordering::Relaxed)
}

/// Sets [`release_ns`].
pub fn set_release_ns(ns: u64) {
    RELEASE.store(ns, Ordering::Relaxed);
}

/// Runs a call that takes about so long on one core: a short one on this thread, with Python's
/// lock; one that takes longer, or a time that is not known, without the lock on so many threads
/// as calls may use. `mapped` says whether it reads mapped files.
#[inline]
pub fn called<T: Send>(
    py: Python<'_>,
    weight_ns: Option<u64>,
    mapped: bool,
    call: impl FnOnce(usize) -> T + Send,
) -> PyResult<T> {
    let short = weight_ns.is_some_and(|ns| ns < release_ns());
    let threads = if short { 1 } else { device::threads(None)? };
    let work = || call(threads);
    match (short, mapped) {
        (true, false) => caught(work),
        (true, true) => watched(|| caught(work))?,
        (false, false) => unlocked_in_memory(py, work),
        (false, true) => unlocked(py, work),
    }
}

/// Works without Python's lock; a panic becomes an `InternalError`, and a part of a mapped
/// file that was missing when it was read becomes an error, whatever the result.
pub fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    watched(|| unlocked_in_memory(py, work))?
}

/// Works without Python's lock on memory that is not of mapped files; a panic becomes an
/// `InternalError`.
fn unlocked_in_memory<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(panicked)
}

/// Works with Python's lock; a panic becomes an `InternalError`.
#[inline]
fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(panicked)
}

/// Works with Python's lock, on memory of mapped files: if some of a file was missing when it was
/// read, that is the error, whatever the result.
#[inline]
pub fn watched<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let watch = Watch::start();
    let done = work();
    watch
        .end()
        .map_err(|error| errors::load(error, Path::new("")))?;
    Ok(done)
}

/// The error of a panic.
pub fn panicked(payload: Box<dyn Any + Send>) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    errors::internal(format!("internal error, please report it: {text}"))
}
