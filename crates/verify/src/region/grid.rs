//! Views in many pieces, compared by their strides: what a list of the pieces would take too long
//! for.

use cloakwork_ir::View;
use smallvec::SmallVec;

/// Runs of `length` elements, which begin at `low + i * stride + j * stride + ...`, one term an
/// axis. What lies along one axis fits between two neighbours along the next, so that each element
/// is in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    low: i64,
    length: i64,
    /// Strides and sizes, by rising strides; no two that one axis could say.
    axes: SmallVec<[(i64, i64); 4]>,
}

impl Grid {
    /// A view's elements; `None` where it has none, or shows some twice.
    pub fn of(view: &View) -> Option<Self> {
        let axes = view.strides.iter().zip(view.shape.dims());
        let axes = axes.map(|(&stride, &dim)| (stride.abs(), dim as i64));
        let axes = axes.filter(|&(stride, dim)| stride != 0 && dim > 1);
        if view.shape.elements() == 0 {
            return None;
        }
        Self::new(view.bounds().0, 1, axes.collect())
    }

    fn new(low: i64, mut length: i64, mut given: SmallVec<[(i64, i64); 4]>) -> Option<Self> {
        given.retain(|(_, dim)| *dim > 1);
        given.sort_unstable();
        let mut axes: SmallVec<[(i64, i64); 4]> = SmallVec::new();
        let mut reach = length;
        for (stride, dim) in given {
            if stride < reach {
                return None;
            }
            reach += stride * (dim - 1);
            match axes.last_mut() {
                None if stride == length => length *= dim,
                Some(last) if last.0 * last.1 == stride => last.1 *= dim,
                _ => axes.push((stride, dim)),
            }
        }
        Some(Self { low, length, axes })
    }

    /// Its only run, if it has one: from, to.
    pub fn only_run(&self) -> Option<(i64, i64)> {
        let end = self.low + self.length;
        self.axes.is_empty().then_some((self.low, end))
    }

    /// The first element, and one past the last.
    pub fn bounds(&self) -> (i64, i64) {
        let reach: i64 = self
            .axes
            .iter()
            .map(|(stride, dim)| stride * (dim - 1))
            .sum();
        (self.low, self.low + reach + self.length)
    }

    /// One past the last element of the run that an element is in.
    pub fn end_of_run(&self, at: i64) -> Option<i64> {
        let mut rest = at - self.low;
        if rest < 0 {
            return None;
        }
        for &(stride, dim) in self.axes.iter().rev() {
            if rest / stride >= dim {
                return None;
            }
            rest %= stride;
        }
        (rest < self.length).then_some(at - rest + self.length)
    }

    /// Whether all elements of another are in it. It may miss that they are; it never says so of
    /// others.
    pub fn covers(&self, other: &Self) -> bool {
        let mut from = other.low - self.low;
        if from < 0 {
            return false;
        }
        // How far one may go along each axis, and within a run, from the first element on.
        let mut room: SmallVec<[i64; 4]> = SmallVec::new();
        for &(stride, dim) in self.axes.iter().rev() {
            room.push(dim - 1 - from / stride);
            from %= stride;
        }
        let mut within = self.length - other.length - from;
        for &(mut step, dim) in &other.axes {
            for (&(stride, _), room) in self.axes.iter().rev().zip(&mut room) {
                *room -= step / stride * (dim - 1);
                step %= stride;
            }
            within -= step * (dim - 1);
        }
        within >= 0 && room.iter().all(|&room| room >= 0)
    }

    /// Two as one, and what of the longer is left over, where one continues the other: along an
    /// axis, or run by run.
    pub fn joined(&self, other: &Self) -> Option<(Self, Option<Self>)> {
        let (first, second) = if self.low <= other.low {
            (self, other)
        } else {
            (other, self)
        };
        let distance = second.low - first.low;
        if distance == first.length {
            return first.beside(second);
        }
        if first.length != second.length {
            return None;
        }
        let mut axes = first.aligned(second);
        let mut differing = axes.iter_mut().filter(|axis| axis.sizes.0 != axis.sizes.1);
        match (differing.next(), differing.next()) {
            (None, _) => {
                // The next along an axis that they have, or the second along one of its own.
                match axes.iter_mut().find(|axis| axis.end() == distance) {
                    Some(axis) => axis.sizes.0 *= 2,
                    None => axes.push(Axis {
                        stride: distance,
                        sizes: (2, 2),
                    }),
                }
            }
            (Some(axis), None) if axis.end() == distance => axis.sizes.0 += axis.sizes.1,
            _ => return None,
        }
        let joined = axes.iter().map(|axis| (axis.stride, axis.sizes.0));
        Some((Self::new(first.low, first.length, joined.collect())?, None))
    }

    /// The runs of one, each continued by one of another.
    fn beside(&self, other: &Self) -> Option<(Self, Option<Self>)> {
        let axes = self.aligned(other);
        let least = |axis: &Axis| axis.sizes.0.min(axis.sizes.1);
        let common = axes.iter().map(|axis| (axis.stride, least(axis)));
        let both = Self::new(self.low, self.length + other.length, common.collect())?;
        let mut differing = axes.iter().filter(|axis| axis.sizes.0 != axis.sizes.1);
        let (Some(longest), None) = (differing.next(), differing.next()) else {
            return axes
                .iter()
                .all(|axis| axis.sizes.0 == axis.sizes.1)
                .then_some((both, None));
        };
        let (longer, more) = match longest.sizes {
            (ours, theirs) if ours > theirs => (self, ours - theirs),
            (ours, theirs) => (other, theirs - ours),
        };
        let left = axes.iter().map(|axis| match axis.stride == longest.stride {
            true => (axis.stride, more),
            false => (axis.stride, axis.sizes.0),
        });
        let low = longer.low + longest.stride * least(longest);
        Some((both, Some(Self::new(low, longer.length, left.collect())?)))
    }

    /// The axes of both, those that only one has at size one in the other.
    fn aligned(&self, other: &Self) -> SmallVec<[Axis; 4]> {
        let size = |grid: &Self, stride: i64| {
            let axis = grid.axes.iter().find(|axis| axis.0 == stride);
            axis.map_or(1, |axis| axis.1)
        };
        let all = self.axes.iter().chain(&other.axes);
        let mut strides: SmallVec<[i64; 8]> = all.map(|axis| axis.0).collect();
        strides.sort_unstable();
        strides.dedup();
        let axis = |stride| Axis {
            stride,
            sizes: (size(self, stride), size(other, stride)),
        };
        strides.into_iter().map(axis).collect()
    }
}

/// An axis of two grids, with its size in each.
struct Axis {
    stride: i64,
    sizes: (i64, i64),
}

impl Axis {
    /// How far it goes in the first.
    const fn end(&self) -> i64 {
        self.stride * self.sizes.0
    }
}
