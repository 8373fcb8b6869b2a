//! Looking at tensors: whether two are equal.

use crate::abi::cw_find_difference;
use cloakwork_ir::{ALL_DTYPES, View};
use std::ffi::c_void;

/// Where two tensors differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Row-major index of the first element that differs.
    pub first: u64,
    /// How many differ.
    pub count: u64,
}

/// Where two tensors of `element_bytes` an element (the size of some dtype) differ; `None` if
/// nowhere.
///
/// Views of different shapes, or that reach beyond their bytes, differ everywhere.
#[must_use]
pub fn find_difference(
    element_bytes: usize,
    (a, a_view): (&[u8], &View),
    (b, b_view): (&[u8], &View),
) -> Option<Difference> {
    let everywhere = Some(Difference {
        first: 0,
        count: a_view.shape.elements(),
    });
    let is_known = ALL_DTYPES
        .iter()
        .any(|dtype| dtype.size_bytes() == element_bytes);
    if a_view.shape != b_view.shape || !is_known {
        return everywhere;
    }
    let (Some(a), Some(b)) = (
        start_of(element_bytes, a, a_view),
        start_of(element_bytes, b, b_view),
    ) else {
        return everywhere;
    };
    if a_view.shape.elements() == 0 {
        return None;
    }
    let dims = signed_dims(a_view);
    let mut count = 0;
    // SAFETY: start_of checked that all elements of both views lie in their bytes.
    let first = unsafe {
        cw_find_difference(
            element_bytes as u32,
            a,
            a_view.strides.as_ptr(),
            b,
            b_view.strides.as_ptr(),
            dims.len() as u32,
            dims.as_ptr(),
            &raw mut count,
        )
    };
    u64::try_from(first)
        .ok()
        .map(|first| Difference { first, count })
}

fn signed_dims(view: &View) -> Vec<i64> {
    view.shape.dims().iter().map(|&dim| dim as i64).collect()
}

/// Address of element `[0, ..., 0]` of a view all of whose elements lie in the bytes.
fn start_of(element_bytes: usize, bytes: &[u8], view: &View) -> Option<*const c_void> {
    if view.shape.rank() != view.strides.len() {
        return None;
    }
    if view.shape.elements() == 0 {
        return Some(bytes.as_ptr().cast());
    }
    let size = element_bytes as i128;
    let (mut low, mut high) = (i128::from(view.offset), i128::from(view.offset));
    for (&dim, &stride) in view.shape.dims().iter().zip(&view.strides) {
        let reach = i128::from(stride) * (i128::from(dim) - 1);
        if reach < 0 {
            low += reach
        } else {
            high += reach
        }
    }
    if low < 0 || (high + 1) * size > bytes.len() as i128 {
        return None;
    }
    let offset = usize::try_from(i128::from(view.offset) * size).ok()?;
    Some(bytes.get(offset..)?.as_ptr().cast())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use cloakwork_ir::Shape;

    fn shape(dims: &[u64]) -> Shape {
        Shape::new(dims).unwrap()
    }

    fn bytes(words: &[i64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn differences_are_counted_and_the_first_is_named() {
        let words: Vec<i64> = (0..1000).collect();
        let mut other = words.clone();
        for i in [700, 701, 999] {
            other[i] += 1;
        }
        let view = View::contiguous(shape(&[10, 100]));
        let (a, b) = (bytes(&words), bytes(&other));
        assert_eq!(find_difference(8, (&a, &view), (&a, &view)), None);
        let found = find_difference(8, (&a, &view), (&b, &view));
        assert_eq!(
            found,
            Some(Difference {
                first: 700,
                count: 3
            })
        );
        // Pairs of words: complex numbers.
        let pairs = View::contiguous(shape(&[500]));
        let found = find_difference(16, (&a, &pairs), (&b, &pairs));
        assert_eq!(
            found,
            Some(Difference {
                first: 350,
                count: 2
            })
        );
        // Elements of several words: fields and points.
        for (size, first) in [(32, 175), (64, 87), (192, 29)] {
            let wide = View::contiguous(shape(&[40.max(first + 1)]));
            let found = find_difference(size, (&a, &wide), (&b, &wide));
            assert_eq!(found, Some(Difference { first, count: 1 }), "{size}");
        }
        // Misaligned bytes are looked at too.
        let shifted: Vec<u8> = std::iter::once(0).chain(b.iter().copied()).collect();
        let found = find_difference(8, (&a, &view), (&shifted[1..], &view));
        assert_eq!(
            found,
            Some(Difference {
                first: 700,
                count: 3
            })
        );
    }

    #[test]
    fn views_that_do_not_fit_differ_everywhere() {
        let a = bytes(&[1, 2, 3, 4]);
        let fits = View::contiguous(shape(&[4]));
        let mut beyond = fits.clone();
        beyond.offset = 1;
        let everywhere = Some(Difference { first: 0, count: 4 });
        assert_eq!(find_difference(8, (&a, &fits), (&a, &beyond)), everywhere);
        assert_eq!(
            find_difference(8, (&a, &fits), (&a, &View::contiguous(shape(&[2, 2])))),
            everywhere
        );
        beyond.offset = i64::MAX;
        assert_eq!(find_difference(8, (&a, &fits), (&a, &beyond)), everywhere);
        let empty = View::contiguous(shape(&[0, 4]));
        assert_eq!(find_difference(8, (&[], &empty), (&[], &empty)), None);
    }
}
