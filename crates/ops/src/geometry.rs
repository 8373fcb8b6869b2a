//! Views that are no op's result: one axis left out, or read with another stride. Launches take
//! them of physical views, references of row-major ones.

use crate::{Code, OpError};
use cloakwork_ir::{MAX_RANK, Shape, View};
use smallvec::SmallVec;

/// How many blocks of a size cover a length.
pub(crate) const fn blocks(length: i64, block: i64) -> i64 {
    (length + block - 1) / block
}

/// The shape of these sizes, or a finding about parameter `name`.
///
/// # Errors
/// More than 16 axes or 2^48 elements.
pub fn shape(name: &'static str, dims: &[u64]) -> Result<Shape, OpError> {
    Shape::new(dims).map_err(|error| {
        OpError::new(
            Code::Shape,
            name,
            "at most 16 axes and 2^48 elements",
            error.to_string(),
        )
    })
}

/// The shape of these sizes and more behind them.
///
/// # Errors
/// More than 16 axes or 2^48 elements.
pub fn extended(name: &'static str, dims: &[u64], more: &[u64]) -> Result<Shape, OpError> {
    let mut all = SmallVec::<[u64; MAX_RANK]>::from_slice(dims);
    all.extend_from_slice(more);
    shape(name, &all)
}

/// The shape with another size of one axis.
///
/// # Errors
/// The result has too many elements.
pub fn resized(name: &'static str, from: &Shape, axis: usize, size: u64) -> Result<Shape, OpError> {
    let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(from.dims());
    dims[axis] = size;
    shape(name, &dims)
}

/// The view with another size and stride of one axis.
///
/// # Errors
/// The result has too many elements.
pub fn with_axis(view: &View, axis: usize, size: u64, stride: i64) -> Result<View, OpError> {
    let mut changed = view.clone();
    changed.shape = resized("", &view.shape, axis, size)?;
    changed.strides[axis] = stride;
    Ok(changed)
}

/// The view at the first index of one axis, which is dropped.
///
/// # Errors
/// None: a shape stays one without an axis.
pub fn without_axis(view: &View, axis: usize) -> Result<View, OpError> {
    let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(view.shape.dims());
    let mut strides = view.strides.clone();
    dims.remove(axis);
    strides.remove(axis);
    Ok(View {
        shape: shape("", &dims)?,
        strides,
        offset: view.offset,
    })
}
