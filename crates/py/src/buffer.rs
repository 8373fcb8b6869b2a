//! The buffer protocol, both ways: tensors as memory of Python's, and Python's memory as tensors.

use crate::errors;
use crate::guard::unlocked;
use crate::op;
use crate::tensor::{Inner, Tensor};
use cloakwork_ir::{DType, Shape, Type, View};
use cloakwork_run::eager;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_char, c_int, c_long};

/// Sizes and strides of an export: they live as long as it does.
struct Extents {
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
}

/// The letter by which NumPy knows a dtype as its own of that size.
fn format(dtype: DType) -> &'static CStr {
    let long = size_of::<c_long>() == 8;
    match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 if long => c"l",
        DType::I64 => c"q",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 if long => c"L",
        DType::U64 => c"Q",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
    }
}

fn is_fortran(view: &View) -> bool {
    let reversed: Vec<u64> = view.shape.dims().iter().rev().copied().collect();
    let mut strides = view.strides.clone();
    strides.reverse();
    Shape::new(&reversed).is_ok_and(|shape| {
        View {
            shape,
            strides,
            offset: view.offset,
        }
        .is_contiguous()
    })
}

/// Whether a consumer that asks with these flags can read a view as it is.
fn suits(view: &View, flags: c_int) -> bool {
    let asks = |flag| flags & flag == flag;
    let (c, fortran) = (view.is_contiguous(), is_fortran(view));
    if asks(ffi::PyBUF_C_CONTIGUOUS) || !asks(ffi::PyBUF_STRIDES) {
        return c;
    }
    if asks(ffi::PyBUF_F_CONTIGUOUS) {
        return fortran;
    }
    !asks(ffi::PyBUF_ANY_CONTIGUOUS) || c || fortran
}

/// Describes a tensor's elements to Python without copying them.
///
/// A view that shows an element more than once is exported read-only.
///
/// # Safety
/// `place` is a buffer description that may be written.
pub unsafe fn export(
    owner: Bound<'_, PyAny>,
    tensor: &eager::Tensor,
    place: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let (view, size) = (tensor.view(), tensor.dtype().size_bytes() as isize);
    let readonly = view.overlaps_itself();
    if readonly && flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        return Err(PyBufferError::new_err(
            "a tensor that shows elements twice is read-only",
        ));
    }
    if !suits(view, flags) {
        return Err(PyBufferError::new_err(
            "the tensor's strides are not as asked for",
        ));
    }
    let mut extents = Box::new(Extents {
        shape: view.shape.dims().iter().map(|&dim| dim as isize).collect(),
        strides: view
            .strides
            .iter()
            .map(|&stride| stride as isize * size)
            .collect(),
    });
    let asks = |flag| flags & flag == flag;
    let or_null = |wanted, pointer| {
        if wanted {
            pointer
        } else {
            std::ptr::null_mut()
        }
    };
    let text = format(tensor.dtype()).as_ptr().cast_mut();
    // SAFETY: the caller's promise. The extents live until `release` gets them back, the elements
    // as long as the owner, which the description holds.
    unsafe {
        (*place).buf = tensor
            .storage()
            .as_ptr()
            .offset(view.offset as isize * size)
            .cast();
        (*place).len = view.shape.elements() as isize * size;
        (*place).itemsize = size;
        (*place).readonly = c_int::from(readonly);
        (*place).ndim = view.rank() as c_int;
        (*place).format = or_null(asks(ffi::PyBUF_FORMAT), text.cast::<c_char>());
        (*place).shape = extents.shape.as_mut_ptr();
        if !asks(ffi::PyBUF_ND) {
            (*place).shape = std::ptr::null_mut();
        }
        (*place).strides = extents.strides.as_mut_ptr();
        if !asks(ffi::PyBUF_STRIDES) {
            (*place).strides = std::ptr::null_mut();
        }
        (*place).suboffsets = std::ptr::null_mut();
        (*place).internal = Box::into_raw(extents).cast();
        (*place).obj = owner.into_ptr();
    }
    Ok(())
}

/// Takes back what [`export`] lent.
///
/// # Safety
/// `place` was filled by [`export`].
pub unsafe fn release(place: *mut ffi::Py_buffer) {
    // SAFETY: the caller's promise.
    unsafe { drop(Box::from_raw((*place).internal.cast::<Extents>())) }
}

/// A tensor of a dtype and shape with a copy of row-major memory, which has one axis.
#[pyfunction]
pub fn from_buffer(
    py: Python<'_>,
    memory: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    shape: Vec<u64>,
) -> PyResult<Tensor> {
    let dtype = op::dtype(dtype)?;
    let buffer = PyUntypedBuffer::get(memory)?;
    let shape = Shape::new(&shape).map_err(|error| errors::shape(&error))?;
    let ty = Type::new(dtype, shape);
    if !buffer.is_c_contiguous() || buffer.len_bytes() as u64 != ty.size_bytes() {
        return Err(PyBufferError::new_err(format!(
            "expected row-major memory of {ty}"
        )));
    }
    let tensor = eager::Tensor::zeros(&ty).map_err(errors::run)?;
    let from = Source(buffer.buf_ptr().cast_const().cast());
    unlocked(py, || {
        let Source(from) = { from };
        let to = tensor.storage();
        // SAFETY: both have so many bytes, the new storage is nobody else's, and the buffer is
        // held until the end of this function.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_ptr(), to.len_bytes()) }
    })?;
    buffer.release(py);
    Ok(Inner::Real(tensor).into())
}

/// The start of memory that is read while its buffer is held.
struct Source(*const u8);
// SAFETY: it is only read, and its buffer keeps it alive.
unsafe impl Send for Source {}
