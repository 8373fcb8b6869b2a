//! Views, allocation and transfers.

pub mod broadcast_to;
pub mod contiguous;
pub mod copy;
pub mod device_to_host;
pub mod empty;
pub mod expand;
pub mod flatten;
mod gather;
pub mod get_slice;
pub mod host_to_device;
pub mod moveaxis;
pub mod new_reference;
pub mod pad_single_axis;
pub mod permute;
pub mod repeat_interleave;
pub mod reshape;
pub mod set_const_val;
pub mod slice;
pub mod squeeze;
pub mod take_along_axis;
pub mod transpose;
pub mod unsqueeze;
pub mod zeros;

use crate::op::{Param, ParamKind, Viewed};
use crate::{Args, Code, OpError};
use cloakwork_ir::{MAX_RANK, Shape, ShapeItem, Take, View, ViewError};
use smallvec::SmallVec;

/// Where a new tensor lies.
const DEVICE: Param = Param::new(
    "device",
    ParamKind::Int(-65_536, 131_072),
    "0: the host; i + 1: gpu:i; i + 65537: sim:i; -1 - i: disk:i",
)
.or(0);

/// Entries of a slice.
const ENTRIES: Param = Param::new(
    "entries",
    ParamKind::Shape,
    "an index or a range for each axis",
);

/// The view of one entry an axis.
fn sliced(args: &Args, take: fn(&ShapeItem) -> Result<Take, OpError>) -> Result<Viewed, OpError> {
    let entries: Result<SmallVec<[Take; MAX_RANK]>, OpError> =
        args.items("entries")?.iter().map(take).collect();
    view("entries", args.tensor("a")?.view.slice(&entries?))
}

/// The finding for an error of the view algebra: about `a` where its sizes are at fault, else about
/// parameter `name`.
fn view_error(name: &'static str, error: &ViewError) -> OpError {
    let (code, operand, expected) = match error {
        ViewError::Axis { .. } => (Code::Axis, name, "an axis of the tensor"),
        ViewError::AxisOrder { .. } => (Code::Axis, name, "axes from first to last"),
        ViewError::NotOne { .. } => (Code::Shape, "a", "an axis of size 1"),
        ViewError::Range { .. } => (Code::Range, name, "indices inside the axis"),
        ViewError::EntryCount { .. } => (Code::ArgumentCount, name, "one entry an axis"),
        ViewError::Elements { .. } => (Code::Shape, name, "the same number of elements"),
        ViewError::Shape(_) => (Code::Shape, name, "at most 16 axes and 2^48 elements"),
    };
    OpError::new(code, operand, expected, error.to_string())
}

/// A view that always exists.
fn view(name: &'static str, result: Result<View, ViewError>) -> Result<Viewed, OpError> {
    result
        .map(Viewed::View)
        .map_err(|error| view_error(name, &error))
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

/// A number of repetitions, 1 or more.
fn count(args: &Args, name: &'static str) -> Result<u64, OpError> {
    let value = args.int(name)?;
    let refused = || OpError::range(name, "1 or more", value);
    u64::try_from(value)
        .ok()
        .filter(|&count| count > 0)
        .ok_or_else(refused)
}
