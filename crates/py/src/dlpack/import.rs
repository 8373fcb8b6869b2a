//! Other libraries' arrays as tensors.

use super::{
    CPU, CUDA, DataType, Managed, ManagedVersioned, NAME, NAME_VERSIONED, READ_ONLY, RawTensor,
    USED, USED_VERSIONED, VERSION, data_type,
};
use crate::contents::own_copy;
use crate::guard::unlocked;
use crate::tensor::{Inner, Tensor};
use crate::{device, errors, on_device};
use cloakwork_devices::{Drivers, cuda_finish_default, isolate};
use cloakwork_ir::{DType, MAX_RANK, NUMBER_DTYPES, Shape, Strides, Type, View};
use cloakwork_run::OnDevice;
use cloakwork_run::eager::{self, Lent};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// Memory that was taken over, to be released once.
enum Taken {
    Plain(*mut Managed),
    Versioned(*mut ManagedVersioned),
}

// SAFETY: DLPack lets deleters be called by any thread.
unsafe impl Send for Taken {}
// SAFETY: nothing reads through it.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        // The deleters of other libraries may need Python's lock.
        Python::attach(|_| {
            // SAFETY: taken from a capsule that was renamed, so only this deletes it.
            unsafe {
                match *self {
                    Self::Plain(managed) => {
                        if let Some(deleter) = (*managed).deleter {
                            deleter(managed);
                        }
                    }
                    Self::Versioned(managed) => {
                        if let Some(deleter) = (*managed).deleter {
                            deleter(managed);
                        }
                    }
                }
            }
        });
    }
}

/// A tensor over the memory of an object with `__dlpack__`.
#[pyfunction]
#[pyo3(signature = (x, copy=None))]
pub fn from_dlpack(py: Python<'_>, x: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    if !x.hasattr("__dlpack__")? {
        let kind = x.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "from_dlpack: expected an object with __dlpack__, got {kind}"
        )));
    }
    if copy == Some(false) && is_on_gpu(x)? {
        return Err(PyBufferError::new_err(
            "a tensor on a GPU is a copy of another library's array, which copy=False forbids",
        ));
    }
    let capsule = ask(py, x, copy)?;
    match take(&capsule)? {
        Inner::Real(tensor) if copy == Some(true) => Ok(Inner::Real(own_copy(&tensor)?).into()),
        other => Ok(other.into()),
    }
}

/// Whether a producer's memory is a GPU's.
fn is_on_gpu(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !x.hasattr("__dlpack_device__")? {
        return Ok(false);
    }
    let (kind, _): (i32, i32) = x.call_method0("__dlpack_device__")?.extract()?;
    Ok(kind == CUDA)
}

/// Asks for the newest form, and where the producer does not know it, for the first.
fn ask<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(py);
    options.set_item("max_version", VERSION)?;
    if copy.is_some() {
        options.set_item("copy", copy)?;
    }
    if is_on_gpu(x)? {
        // What the producer does is in the default stream then, for which `copied_on_gpu` waits.
        options.set_item("stream", 1)?;
    }
    match x.call_method("__dlpack__", (), Some(&options)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => x.call_method0("__dlpack__"),
        other => other,
    }
}

fn take(object: &Bound<'_, PyAny>) -> PyResult<Inner> {
    let Ok(capsule) = object.cast::<PyCapsule>() else {
        let kind = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "__dlpack__: expected a capsule, got {kind}"
        )));
    };
    let pointer = capsule.as_ptr();
    let valid = |name: &CStr| {
        // SAFETY: a capsule and a name.
        unsafe { ffi::PyCapsule_IsValid(pointer, name.as_ptr()) == 1 }
    };
    if valid(NAME_VERSIONED) {
        // SAFETY: the name says what the capsule holds; renaming takes it over.
        let managed: *mut ManagedVersioned = unsafe {
            let found = ffi::PyCapsule_GetPointer(pointer, NAME_VERSIONED.as_ptr());
            ffi::PyCapsule_SetName(pointer, USED_VERSIONED.as_ptr());
            found.cast()
        };
        let taken = Taken::Versioned(managed);
        // SAFETY: the first fields are the same in every version.
        let (major, flags) = unsafe { ((*managed).major, (*managed).flags) };
        if major != VERSION.0 {
            // Only the deleter lies where this version has it.
            return Err(PyBufferError::new_err(format!(
                "DLPack version {major} is not known; expected 1"
            )));
        }
        // SAFETY: of version 1, the tensor lies where we have it.
        let tensor = unsafe { &(*managed).tensor };
        return read(tensor, flags & READ_ONLY != 0, taken);
    }
    if valid(NAME) {
        // SAFETY: as above.
        let managed: *mut Managed = unsafe {
            let found = ffi::PyCapsule_GetPointer(pointer, NAME.as_ptr());
            ffi::PyCapsule_SetName(pointer, USED.as_ptr());
            found.cast()
        };
        // SAFETY: as above.
        let tensor = unsafe { &(*managed).tensor };
        // It cannot say whether its memory may be written: that of JAX, for one, may not.
        return read(tensor, true, Taken::Plain(managed));
    }
    Err(PyValueError::new_err(
        "__dlpack__: the capsule holds no tensor, or was used before",
    ))
}

/// A description, checked before anything is read through it.
fn read(raw: &RawTensor, read_only: bool, owner: Taken) -> PyResult<Inner> {
    let wrong = |text: String| Err(PyBufferError::new_err(format!("DLPack: {text}")));
    if ![CPU, CUDA].contains(&raw.device.kind) {
        let kind = raw.device.kind;
        return wrong(format!(
            "memory of device type {kind}; expected {CPU}, the CPU, or {CUDA}, a GPU of NVIDIA's"
        ));
    }
    let dtype = NUMBER_DTYPES
        .into_iter()
        .find(|&d| data_type(d) == raw.dtype);
    let Some(dtype) = dtype else {
        let DataType { code, bits, lanes } = raw.dtype;
        return wrong(format!(
            "elements of code {code}, {bits} bits, {lanes} lanes"
        ));
    };
    let rank = usize::try_from(raw.ndim).unwrap_or(usize::MAX);
    if rank > MAX_RANK || (rank > 0 && raw.shape.is_null()) {
        return wrong(format!("{} axes; expected 0 to {MAX_RANK}", raw.ndim));
    }
    let list = |start: *mut i64| {
        // SAFETY: the producer says that so many entries are there.
        (0..rank).map(move |i| unsafe { start.add(i).read() })
    };
    let dims: Result<Vec<u64>, _> = list(raw.shape).map(u64::try_from).collect();
    let Some(shape) = dims.ok().and_then(|dims| Shape::new(&dims).ok()) else {
        return wrong("sizes that are negative, or of more than 2^48 elements".to_owned());
    };
    let strides: Strides = if raw.strides.is_null() {
        View::contiguous(shape.clone()).strides
    } else {
        list(raw.strides).collect()
    };
    let view = View {
        shape,
        strides,
        offset: 0,
    };
    let start = (raw.data as usize).wrapping_add(raw.byte_offset as usize) as *mut u8;
    if raw.device.kind == CUDA {
        return copied_on_gpu((dtype, view), start, raw.device.id, owner);
    }
    let lent = lent(read_only);
    foreign(dtype, view, start, lent, Box::new(owner))
        .map(Inner::Real)
        .map_err(|text| PyBufferError::new_err(format!("DLPack: {text}")))
}

/// A copy of another library's array on its GPU, once all that the library has put into the default
/// stream is done: nobody writes to a tensor on a device, but its owner might to the array.
fn copied_on_gpu(
    (dtype, view): (DType, View),
    start: *mut u8,
    index: i32,
    owner: Taken,
) -> PyResult<Inner> {
    let name = format!("cuda:{index}");
    let device = device::named(&name)?;
    if !view.is_contiguous() {
        return Err(PyBufferError::new_err(format!(
            "DLPack: the array on {name} is not row-major; make it so first: x.contiguous() in \
             torch, cupy.ascontiguousarray(x)"
        )));
    }
    if !(start as usize).is_multiple_of(alignment(dtype)) {
        return Err(PyBufferError::new_err(
            "DLPack: elements that are not aligned".to_owned(),
        ));
    }
    if isolate::is_apart(Drivers::default().of(device).0) {
        return Err(PyBufferError::new_err(format!(
            "DLPack: {name} is isolated here: its process does not reach the array; copy it to the \
             CPU first: x.cpu() in torch, cupy.asnumpy(x)"
        )));
    }
    let ty = Type::new(dtype, view.shape);
    let start = start as usize;
    Python::attach(|py| {
        let lent = unlocked(py, || {
            cuda_finish_default(index.unsigned_abs())?;
            // SAFETY: the producer says that so many elements are there, and keeps them until it is
            // told, after the copy.
            unsafe { OnDevice::foreign(device, start as *mut c_void, &ty, Box::new(owner)) }
        })?;
        let lent = Inner::Away(Arc::new(lent.map_err(errors::run)?));
        on_device::copied(py, &lent)
    })
}

/// The permitted uses of foreign memory.
pub const fn lent(read_only: bool) -> Lent {
    if read_only {
        Lent::ReadOnly
    } else {
        Lent::Writable
    }
}

/// Where kernels may read elements: at multiples of their size, the widest at those of a word.
pub fn alignment(dtype: DType) -> usize {
    dtype.size_bytes().min(8)
}

/// A tensor over foreign memory, from the address of element `[0, 0, ...]`.
pub fn foreign(
    dtype: DType,
    view: View,
    start: *mut u8,
    lent: Lent,
    owner: Box<dyn std::any::Any + Send + Sync>,
) -> Result<eager::Tensor, String> {
    let elements = view.shape.elements();
    let size = dtype.size_bytes() as i64;
    let reach = view.shape.dims().iter().zip(&view.strides).try_fold(
        (0i64, 0i64),
        |(low, high), (&dim, &stride)| {
            let far = stride
                .checked_mul(dim.max(1) as i64 - 1)?
                .checked_mul(size)?;
            Some((low.checked_add(far.min(0))?, high.checked_add(far.max(0))?))
        },
    );
    let Some((low, high)) = reach.filter(|_| elements > 0) else {
        if elements == 0 {
            let view = View::contiguous(view.shape);
            let empty = std::ptr::NonNull::<u128>::dangling().as_ptr().cast();
            // SAFETY: no byte is claimed.
            let made = unsafe { eager::Tensor::from_foreign(dtype, view, (empty, 0, lent), owner) };
            return Ok(made);
        }
        return Err("strides beyond 64 bits".to_owned());
    };
    if start.is_null() {
        return Err("no memory for its elements".to_owned());
    }
    if !(start as usize).is_multiple_of(alignment(dtype)) {
        return Err("elements that are not aligned".to_owned());
    }
    let base = start.wrapping_offset(low as isize);
    let view = View {
        offset: -low / size,
        ..view
    };
    let len = (high - low + size) as usize;
    // SAFETY: the owner says that these elements are there and stay; they are aligned.
    Ok(unsafe { eager::Tensor::from_foreign(dtype, view, (base, len, lent), owner) })
}
