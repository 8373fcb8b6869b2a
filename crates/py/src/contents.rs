//! The one place where this crate reads the elements of tensors itself. Those that lie in a mapped
//! file may be gone: then the call that reads them fails.

use crate::guard::{unlocked, watched};
use crate::{device, errors};
use cloakwork_ir::{HostTensor, View};
use cloakwork_run::eager::{self, EagerError};
use pyo3::prelude::*;

/// More elements are copied by a kernel.
const MOST_ELEMENTS: u64 = 4096;

/// Work that reads a tensor's elements.
#[inline]
pub fn reading<T>(tensor: &eager::Tensor, work: impl FnOnce() -> T) -> PyResult<T> {
    if tensor.storage().is_mapped() {
        return watched(work);
    }
    Ok(work())
}

fn copied<T>(tensor: &eager::Tensor, copy: impl FnOnce() -> Result<T, EagerError>) -> PyResult<T> {
    reading(tensor, copy)?.map_err(errors::eager)
}

/// A copy for the host, row-major.
pub fn host_copy(tensor: &eager::Tensor) -> PyResult<HostTensor> {
    let isa = device::selected()?;
    copied(tensor, || tensor.copy_to_host(isa))
}

/// A tensor's elements for the host, row-major: shared if they are so already, else a copy.
pub fn row_major(tensor: &eager::Tensor) -> PyResult<HostTensor> {
    if tensor.view().is_contiguous() {
        return tensor.to_host_alone().map_err(errors::run);
    }
    host_copy(tensor)
}

/// A tensor as a constant of a program; see [`cloakwork_trace::held`].
pub fn held(tensor: &eager::Tensor) -> PyResult<HostTensor> {
    let isa = device::selected()?;
    copied(tensor, || cloakwork_trace::held(tensor, isa))
}

/// A copy of the same view that no other tensor shares; repeated elements are not copied.
pub fn own_copy(tensor: &eager::Tensor) -> PyResult<eager::Tensor> {
    let isa = device::selected()?;
    copied(tensor, || tensor.own_copy(isa))
}

/// A row-major copy.
pub fn dense_copy(tensor: &eager::Tensor) -> PyResult<eager::Tensor> {
    if tensor.is_plain(MOST_ELEMENTS) {
        let copy = eager::Tensor::of_rows(
            std::slice::from_ref(tensor),
            View::contiguous(tensor.view().shape.clone()),
        );
        return copy.map_err(errors::run);
    }
    let made = eager::Tensor::uninit(tensor.dtype(), tensor.view().shape.clone());
    let (made, isa) = (made.map_err(errors::run)?, device::selected()?);
    copied(tensor, || made.assign(tensor, isa))?;
    Ok(made)
}

/// A frozen tensor with these elements.
pub fn frozen(tensor: &eager::Tensor) -> PyResult<eager::Tensor> {
    let isa = device::selected()?;
    copied(tensor, || tensor.freeze(isa))
}

/// The tensor to export: itself, or a copy where it lies in a mapped file, as other libraries
/// cannot handle a truncated file.
pub fn exported(tensor: &eager::Tensor) -> PyResult<eager::Tensor> {
    if tensor.storage().is_mapped() {
        return own_copy(tensor);
    }
    Ok(tensor.clone())
}

/// A storage's bytes, all of them, for work that reads some.
pub fn with_bytes<T>(tensor: &eager::Tensor, work: impl FnOnce(&[u8]) -> T) -> PyResult<T> {
    reading(tensor, || work(tensor.storage().as_ref().as_ref()))
}

/// Overwrites a storage with zeros.
///
/// # Errors
/// It is only read.
pub fn zeroized(py: Python<'_>, tensor: &eager::Tensor) -> PyResult<()> {
    if unlocked(py, || tensor.zeroize())? {
        return Ok(());
    }
    let allowed = "a tensor that may be written; a frozen secret is zeroed when it is released";
    Err(errors::param("zeroize", "read-only memory", allowed))
}
