//! Tensors for other libraries.

use super::{
    CPU, CUDA, Device, IS_COPIED, Managed, ManagedVersioned, NAME, NAME_VERSIONED, READ_ONLY,
    RawTensor, VERSION, data_type,
};
use crate::contents::own_copy;
use crate::tensor::{Elements, Inner};
use crate::{errors, on_device};
use cloakwork_devices::{Drivers, isolate};
use cloakwork_ir::DType;
use cloakwork_run::eager;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use std::ffi::c_void;

/// The owner of exported memory.
struct Kept {
    _owner: Inner,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

fn raw(tensor: &Inner, data: *mut c_void, device: (i32, i32), kept: &mut Kept) -> RawTensor {
    RawTensor {
        data,
        device: Device {
            kind: device.0,
            id: device.1,
        },
        ndim: tensor.view().rank() as i32,
        dtype: data_type(tensor.dtype()),
        shape: kept.shape.as_mut_ptr(),
        strides: kept.strides.as_mut_ptr(),
        byte_offset: 0,
    }
}

fn refuse_fields(dtype: DType) -> PyResult<()> {
    if dtype.is_number() {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!(
        "DLPack has no elements of type {dtype}; take the words of the tensor"
    )))
}

/// A tensor for another library, and whether it is a copy: of a mapped file it always is.
fn handed_out(tensor: &eager::Tensor, copy: Option<bool>) -> PyResult<(eager::Tensor, bool)> {
    let mapped = tensor.storage().is_mapped();
    if mapped && copy == Some(false) {
        return Err(PyBufferError::new_err(
            "the tensor lies in a mapped file: other libraries get a copy of it, which \
             copy=False forbids",
        ));
    }
    if mapped || copy == Some(true) {
        return Ok((own_copy(tensor)?, true));
    }
    Ok((tensor.clone(), false))
}

/// DLPack's name of a tensor's device: that of a GPU; of devices without a name there the CPU's,
/// which gets copies. Memory of an isolated driver is another process's.
pub fn device_of(tensor: &Inner) -> (i32, i32) {
    let found = tensor.device().map(|device| Drivers::default().of(device));
    match found {
        Some((driver, index)) if driver.name() == "cuda" && !isolate::is_apart(driver) => {
            (CUDA, index as i32)
        }
        _ => (CPU, 0),
    }
}

/// An exported tensor: where it is, whether it is a copy, whether it is only read.
struct Handed {
    tensor: Inner,
    data: *mut c_void,
    device: (i32, i32),
    copied: bool,
    read_only: bool,
}

/// A tensor of the host, or a copy of one on a device, for other libraries.
fn on_host(py: Python<'_>, tensor: &Inner, copy: Option<bool>) -> PyResult<Handed> {
    let (tensor, copied) = match tensor.device() {
        None => handed_out(tensor.real("__dlpack__()")?, copy)?,
        Some(device) if copy == Some(false) => {
            return Err(PyBufferError::new_err(format!(
                "the tensor lies on {device}: the CPU gets a copy of it, which copy=False forbids"
            )));
        }
        Some(_) => match on_device::moved(py, tensor, None)? {
            Inner::Real(copy) => (copy, true),
            _ => return Err(errors::internal("a tensor of the host that is none")),
        },
    };
    Ok(Handed {
        data: tensor.data().cast(),
        device: (CPU, 0),
        copied,
        read_only: tensor.is_read_only(),
        tensor: Inner::Real(tensor),
    })
}

/// A copy of a tensor on a GPU for other libraries, which may write it; or the tensor itself, only
/// to be read, where a copy is forbidden.
fn on_gpu(py: Python<'_>, tensor: &Inner, copy: Option<bool>) -> PyResult<Handed> {
    let device = device_of(tensor);
    let copied = copy != Some(false);
    let tensor = match copied {
        true => on_device::copied(py, tensor)?,
        false => on_device::settled(tensor)?,
    };
    let Inner::Away(away) = &tensor else {
        return Err(errors::internal("a tensor on a GPU that is none"));
    };
    Ok(Handed {
        data: away.address(),
        device,
        copied,
        read_only: !copied,
        tensor,
    })
}

/// Checks the stream of a consumer: the standard names CUDA's streams by 1, 2 and addresses, and -1
/// for no synchronisation; 0 would be ambiguous.
///
/// # Errors
/// Other objects and numbers, and any stream for a tensor of the CPU.
pub fn check_stream(tensor: &Inner, stream: &Bound<'_, PyAny>) -> PyResult<()> {
    if device_of(tensor).0 == CPU {
        return Err(PyBufferError::new_err(
            "__dlpack__: the CPU has no streams; leave stream out",
        ));
    }
    let is_number = stream.is_instance_of::<PyInt>() && !stream.is_instance_of::<PyBool>();
    let number: Option<i64> = stream.extract().ok().filter(|_| is_number);
    match number {
        Some(-1 | 1..) => Ok(()),
        Some(other) => Err(PyValueError::new_err(format!(
            "__dlpack__: stream: expected -1, 1, 2 or a stream's address, got {other}"
        ))),
        None => Err(PyTypeError::new_err(format!(
            "__dlpack__: stream: expected an int or None, got {}",
            stream.get_type().name()?
        ))),
    }
}

/// A capsule with a tensor's memory.
///
/// # Errors
/// A device other than the tensor's or the CPU, or memory that an old consumer might write to.
pub fn export<'py>(
    py: Python<'py>,
    tensor: &Inner,
    max_version: Option<(u32, u32)>,
    wanted: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let own = device_of(tensor);
    let wanted = wanted.unwrap_or(own);
    if wanted != (CPU, 0) && wanted != own {
        return Err(PyBufferError::new_err(format!(
            "dl_device: expected {own:?}, where the tensor is, or {:?}, the CPU, got {wanted:?}",
            (CPU, 0)
        )));
    }
    refuse_fields(tensor.dtype())?;
    let Handed {
        tensor,
        data,
        device,
        copied,
        read_only,
    } = match wanted == (CPU, 0) {
        true => on_host(py, tensor, copy)?,
        false => on_gpu(py, tensor, copy)?,
    };
    let (dims, strides) = (tensor.view().shape.dims(), &tensor.view().strides);
    let mut kept = Box::new(Kept {
        shape: dims.iter().map(|&dim| dim as i64).collect(),
        strides: strides.to_vec(),
        _owner: tensor.clone(),
    });
    let tensor = raw(&tensor, data, device, &mut kept);
    let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
    let capsule = match (is_versioned, read_only) {
        (true, _) => versioned(tensor, kept, (read_only, copied)),
        (false, false) => plain(tensor, kept),
        (false, true) => {
            return Err(PyBufferError::new_err(
                "unversioned DLPack has no flag for read-only memory; ask with \
                 max_version=(1, 0), or with copy=True",
            ));
        }
    };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// A capsule of version 1.
fn versioned(
    tensor: RawTensor,
    kept: Box<Kept>,
    (read_only, copied): (bool, bool),
) -> *mut ffi::PyObject {
    let managed = Box::new(ManagedVersioned {
        major: VERSION.0,
        minor: VERSION.1,
        context: Box::into_raw(kept).cast(),
        deleter: Some(delete_versioned),
        flags: u64::from(read_only) * READ_ONLY + u64::from(copied) * IS_COPIED,
        tensor,
    });
    // SAFETY: the capsule owns the box until it is renamed by a consumer, which then calls the
    // deleter.
    unsafe {
        let pointer = Box::into_raw(managed).cast();
        ffi::PyCapsule_New(pointer, NAME_VERSIONED.as_ptr(), Some(end_versioned))
    }
}

/// A capsule of the first form, whose memory may be written.
fn plain(tensor: RawTensor, kept: Box<Kept>) -> *mut ffi::PyObject {
    let managed = Box::new(Managed {
        tensor,
        context: Box::into_raw(kept).cast(),
        deleter: Some(delete),
    });
    // SAFETY: as for `versioned`.
    unsafe {
        let pointer = Box::into_raw(managed).cast();
        ffi::PyCapsule_New(pointer, NAME.as_ptr(), Some(end))
    }
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: both boxes were made by `export`; a consumer calls this once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Kept>()));
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Kept>()));
    }
}

/// A capsule that was not consumed.
unsafe extern "C" fn end(capsule: *mut ffi::PyObject) {
    // SAFETY: Python gives the capsule; under this name it holds what `export` made.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn end_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME_VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, NAME_VERSIONED.as_ptr()).cast());
        }
    }
}
