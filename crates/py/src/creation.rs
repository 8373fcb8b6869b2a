//! Tensors that are made at once, without an op: the same results as the op's in a tenth of the
//! time. `None` where something else is given, of which the op knows the meaning or the error.

use crate::scalar::Number;
use crate::tensor::{Inner, Tensor};
use crate::{dtype, errors};
use cloakwork_ir::{DType, Shape, Type, View};
use cloakwork_run::eager;
use cloakwork_trace::is_active;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// More elements take longer than the op's call.
const MOST_ELEMENTS: u64 = 4096;

/// A tensor of zeros of a shape; float64 without a dtype.
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, /))]
pub fn zeros_at_once(
    shape: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Tensor>> {
    let dtype = dtype.map_or(Ok(DType::F64), dtype::from_object)?;
    let Some(shape) = plain(shape).filter(|_| dtype.is_number() && !is_active()) else {
        return Ok(None);
    };
    let made = eager::Tensor::zeros(&Type::new(dtype, shape)).map_err(errors::run)?;
    Ok(Some(Inner::Real(made).into()))
}

/// A tensor with one number of Python's everywhere.
#[pyfunction]
#[pyo3(signature = (shape, value, dtype=None, /))]
pub fn full_at_once(
    shape: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Tensor>> {
    let (Some(number), Some(shape)) = (Number::of(value), plain(shape)) else {
        return Ok(None);
    };
    let weak = number.weak();
    let dtype = dtype.map_or(Ok(weak.dtype()), dtype::from_object)?;
    if is_active() || !dtype.is_number() || weak.meets(dtype) != dtype || !number.is_held_by(dtype)
    {
        return Ok(None);
    }
    let Ok(element) = number.element(dtype) else {
        return Ok(None);
    };
    let made = eager::Tensor::filled(&Type::new(dtype, shape), &element).map_err(errors::run)?;
    Ok(Some(Inner::Real(made).into()))
}

/// Equally spaced integers of 64 bits, as `cloakwork.arange` has them of three integers.
#[pyfunction]
#[pyo3(signature = (start, stop=None, step=None, /))]
pub fn range_at_once(
    start: &Bound<'_, PyAny>,
    stop: Option<&Bound<'_, PyAny>>,
    step: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Tensor>> {
    let word = |object: &Bound<'_, PyAny>| -> Option<i64> {
        object.cast_exact::<PyInt>().ok()?.extract().ok()
    };
    let given = (word(start), stop.map(word), step.map_or(Some(1), word));
    let (start, stop, step) = match given {
        (Some(stop), None, Some(step)) => (0, stop, step),
        (Some(start), Some(Some(stop)), Some(step)) => (start, stop, step),
        _ => return Ok(None),
    };
    let span = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
    let count = (span.max(0) as u128).div_ceil(step.unsigned_abs().max(1).into());
    if is_active() || step == 0 || count > MOST_ELEMENTS.into() {
        return Ok(None);
    }
    let shape = Shape::new(&[count as u64]).map_err(|error| errors::shape(&error))?;
    let made = eager::Tensor::range(start, step, shape).map_err(errors::run)?;
    Ok(Some(Inner::Real(made).into()))
}

/// A small shape: one integer, or a tuple or list of them.
fn plain(shape: &Bound<'_, PyAny>) -> Option<Shape> {
    let size = |object: &Bound<'_, PyAny>| {
        let integer = object.cast_exact::<PyInt>().ok()?;
        integer.extract::<u64>().ok()
    };
    let mut dims: SmallVec<[u64; 4]> = SmallVec::new();
    if let Some(size) = size(shape) {
        dims.push(size);
    } else if let Ok(tuple) = shape.cast_exact::<PyTuple>() {
        for object in tuple.iter_borrowed() {
            dims.push(size(&object)?);
        }
    } else {
        for object in shape.cast_exact::<PyList>().ok()?.iter() {
            dims.push(size(&object)?);
        }
    }
    let shape = Shape::new(&dims).ok()?;
    (shape.elements() <= MOST_ELEMENTS).then_some(shape)
}

/// Tensors of one dtype and shape but for the first axis, one after the other; or, with `stack`,
/// of one shape along a new first axis.
#[pyfunction]
pub fn joined_at_once(arrays: &Bound<'_, PyAny>, stack: bool) -> PyResult<Option<Tensor>> {
    if is_active() {
        return Ok(None);
    }
    let mut pieces: SmallVec<[eager::Tensor; 4]> = SmallVec::new();
    let mut add = |object: &Bound<'_, PyAny>| {
        let tensor = object.cast::<Tensor>().ok()?;
        let Inner::Real(tensor) = tensor.get().inner() else {
            return None;
        };
        let plain = tensor.is_plain(MOST_ELEMENTS);
        plain.then(|| pieces.push(tensor.clone()))
    };
    let all = if let Ok(list) = arrays.cast_exact::<PyList>() {
        list.iter().try_for_each(|object| add(&object))
    } else if let Ok(tuple) = arrays.cast_exact::<PyTuple>() {
        tuple.iter_borrowed().try_for_each(|object| add(&object))
    } else {
        None
    };
    let Some(shape) = all.and_then(|()| joined_shape(&pieces, stack)) else {
        return Ok(None);
    };
    let made = eager::Tensor::of_rows(&pieces, View::contiguous(shape)).map_err(errors::run)?;
    Ok(Some(Inner::Real(made).into()))
}

fn joined_shape(pieces: &[eager::Tensor], stack: bool) -> Option<Shape> {
    let (first, rest) = pieces.split_first()?;
    let dims = first.view().shape.dims();
    let skipped = usize::from(!stack);
    let fits = |piece: &eager::Tensor| {
        let own = piece.view().shape.dims();
        piece.dtype() == first.dtype()
            && own.len() == dims.len()
            && own[skipped..] == dims[skipped..]
    };
    if dims.len() < skipped || !rest.iter().all(fits) {
        return None;
    }
    let mut all: SmallVec<[u64; 5]> = SmallVec::from_slice(dims);
    if stack {
        all.insert(0, pieces.len() as u64);
    } else {
        let sizes = pieces
            .iter()
            .filter_map(|piece| piece.view().shape.dims().first());
        all[0] = sizes.sum();
    }
    Shape::new(&all).ok()
}

/// Adds these functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(zeros_at_once, module)?)?;
    module.add_function(wrap_pyfunction!(full_at_once, module)?)?;
    module.add_function(wrap_pyfunction!(range_at_once, module)?)?;
    module.add_function(wrap_pyfunction!(joined_at_once, module)?)
}
