//! NumPy's basic indexing: integers, slices, `...` and `None` become one entry an axis.

use crate::errors;
use crate::eval::{Value, layout};
use crate::tensor::Inner;
use cloakwork_ir::ShapeItem;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice, PySliceMethods, PyTuple};

/// The view that `tensor[key]` stands for.
pub fn get_item(py: Python<'_>, tensor: &Inner, key: &Bound<'_, PyAny>) -> PyResult<Inner> {
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let resolved = resolve(&keys, tensor.view().shape.dims())?;
    let mut result = if resolved.takes_all {
        layout(py, "new_reference", tensor, [])?
    } else {
        layout(py, "get_slice", tensor, [Value::Shape(resolved.entries)])?
    };
    for axis in resolved.new_axes {
        result = layout(py, "unsqueeze", &result, [Value::Int(axis)])?;
    }
    Ok(result)
}

struct Resolved {
    /// One entry an axis of the tensor.
    entries: Vec<ShapeItem>,
    /// Whether they are all of it, so that nothing needs slicing.
    takes_all: bool,
    /// Axes of the result that `None` puts there, ascending.
    new_axes: Vec<i64>,
}

fn resolve(keys: &[Bound<'_, PyAny>], dims: &[u64]) -> PyResult<Resolved> {
    let is_ellipsis = |key: &Bound<'_, PyAny>| key.is_instance_of::<PyEllipsis>();
    let taken = keys
        .iter()
        .filter(|key| !key.is_none() && !is_ellipsis(key))
        .count();
    let Some(mut spare) = dims.len().checked_sub(taken) else {
        let text = format!("{taken} indices for a tensor of {} axes", dims.len());
        return Err(errors::index(text));
    };
    if keys.iter().filter(|key| is_ellipsis(key)).count() > 1 {
        return Err(errors::index("an index can have only one `...`"));
    }
    let mut resolved = Resolved {
        entries: Vec::new(),
        takes_all: true,
        new_axes: Vec::new(),
    };
    let mut rank = 0;
    let mut rest = dims.iter().copied();
    for key in keys {
        if key.is_none() {
            resolved.new_axes.push(rank);
            rank += 1;
        } else if is_ellipsis(key) {
            rank += spare as i64;
            resolved
                .entries
                .extend(rest.by_ref().take(std::mem::take(&mut spare)).map(whole));
        } else if let Some(dim) = rest.next() {
            let axis = resolved.entries.len();
            let entry = entry(key, axis, dim)?;
            resolved.takes_all &= entry == whole(dim);
            rank += i64::from(matches!(entry, ShapeItem::Slice { .. }));
            resolved.entries.push(entry);
        }
    }
    resolved.entries.extend(rest.map(whole));
    Ok(resolved)
}

fn whole(dim: u64) -> ShapeItem {
    ShapeItem::Slice {
        start: Some(0),
        stop: Some(dim as i64),
        step: Some(1),
    }
}

fn entry(key: &Bound<'_, PyAny>, axis: usize, dim: u64) -> PyResult<ShapeItem> {
    if let Ok(slice) = key.cast::<PySlice>() {
        let found = slice.indices(dim as isize)?;
        if found.step < 1 {
            let text = format!(
                "axis {axis}: a slice's step must be 1 or more, got {}",
                found.step
            );
            return Err(errors::index(text));
        }
        let (start, step) = (found.start as i64, found.step as i64);
        let last = start + (found.slicelength as i64 - 1) * step;
        let stop = if found.slicelength == 0 {
            start
        } else {
            last + 1
        };
        return Ok(ShapeItem::Slice {
            start: Some(start),
            stop: Some(stop),
            step: Some(step),
        });
    }
    let number = (!key.is_instance_of::<PyBool>())
        .then(|| key.extract::<i64>().ok())
        .flatten();
    let Some(number) = number else {
        let kind = key.get_type().name()?;
        return Err(errors::index(format!(
            "axis {axis}: an index is an integer, a slice, `...` or None, got {kind}; \
             take_along_axis gathers by a tensor"
        )));
    };
    let wrapped = if number < 0 {
        number.saturating_add(dim as i64)
    } else {
        number
    };
    if (0..dim as i64).contains(&wrapped) {
        return Ok(ShapeItem::Int(wrapped));
    }
    Err(errors::index(format!(
        "index {number} is out of range for axis {axis} of size {dim}"
    )))
}

/// Sizes as `reshape` takes them: integers or one tuple, one of them -1 for what is left.
pub fn sizes(args: &Bound<'_, PyTuple>, elements: u64) -> PyResult<Vec<ShapeItem>> {
    let given: Vec<i64> = match args.extract::<(Vec<i64>,)>() {
        Ok((sizes,)) => sizes,
        Err(_) => args.extract()?,
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
