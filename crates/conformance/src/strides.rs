//! The same elements under other strides: a larger tensor, and the view of it.

use crate::excerpt::laid_out;
use cloakwork_ir::{Arg, HostTensor, Shape, ShapeItem, Take, View};
use cloakwork_ops::named;

/// How the elements of a tensor lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The last axis outermost.
    Transposed,
    /// Every second element of the last axis of a larger tensor.
    Sliced,
    /// The last axis from its end to its start.
    Reversed,
    /// Elements that repeat along an axis are there once.
    Repeated,
}

/// The view that makes a tensor of what is uploaded.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// Of each axis the first index, the end and the step.
    Slice(Vec<[i64; 3]>),
    /// The shape that it repeats to.
    Broadcast(Shape),
}

impl Spread {
    pub const ALL: [Self; 4] = [
        Self::Transposed,
        Self::Sliced,
        Self::Reversed,
        Self::Repeated,
    ];

    /// The tensor to upload, and the view to take of it: none where that is the tensor itself. None
    /// for tensors that have no such strides.
    pub fn of(self, data: &HostTensor) -> Option<(HostTensor, Option<Taken>)> {
        let dims = data.view().shape.dims().to_vec();
        let last = dims.len().checked_sub(1)?;
        if data.view().shape.elements() < 2 || !data.view().is_contiguous() {
            return None;
        }
        match self {
            Self::Transposed => {
                let order: Vec<usize> = (0..dims.len()).rev().collect();
                let root = View::with_axis_order(data.view().shape.clone(), &order);
                Some((laid_out(data, &root).ok()?, None))
            }
            Self::Sliced => {
                let size = dims[last];
                let larger = picked(data, 2 * size + 1, |at| (at & 1 == 1).then_some(at / 2))?;
                Some((larger, Some(slice(&dims, [1, 2 * size as i64 + 1, 2]))))
            }
            Self::Reversed => {
                let size = dims[last];
                let turned = picked(data, size, |at| Some(size - 1 - at))?;
                Some((turned, Some(slice(&dims, [size as i64 - 1, -1, -1]))))
            }
            Self::Repeated => {
                let once = picked(data, 1, |_| Some(0))?;
                let again = picked(&once, dims[last], |_| Some(0))?;
                let is_same = again.bytes().as_slice() == data.bytes().as_slice();
                let shape = data.view().shape.clone();
                is_same.then_some((once, Some(Taken::Broadcast(shape))))
            }
        }
    }
}

/// The last axis of a slice; all of every other one.
fn slice(dims: &[u64], own: [i64; 3]) -> Taken {
    let mut entries: Vec<[i64; 3]> = dims.iter().map(|&size| [0, size as i64, 1]).collect();
    if let Some(last) = entries.last_mut() {
        *last = own;
    }
    Taken::Slice(entries)
}

/// A tensor whose last axis has so many elements: each that of an index of the tensor's, or zero.
fn picked(data: &HostTensor, count: u64, index: impl Fn(u64) -> Option<u64>) -> Option<HostTensor> {
    let dims = data.view().shape.dims();
    let (&size, before) = dims.split_last()?;
    let bytes = data.dtype().size_bytes();
    let row = size as usize * bytes;
    let first = data.view().offset as usize * bytes;
    let from = data.bytes().as_slice().get(first..)?;
    let rows: u64 = before.iter().product();
    let mut to = Vec::new();
    for line in from.chunks_exact(row).take(rows as usize) {
        for at in 0..count {
            match index(at) {
                Some(index) => {
                    let start = index as usize * bytes;
                    to.extend_from_slice(line.get(start..start + bytes)?);
                }
                None => to.resize(to.len() + bytes, 0),
            }
        }
    }
    let dims: Vec<u64> = before.iter().copied().chain([count]).collect();
    HostTensor::from_vec(data.dtype(), Shape::new(&dims).ok()?, to).ok()
}

impl Taken {
    /// The op that takes it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Slice(_) => named::SLICE.name,
            Self::Broadcast(_) => named::BROADCAST_TO.name,
        }
    }

    /// Its argument.
    pub fn arg(&self) -> Arg {
        match self {
            Self::Slice(entries) => {
                let item = |&[start, stop, step]: &[i64; 3]| ShapeItem::Slice {
                    start: Some(start),
                    stop: Some(stop),
                    step: Some(step),
                };
                Arg::Shape(entries.iter().map(item).collect())
            }
            Self::Broadcast(shape) => cloakwork_ir::shape_arg(shape),
        }
    }

    /// The view of a root.
    pub fn of(&self, root: &View) -> View {
        let view = match self {
            Self::Slice(entries) => {
                let take = |&[start, stop, step]: &[i64; 3]| Take::Steps {
                    start: start as u64,
                    count: ((stop - start) / step) as u64 + u64::from((stop - start) % step != 0),
                    step,
                };
                let takes: Vec<Take> = entries.iter().map(take).collect();
                root.slice(&takes).ok()
            }
            Self::Broadcast(shape) => root.broadcast_to(shape),
        };
        view.unwrap_or_else(|| root.clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cloakwork_ir::DType;

    #[test]
    fn however_elements_lie_the_view_has_them_in_their_order() {
        let words: Vec<u8> = (0..12u8).collect();
        let shape = Shape::new(&[3, 4]).unwrap();
        let data = HostTensor::from_vec(DType::I8, shape.clone(), words).unwrap();
        let same = HostTensor::from_vec(DType::I8, shape, vec![5; 12]).unwrap();
        assert!(Spread::Repeated.of(&data).is_none());
        for (how, tensor) in Spread::ALL.map(|how| match how {
            Spread::Repeated => (how, &same),
            _ => (how, &data),
        }) {
            let (root, taken) = how.of(tensor).unwrap();
            let view = taken.map_or(root.view().clone(), |taken| taken.of(root.view()));
            assert!(!view.is_contiguous(), "{how:?}");
            assert_eq!(
                root.with_view(view).unwrap().words(),
                tensor.words(),
                "{how:?}"
            );
        }
    }
}
