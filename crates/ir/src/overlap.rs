//! Whether two views of one buffer share elements: the base of the aliasing rules.

use crate::{MAX_RANK, Overlap, View};
use smallvec::SmallVec;

/// One axis of a view along a stride of the common set: indices `low..=high` in steps.
#[derive(Clone, Copy)]
struct Digit {
    low: i64,
    high: i64,
}

impl View {
    /// How this view and another of the same buffer meet. Exact where the strides form a mixed
    /// radix (slices of one dense tensor do); otherwise errs towards [`Overlap::Partial`].
    #[must_use]
    pub fn overlap(&self, other: &Self) -> Overlap {
        if self.shape.elements() == 0 || other.shape.elements() == 0 {
            return Overlap::Disjoint;
        }
        if self.same_elements(other) {
            return Overlap::Same;
        }
        let ((a_low, a_high), (b_low, b_high)) = (self.bounds(), other.bounds());
        if a_high <= b_low || b_high <= a_low || self.apart_by_digits(other) {
            return Overlap::Disjoint;
        }
        Overlap::Partial
    }

    /// Whether some element is reached by two different indices.
    #[must_use]
    pub fn overlaps_itself(&self) -> bool {
        let mut axes: SmallVec<[(i64, u64); MAX_RANK]> = self
            .shape
            .dims()
            .iter()
            .zip(&self.strides)
            .filter(|&(&dim, _)| dim > 1)
            .map(|(&dim, &stride)| (stride.abs(), dim))
            .collect();
        axes.sort_unstable();
        let mut reach = 0i64;
        for (stride, dim) in axes {
            if stride <= reach {
                return self.shape.elements() > 0;
            }
            reach += stride * (dim as i64 - 1);
        }
        false
    }

    fn same_elements(&self, other: &Self) -> bool {
        let axes = |v: &Self| -> SmallVec<[(u64, i64); MAX_RANK]> {
            let dims = v.shape.dims().iter().copied();
            dims.zip(v.strides.iter().copied())
                .filter(|&(dim, _)| dim != 1)
                .collect()
        };
        self.offset == other.offset && axes(self) == axes(other)
    }

    /// Writes both views as intervals of digits over their common strides. If each address has just
    /// one such writing, the views are apart as soon as one digit's intervals are.
    fn apart_by_digits(&self, other: &Self) -> bool {
        let mut strides: SmallVec<[i64; 32]> = self
            .strides
            .iter()
            .chain(&other.strides)
            .map(|s| s.abs())
            .filter(|&s| s != 0)
            .collect();
        strides.push(1);
        strides.sort_unstable_by(|a, b| b.cmp(a));
        strides.dedup();
        let (Some(a), Some(b)) = (self.digits(&strides), other.digits(&strides)) else {
            return false;
        };
        // No carries: everything below a stride, in either view, must stay below that stride.
        let mut reach = 0i64;
        let mut apart = false;
        for ((&stride, a), b) in strides.iter().zip(&a).zip(&b).rev() {
            if reach >= stride {
                return false;
            }
            reach += stride * a.high.max(b.high);
            apart |= a.high < b.low || b.high < a.low;
        }
        apart
    }

    fn digits(&self, strides: &[i64]) -> Option<SmallVec<[Digit; 32]>> {
        let mut rest = self.bounds().0;
        if rest < 0 {
            return None;
        }
        let digits = strides
            .iter()
            .map(|&stride| {
                let low = rest / stride;
                rest %= stride;
                let span: i64 = self
                    .shape
                    .dims()
                    .iter()
                    .zip(&self.strides)
                    .filter(|&(_, s)| s.abs() == stride)
                    .map(|(&dim, _)| dim as i64 - 1)
                    .sum();
                Digit {
                    low,
                    high: low + span,
                }
            })
            .collect();
        Some(digits)
    }
}
