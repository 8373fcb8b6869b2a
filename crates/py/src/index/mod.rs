//! Basic indexing, as NumPy has it: integers, slices, `...` and `None` become one entry an axis.
//! `fancy` has keys of tensors and masks, `cloakwork.tensors.indexing` those that mix them freely.

mod fancy;

use crate::eval::{Value, eval, layout};
use crate::operand::tensor_of;
use crate::scalar::Number;
use crate::tensor::{Inner, Tensor};
use crate::{errors, numbers, on_device};
use cloakwork_ir::{DType, MAX_RANK, Shape, ShapeItem, Take, View};
use cloakwork_ops::named;
use cloakwork_run::eager::{self, Element};
use cloakwork_trace::is_active;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PySliceMethods, PyTuple};
use smallvec::SmallVec;

/// A key, one entry an axis of the tensor: `Index` or `Steps`.
#[derive(Default)]
struct Resolved {
    entries: SmallVec<[Take; 4]>,
    /// Whether an entry takes a part of its axis.
    takes_part: bool,
    /// Axes of the result that `None` inserts, ascending.
    new_axes: SmallVec<[i64; 4]>,
}

/// The tensor `tensor[key]`.
pub fn get_item(
    py: Python<'_>,
    tensor: &Bound<'_, Tensor>,
    key: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let inner = tensor.get().inner();
    match basic(py, inner, key)? {
        Some(view) => Ok(Py::new(py, Tensor::from(view))?.into_any()),
        None => {
            if let Some(selected) = fancy::get(py, inner, key)? {
                return Ok(Py::new(py, Tensor::from(selected))?.into_any());
            }
            let get = py.import("cloakwork.tensors.indexing")?.getattr("get")?;
            Ok(get.call1((tensor, key))?.unbind())
        }
    }
}

/// `tensor[..., None, ...]`: a view with a new axis in this place.
pub fn with_axis(py: Python<'_>, tensor: &Inner, axis: usize) -> PyResult<Inner> {
    let mut resolved = Resolved::all_of(tensor);
    resolved.new_axes.push(axis as i64);
    taken(py, tensor, &resolved)
}

/// `tensor[..., start : start + count, ...]`: a view of a part of one axis.
pub fn window(
    py: Python<'_>,
    tensor: &Inner,
    axis: usize,
    (start, count): (u64, u64),
) -> PyResult<Inner> {
    let mut resolved = Resolved::all_of(tensor);
    let step = 1;
    resolved.replace(axis, Take::Steps { start, count, step });
    taken(py, tensor, &resolved)
}

/// `tensor[..., 0, ...]`: a view without this axis, which has one element or more.
pub fn without_axis(py: Python<'_>, tensor: &Inner, axis: usize) -> PyResult<Inner> {
    let mut resolved = Resolved::all_of(tensor);
    resolved.replace(axis, Take::Index(0));
    taken(py, tensor, &resolved)
}

/// The view of a basic key; `None` for a key with tensors or masks.
pub fn basic(py: Python<'_>, tensor: &Inner, key: &Bound<'_, PyAny>) -> PyResult<Option<Inner>> {
    let dims = tensor.view().shape.dims();
    if let Inner::Real(real) = tensor
        && let Some(entry) = of_first_axis(key, dims)?
        && !is_active()
        && let Some(part) = real.part_of_first(entry)
    {
        return Ok(Some(Inner::Real(part)));
    }
    let mut resolved = Resolved::default();
    match key.cast::<PyTuple>() {
        Ok(tuple) => {
            let keys: SmallVec<[Bound<'_, PyAny>; 4]> = tuple.iter().collect();
            if !keys.iter().all(is_basic) {
                return Ok(None);
            }
            resolved.resolve(&keys, dims)?;
        }
        Err(_) if is_basic(key) => resolved.resolve(std::slice::from_ref(key), dims)?,
        Err(_) => return Ok(None),
    }
    taken(py, tensor, &resolved).map(Some)
}

/// A single integer or slice as an entry of the first axis; `None` for other keys, and for those
/// that have to be refused.
#[inline]
fn of_first_axis(key: &Bound<'_, PyAny>, dims: &[u64]) -> PyResult<Option<Take>> {
    let Some(&dim) = dims.first() else {
        return Ok(None);
    };
    if key.is_exact_instance_of::<PyInt>() {
        let place = key.extract::<i64>().ok().map(|place| {
            if place < 0 {
                place.wrapping_add(dim as i64)
            } else {
                place
            }
        });
        return Ok(place.map(|place| Take::Index(place as u64)));
    }
    if key.is_exact_instance_of::<PySlice>() {
        return entry(key, 0, dim).map(Some);
    }
    Ok(None)
}

#[inline]
fn taken(py: Python<'_>, tensor: &Inner, resolved: &Resolved) -> PyResult<Inner> {
    match tensor {
        Inner::Real(real) if !is_active() => {
            let view = resolved.view(tensor.view())?;
            real.view_as(view).map(Inner::Real).map_err(errors::run)
        }
        _ => recorded(py, tensor, resolved),
    }
}

fn is_basic(key: &Bound<'_, PyAny>) -> bool {
    if key.is_instance_of::<PyInt>() {
        return !key.is_instance_of::<PyBool>();
    }
    let known = key.is_none() || key.is_instance_of::<PySlice>() || is_ellipsis(key);
    // NumPy's integers; a tensor is a key of its own kind, also where it has one element.
    known || (!key.is_instance_of::<Tensor>() && is_integer(key))
}

fn is_integer(key: &Bound<'_, PyAny>) -> bool {
    !key.hasattr("__len__").unwrap_or(true) && key.extract::<i64>().is_ok() && !is_bool(key)
}

fn is_bool(key: &Bound<'_, PyAny>) -> bool {
    key.is_instance_of::<PyBool>()
        || key
            .get_type()
            .name()
            .is_ok_and(|n| n == "bool" || n == "bool_")
}

fn is_ellipsis(key: &Bound<'_, PyAny>) -> bool {
    key.is_instance_of::<PyEllipsis>()
}

impl Resolved {
    fn all_of(tensor: &Inner) -> Self {
        let dims = tensor.view().shape.dims();
        Self {
            entries: dims.iter().copied().map(whole).collect(),
            ..Self::default()
        }
    }

    fn replace(&mut self, axis: usize, entry: Take) {
        self.takes_part |= self.entries[axis] != entry;
        self.entries[axis] = entry;
    }

    fn view(&self, from: &View) -> PyResult<View> {
        let view = from.slice(&self.entries);
        let mut view = view.map_err(|e| errors::index(e.to_string()))?;
        if !self.new_axes.is_empty() {
            let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(view.shape.dims());
            for &axis in &self.new_axes {
                dims.insert(axis as usize, 1);
                view.strides.insert(axis as usize, 1);
            }
            view.shape = Shape::new(&dims).map_err(|error| errors::shape(&error))?;
        }
        Ok(view)
    }

    /// Adds the entries of a basic key.
    fn resolve(&mut self, keys: &[Bound<'_, PyAny>], dims: &[u64]) -> PyResult<()> {
        let (mut taken, mut ellipses) = (0, 0);
        for key in keys {
            if is_ellipsis(key) {
                ellipses += 1;
            } else if !key.is_none() {
                taken += 1;
            }
        }
        let Some(mut spare) = dims.len().checked_sub(taken) else {
            let text = format!("{taken} indices for a tensor of {} axes", dims.len());
            return Err(errors::index(text));
        };
        if ellipses > 1 {
            return Err(errors::index("an index can have only one `...`"));
        }
        let mut rank = 0;
        let mut rest = dims.iter().copied();
        for key in keys {
            if key.is_none() {
                self.new_axes.push(rank);
                rank += 1;
            } else if is_ellipsis(key) {
                rank += spare as i64;
                let passed = rest.by_ref().take(std::mem::take(&mut spare));
                self.entries.extend(passed.map(whole));
            } else if let Some(dim) = rest.next() {
                let entry = entry(key, self.entries.len(), dim)?;
                self.takes_part |= entry != whole(dim);
                rank += i64::from(matches!(entry, Take::Steps { .. }));
                self.entries.push(entry);
            }
        }
        for dim in rest {
            self.entries.push(whole(dim));
        }
        Ok(())
    }
}

const fn whole(count: u64) -> Take {
    Take::Steps {
        start: 0,
        count,
        step: 1,
    }
}

/// Whether HEAL has such an entry: an index, or a range that goes forward and is not empty.
const fn is_of_heal(entry: &Take) -> bool {
    !matches!(entry, Take::Steps { count, step, .. } if *count == 0 || *step < 0)
}

fn item(entry: &Take) -> ShapeItem {
    let (start, stop, step) = match *entry {
        Take::Index(index) => return ShapeItem::Int(index as i64),
        Take::Range { start, stop, step } => (start as i64, stop as i64, step as i64),
        Take::Steps { count: 0, step, .. } => (0, 0, step),
        Take::Steps { start, count, step } => {
            let last = start as i64 + (count as i64 - 1) * step;
            (start as i64, last + step.signum(), step)
        }
    };
    let [start, stop, step] = [start, stop, step].map(Some);
    ShapeItem::Slice { start, stop, step }
}

/// The view as steps of a trace.
#[cold]
fn recorded(py: Python<'_>, tensor: &Inner, resolved: &Resolved) -> PyResult<Inner> {
    let items = resolved.entries.iter().map(item).collect();
    let mut result = if !resolved.takes_part {
        layout(py, &named::NEW_REFERENCE, tensor, [])?
    } else if resolved.entries.iter().all(is_of_heal) {
        layout(py, &named::GET_SLICE, tensor, [Value::Shape(items)])?
    } else {
        layout(py, &named::SLICE, tensor, [Value::Shape(items)])?
    };
    for &axis in &resolved.new_axes {
        result = layout(py, &named::UNSQUEEZE, &result, [Value::Int(axis)])?;
    }
    Ok(result)
}

fn entry(key: &Bound<'_, PyAny>, axis: usize, dim: u64) -> PyResult<Take> {
    if let Ok(slice) = key.cast::<PySlice>() {
        let found = slice.indices(dim as isize)?;
        let (count, step) = (found.slicelength as u64, found.step as i64);
        let start = if count == 0 { 0 } else { found.start as u64 };
        return Ok(Take::Steps { start, count, step });
    }
    let number = key.extract::<i64>().unwrap_or(i64::MAX);
    let wrapped = if number < 0 {
        number.saturating_add(dim as i64)
    } else {
        number
    };
    if (0..dim as i64).contains(&wrapped) {
        return Ok(Take::Index(wrapped as u64));
    }
    Err(errors::index(format!(
        "index {key} is out of range for axis {axis} of size {dim}"
    )))
}

/// Sizes as `reshape` takes them: integers or one tuple, one of them may be -1 (inferred).
pub fn sizes(args: &Bound<'_, PyTuple>, elements: u64) -> PyResult<Vec<ShapeItem>> {
    let only = if args.len() == 1 {
        args.get_item(0)?.extract::<Vec<i64>>().ok()
    } else {
        None
    };
    let given: Vec<i64> = match only {
        Some(sizes) => sizes,
        None => args.extract().map_err(|_| {
            let got = args
                .repr()
                .map_or_else(|e| e.to_string(), |text| text.to_string());
            errors::make(args.py(), "DTypeError", ("shape", got, "integers"))
        })?,
    };
    let known = given
        .iter()
        .filter(|&&size| size != -1)
        .try_fold(1i64, |n, &s| n.checked_mul(s));
    let open = given.iter().filter(|&&size| size == -1).count();
    let left = known
        .filter(|&n| n > 0)
        .map(|n| (elements as i64 / n, elements as i64 % n));
    let fill = match (open, left) {
        (0, _) => -1,
        (1, Some((size, 0))) => size,
        _ => {
            let allowed = format!("sizes of {elements} elements, at most one of them -1");
            return Err(errors::param("shape", format!("{given:?}"), &allowed));
        }
    };
    let size = |size| ShapeItem::Int(if size == -1 { fill } else { size });
    Ok(given.into_iter().map(size).collect())
}

/// Sizes as an op takes them.
pub fn sized(dims: &[u64]) -> Value {
    Value::Shape(
        dims.iter()
            .map(|&size| ShapeItem::Int(size as i64))
            .collect(),
    )
}

/// The slices of a tensor at indices of 64 bits along an axis, in the order of the indices, whose
/// axes replace the axis.
#[pyfunction]
pub fn take(py: Python<'_>, tensor: &Tensor, indices: &Tensor, axis: usize) -> PyResult<Tensor> {
    let source = tensor.inner().clone();
    fancy::along(py, source, axis, indices.inner()).map(Tensor::from)
}

/// `tensor[key] = value`: the value's elements, broadcast, written to the view of the key.
pub fn set_item(
    py: Python<'_>,
    tensor: &Bound<'_, Tensor>,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let inner = tensor.get().inner();
    if let Some(device) = inner.device() {
        return Err(on_device::not_written(
            &device.to_string(),
            "item assignment",
        ));
    }
    let repeats = match inner {
        Inner::Real(real) => real.repeats(),
        Inner::Traced(traced) => traced.repeats || traced.view.overlaps_itself(),
        Inner::Away(_) => inner.view().overlaps_itself(),
    };
    if repeats {
        let got = "a view that repeats elements, so that one write would change several";
        return Err(errors::param(
            "item assignment",
            got,
            "a tensor of its own: x.copy()",
        ));
    }
    if set_place(inner, key, value)? {
        return Ok(());
    }
    let Some(target) = basic(py, inner, key)? else {
        if fancy::put(py, inner, key, value)? {
            return Ok(());
        }
        let set = py.import("cloakwork.tensors.indexing")?.getattr("put")?;
        return set.call1((tensor, key, value)).map(|_| ());
    };
    if set_number(&target, value)? {
        return Ok(());
    }
    let value = element_of(py, value, inner)?;
    let value = fewer_axes(py, value, target.view().rank())?;
    let value = numbers::apart(py, value, &target)?;
    let values = vec![Value::Tensor(value), Value::Tensor(target)];
    eval(py, &named::COPY, values).map(|_| ())
}

/// Writes a number of Python's to a place of a tensor of one axis at once, if it may be written.
fn set_place(target: &Inner, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !key.is_exact_instance_of::<PyInt>() {
        return Ok(false);
    }
    let dims = target.view().shape.dims();
    match (of_first_axis(key, dims)?, target) {
        (Some(Take::Index(place)), Inner::Real(real)) if place < dims[0] && dims.len() == 1 => {
            let element = element_for(real, value)?;
            Ok(element.is_some_and(|element| real.set_at(place, &element)))
        }
        _ => Ok(false),
    }
}

/// Writes a number of Python's to a tensor of one element at once, if it may be written.
fn set_number(target: &Inner, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Inner::Real(only) = target else {
        return Ok(false);
    };
    let element = element_for(only, value)?;
    Ok(element.is_some_and(|element| only.set_only(&element)))
}

/// A number of Python's that a tensor takes at once, as an element of it.
fn element_for(tensor: &eager::Tensor, value: &Bound<'_, PyAny>) -> PyResult<Option<Element>> {
    let dtype = tensor.dtype();
    if is_active() || !dtype.is_number() || tensor.storage().is_mapped() {
        return Ok(None);
    }
    match Number::of(value) {
        Some(number) if number.weak().meets(dtype) == dtype => number.element(dtype).map(Some),
        _ => Ok(None),
    }
}

/// A value of no more axes than that, without its first ones, which have one element each: as in
/// NumPy, `a[:] = b` takes a `b` of shape `(1, n)` for an `a` of `(n,)`.
fn fewer_axes(py: Python<'_>, mut value: Inner, rank: usize) -> PyResult<Inner> {
    while value.view().rank() > rank && value.view().shape.dims().first() == Some(&1) {
        value = layout(py, &named::SQUEEZE, &value, [Value::Int(0)])?;
    }
    Ok(value)
}

/// A value as a tensor of the type of the one that it is written to.
fn element_of(py: Python<'_>, value: &Bound<'_, PyAny>, target: &Inner) -> PyResult<Inner> {
    let dtype = target.dtype();
    let refused = |from: &str| {
        Err(PyTypeError::new_err(format!(
            "item assignment: expected elements of {to}, got {from}; convert them first: \
             cloakwork.astype(value, \"{to}\")",
            to = dtype.long_name()
        )))
    };
    if !dtype.is_number() && !value.is_instance_of::<Tensor>() {
        return as_elements(py, value, dtype);
    }
    if let Some(number) = Number::of(value) {
        if number.weak().meets(dtype) != dtype {
            return refused(number.weak().dtype().long_name());
        }
        return number.tensor(dtype);
    }
    let inner = tensor_of(value, "value", None)?;
    let (from, to) = (kind(inner.dtype()), kind(dtype));
    let others = !dtype.is_number() || !inner.dtype().is_number();
    if from > to || (others && inner.dtype() != dtype) {
        return refused(inner.dtype().long_name());
    }
    // The numbers of a list have to fit, as single ones do.
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return as_elements(py, value, dtype);
    }
    numbers::convert(py, &inner, dtype)
}

/// A value of Python's as elements of a type.
fn as_elements(py: Python<'_>, value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Inner> {
    let asarray = py.import("cloakwork")?.getattr("asarray")?;
    let object = crate::dtype::object(py, dtype)?;
    let element = asarray.call1((value, object))?.cast_into::<Tensor>()?;
    Ok(element.get().inner().clone())
}

/// Kinds in the order in which the later hold the earlier.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        d if d.is_integer() => 1,
        d if d.is_complex() => 3,
        _ => 2,
    }
}
