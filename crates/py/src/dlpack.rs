//! DLPack, both ways, versioned (1.x) and not: <https://dmlc.github.io/dlpack/latest/>.

use crate::contents::own_copy;
use crate::device;
use crate::tensor::{Inner, Tensor};
use cloakwork_ir::{DType, MAX_RANK, NUMBER_DTYPES, Shape, Strides, View};
use cloakwork_run::eager::{self, Lent};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::ffi::{CStr, c_void};

const CPU: i32 = 1;
const VERSION: (u32, u32) = (1, 0);
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: RawTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: RawTensor,
}

/// The owner of exported memory.
struct Kept {
    _tensor: eager::Tensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

fn data_type(dtype: DType) -> DataType {
    let code = match dtype {
        DType::Bool => 6,
        d if d.is_complex() => 5,
        d if d.is_signed_integer() => 0,
        d if d.is_integer() => 1,
        _ => 2,
    };
    DataType {
        code,
        bits: (dtype.size_bytes() * 8) as u8,
        lanes: 1,
    }
}

fn raw(tensor: &eager::Tensor, kept: &mut Kept) -> RawTensor {
    RawTensor {
        data: tensor.data().cast(),
        device: Device { kind: CPU, id: 0 },
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

/// A capsule with a tensor's memory.
///
/// # Errors
/// A device other than the CPU, a stream, or memory that an old consumer might write to.
pub fn export<'py>(
    py: Python<'py>,
    tensor: &eager::Tensor,
    max_version: Option<(u32, u32)>,
    wanted: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    if wanted.is_some_and(|device| device != (CPU, 0)) {
        return Err(PyBufferError::new_err(format!(
            "dl_device: expected {:?}, the CPU, got {wanted:?}",
            (CPU, 0)
        )));
    }
    refuse_fields(tensor.dtype())?;
    let (tensor, copied) = handed_out(tensor, copy)?;
    let read_only = tensor.storage().is_read_only();
    let (dims, strides) = (tensor.view().shape.dims(), &tensor.view().strides);
    let mut kept = Box::new(Kept {
        shape: dims.iter().map(|&dim| dim as i64).collect(),
        strides: strides.to_vec(),
        _tensor: tensor.clone(),
    });
    let tensor = raw(&tensor, &mut kept);
    let context = Box::into_raw(kept).cast();
    let capsule = if max_version.is_some_and(|(major, _)| major >= 1) {
        let flags = u64::from(read_only) * READ_ONLY + u64::from(copied) * IS_COPIED;
        let managed = Box::new(ManagedVersioned {
            major: VERSION.0,
            minor: VERSION.1,
            context,
            deleter: Some(delete_versioned),
            flags,
            tensor,
        });
        // SAFETY: the capsule owns the box until it is renamed by a consumer, which then calls the
        // deleter.
        unsafe {
            let pointer = Box::into_raw(managed).cast();
            ffi::PyCapsule_New(pointer, NAME_VERSIONED.as_ptr(), Some(end_versioned))
        }
    } else {
        if read_only {
            // SAFETY: made above, and not shared.
            drop(unsafe { Box::from_raw(context.cast::<Kept>()) });
            return Err(PyBufferError::new_err(
                "unversioned DLPack has no flag for read-only memory; ask with \
                 max_version=(1, 0), or with copy=True",
            ));
        }
        let managed = Box::new(Managed {
            tensor,
            context,
            deleter: Some(delete),
        });
        // SAFETY: as above.
        unsafe {
            let pointer = Box::into_raw(managed).cast();
            ffi::PyCapsule_New(pointer, NAME.as_ptr(), Some(end))
        }
    };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
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
#[pyo3(signature = (x, device=None, copy=None))]
pub fn from_dlpack(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    device: Option<&str>,
    copy: Option<bool>,
) -> PyResult<Tensor> {
    if let Some(name) = device {
        device::check(name)?;
    }
    if !x.hasattr("__dlpack__")? {
        let kind = x.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "from_dlpack: expected an object with __dlpack__, got {kind}"
        )));
    }
    let capsule = ask(py, x, copy)?;
    let tensor = take(&capsule)?;
    let tensor = if copy == Some(true) {
        own_copy(&tensor)?
    } else {
        tensor
    };
    Ok(Inner::Real(tensor).into())
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
    match x.call_method("__dlpack__", (), Some(&options)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => x.call_method0("__dlpack__"),
        other => other,
    }
}

fn take(object: &Bound<'_, PyAny>) -> PyResult<eager::Tensor> {
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
fn read(raw: &RawTensor, read_only: bool, owner: Taken) -> PyResult<eager::Tensor> {
    let wrong = |text: String| Err(PyBufferError::new_err(format!("DLPack: {text}")));
    if raw.device.kind != CPU {
        let kind = raw.device.kind;
        return wrong(format!(
            "memory of device type {kind}; expected {CPU}, the CPU"
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
    let lent = lent(read_only);
    foreign(dtype, view, start, lent, Box::new(owner))
        .map_err(|text| PyBufferError::new_err(format!("DLPack: {text}")))
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
