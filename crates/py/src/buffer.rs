//! The buffer protocol, both ways: tensors as memory of Python's, and Python's memory as tensors.

use crate::contents::{dense_copy, exported};
use crate::guard::called;
use crate::tensor::{Elements, Inner, Tensor};
use crate::{dlpack, dtype, errors};
use cloakwork_ir::{DType, Shape, Type, View};
use cloakwork_library::pairing::Form;
use cloakwork_ops::elements;
use cloakwork_run::eager;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_char, c_int, c_long};

/// Sizes and strides of an export, which live as long as it does; and the tensor, so that it is
/// not frozen in place while other objects share its memory.
struct Extents {
    tensor: eager::Tensor,
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
}

/// The letter by which NumPy knows a dtype as its own of that size.
fn format(dtype: DType) -> Option<&'static CStr> {
    let long = size_of::<c_long>() == 8;
    Some(match dtype {
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
        _ => return None,
    })
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

/// Describes a tensor's elements to Python without copying them, or those of a copy where they lie
/// in a mapped file.
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
    let size = tensor.dtype().size_bytes() as isize;
    let Some(text) = format(tensor.dtype()) else {
        let name = tensor.dtype().name();
        return Err(PyBufferError::new_err(format!(
            "the buffer protocol has no elements of type {name}; take the words of the tensor"
        )));
    };
    let readonly = tensor.is_read_only();
    if readonly && flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        return Err(PyBufferError::new_err(
            "the tensor's memory is read-only, or its elements overlap",
        ));
    }
    let shown = exported(tensor)?;
    let view = shown.view();
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
        tensor: shown.clone(),
    });
    let asks = |flag| flags & flag == flag;
    let or_null = |wanted, pointer| {
        if wanted {
            pointer
        } else {
            std::ptr::null_mut()
        }
    };
    let text = text.as_ptr().cast_mut();
    // SAFETY: the caller's promise. The extents live until `release` gets them back, the elements
    // as long as the owner, which the description holds.
    unsafe {
        (*place).buf = extents.tensor.data().cast();
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

/// Releases an [`export`].
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
    let dtype = dtype::from_object(dtype)?;
    let buffer = PyUntypedBuffer::get(memory)?;
    let shape = Shape::new(&shape).map_err(|error| errors::shape(&error))?;
    let ty = Type::new(dtype, shape);
    if !buffer.is_c_contiguous() || buffer.len_bytes() as u64 != ty.size_bytes() {
        let (bytes, got) = (ty.size_bytes(), buffer.len_bytes());
        return Err(PyValueError::new_err(format!(
            "expected {bytes} bytes in a row, for {ty}, got {got}"
        )));
    }
    let tensor = eager::Tensor::uninit(ty.dtype, ty.shape).map_err(errors::run)?;
    let from = Source(buffer.buf_ptr().cast_const().cast());
    let to = tensor.storage();
    let checked = called(py, Some(to.len_bytes() as u64), true, |_| {
        let Source(from) = { from };
        // SAFETY: both have so many bytes, the new storage is not shared, and the buffer is
        // held until the end of this function.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_ptr(), to.len_bytes()) };
        elements::check(dtype, Form::Montgomery, (**to).as_ref())
    })?;
    buffer.release(py);
    checked.map_err(|found| errors::invalid_element("memory", dtype, &found))?;
    Ok(Inner::Real(tensor).into())
}

/// The start of memory that is read while its buffer is held.
struct Source(*const u8);
// SAFETY: it is only read, and its buffer keeps it alive.
unsafe impl Send for Source {}

/// A Python buffer that a tensor uses; released under Python's lock.
struct Held(Option<PyUntypedBuffer>);

impl Drop for Held {
    fn drop(&mut self) {
        Python::attach(|_| drop(self.0.take()));
    }
}

/// A tensor over a buffer's memory, without a copy; None where no tensor can be: elements of
/// another kind, another byte order, strides that are not whole elements, or no alignment.
#[pyfunction]
pub fn import_buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let buffer = PyUntypedBuffer::get(object)?;
    let Some(dtype) = element_type(buffer.format(), buffer.item_size()) else {
        return Ok(None);
    };
    let size = dtype.size_bytes() as isize;
    let dims: Vec<u64> = buffer.shape().iter().map(|&dim| dim as u64).collect();
    let strides = buffer.strides().to_vec();
    let whole = strides.iter().all(|stride| stride % size == 0);
    let shape = Shape::new(&dims).map_err(|error| errors::shape(&error))?;
    let indirect = buffer
        .suboffsets()
        .is_some_and(|list| list.iter().any(|&o| o >= 0));
    if !whole || indirect {
        return Ok(None);
    }
    let view = View {
        shape,
        strides: strides
            .iter()
            .map(|&stride| (stride / size) as i64)
            .collect(),
        offset: 0,
    };
    let (start, read_only) = (buffer.buf_ptr().cast(), buffer.readonly());
    if !(start as usize).is_multiple_of(dlpack::alignment(dtype)) {
        return Ok(None);
    }
    let owner = Box::new(Held(Some(buffer)));
    let tensor = dlpack::foreign(dtype, view, start, dlpack::lent(read_only), owner)
        .map_err(PyBufferError::new_err)?;
    Ok(Some(Inner::Real(tensor).into()))
}

/// The element type that a format says, in the machine's byte order.
fn element_type(format: &CStr, size: usize) -> Option<DType> {
    let text = format.to_str().ok()?;
    let (order, letters) = match text.as_bytes().first()? {
        b'@' | b'=' | b'<' | b'>' | b'!' | b'|' => text.split_at(1),
        _ => ("@", text),
    };
    let foreign = match order {
        "<" => cfg!(target_endian = "big"),
        ">" | "!" => cfg!(target_endian = "little"),
        _ => false,
    };
    let class: fn(DType) -> bool = match letters {
        "?" => |d| d == DType::Bool,
        "b" | "h" | "i" | "l" | "q" | "n" => DType::is_signed_integer,
        "B" | "H" | "I" | "L" | "Q" | "N" => |d| d.is_integer() && !d.is_signed_integer(),
        "f" | "d" => DType::is_real_float,
        "Zf" | "Zd" => DType::is_complex,
        _ => return None,
    };
    let fits = |d: &DType| class(*d) && d.size_bytes() == size;
    let found = cloakwork_ir::NUMBER_DTYPES.into_iter().find(fits)?;
    (!foreign || size == 1).then_some(found)
}

/// A tensor of an array's elements: over its memory where `copy` allows and that can be, else a
/// copy. None if only the array's own library can copy it.
#[pyfunction]
#[pyo3(signature = (array, copy=None))]
pub fn asarray(array: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Option<Tensor>> {
    let Some(tensor) = import_buffer(array)? else {
        return match copy {
            Some(false) => Err(errors::param(
                "copy",
                "False",
                "None or True: this memory is of another byte order, alignment or element type",
            )),
            _ => Ok(None),
        };
    };
    if copy != Some(true) {
        return Ok(Some(tensor));
    }
    let own = dense_copy(tensor.inner().real("a copy")?)?;
    Ok(Some(Inner::Real(own).into()))
}
