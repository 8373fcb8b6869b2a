//! Views, allocation and transfers.

pub mod empty;
pub mod host_to_device;
pub mod reshape;

use crate::op::Viewed;
use crate::{Code, OpError};
use cloakwork_ir::{Shape, View, ViewError};

/// A finding about parameter `name` for what the view algebra refuses.
fn view_error(name: &'static str, error: &ViewError) -> OpError {
    let (code, expected) = match error {
        ViewError::Axis { .. } => (Code::Axis, "an axis of the tensor"),
        ViewError::NotOne { .. } => (Code::Shape, "an axis of size 1"),
        ViewError::Range { .. } => (Code::Range, "indices inside the axis"),
        ViewError::EntryCount { .. } => (Code::ArgumentCount, "one entry an axis"),
        ViewError::Elements { .. } => (Code::Shape, "the same number of elements"),
        ViewError::Shape(_) => (Code::Shape, "at most 16 axes and 2^48 elements"),
    };
    OpError::new(code, name, expected, error.to_string())
}

/// A view where there is one, else a copy under `shape`.
fn viewed(
    name: &'static str,
    result: Result<Option<View>, ViewError>,
    shape: Shape,
) -> Result<Viewed, OpError> {
    match result {
        Ok(Some(view)) => Ok(Viewed::View(view)),
        Ok(None) => Ok(Viewed::Copy(shape)),
        Err(error) => Err(view_error(name, &error)),
    }
}
