//! Leaving Python's lock, and coming back from panics and from files that were cut short.

use crate::errors;
use cloakwork_formats::files::Watch;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Work that takes longer releases Python's lock: giving it back and forth costs less then than
/// other threads would lose.
pub const RELEASE_NS: u64 = 32_768;

/// Works without Python's lock; a panic becomes an `InternalError`. If some of a mapped file was
/// missing when it was read, that is the error, whatever the result.
pub fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    watched(|| unlocked_in_memory(py, work))?
}

/// The same for work that reads nothing of mapped files.
pub fn unlocked_in_memory<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(panicked)
}

/// Works with Python's lock, for work that reads nothing of mapped files and is soon done.
#[inline]
pub fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(panicked)
}

/// The same for work that keeps Python's lock and cannot panic.
#[inline]
pub fn watched<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let watch = Watch::start();
    let done = work();
    watch
        .end()
        .map_err(|error| errors::load(error, Path::new("")))?;
    Ok(done)
}

fn panicked(payload: Box<dyn Any + Send>) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    errors::internal(format!("internal error, please report it: {text}"))
}
