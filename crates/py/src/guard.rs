//! Leaving Python's lock, and coming back from panics.

use crate::errors;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Works without Python's lock; a panic becomes an `InternalError`.
pub fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(panicked)
}

fn panicked(payload: Box<dyn Any + Send>) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    errors::internal(format!("internal error, please report it: {text}"))
}
