//! Between views of untrusted origin and dense bytes: bounds that cannot overflow, and copies.

use cloakwork_ir::{Bytes, DType, HostTensor, MAX_ELEMENTS, Shape, View};

/// A tensor that repeats elements by zero strides may claim this many bytes, whatever lies behind
/// it: a few bytes of a file must not unfold into a petabyte.
pub(crate) const MAX_EXPANDED_BYTES: u64 = 1 << 30;

/// A tensor whose parts all came from a file, or words for its defect.
pub(crate) fn untrusted_tensor(
    dtype: DType,
    (shape, strides, offset): (Shape, &[i64], i64),
    bytes: Bytes,
) -> Result<HostTensor, String> {
    let available = bytes.as_slice().len() as u64;
    let claimed = shape.elements() * dtype.size_bytes() as u64;
    if claimed > available.max(MAX_EXPANDED_BYTES) {
        return Err(format!(
            "{dtype}{shape}, which repeats {available} bytes to {claimed}"
        ));
    }
    let view = checked_view(shape, strides, offset)
        .ok_or_else(|| format!("strides {strides:?} and offset {offset}"))?;
    HostTensor::new(dtype, view, aligned(bytes, dtype.size_bytes()))
        .map_err(|error| error.to_string())
}

/// A view whose strides and offset came from a file; `None` if it reaches below zero, or so far
/// that sums of its parts might overflow.
fn checked_view(shape: Shape, strides: &[i64], offset: i64) -> Option<View> {
    let limit = i128::from(MAX_ELEMENTS);
    let far = |value: i128| value.abs() > limit;
    if shape.rank() != strides.len() || offset < 0 || far(offset.into()) {
        return None;
    }
    let (mut low, mut high) = (i128::from(offset), i128::from(offset));
    for (&dim, &stride) in shape.dims().iter().zip(strides) {
        let reach = i128::from(stride) * (i128::from(dim) - 1).max(0);
        if far(stride.into()) {
            return None;
        }
        if reach < 0 {
            low += reach
        } else {
            high += reach
        }
    }
    (low >= 0 && !far(high)).then(|| View {
        shape,
        strides: strides.into(),
        offset,
    })
}

/// The same bytes, moved if they do not start at a multiple of the element size.
///
/// Allocations start at multiples of 8 at least, so a moved tensor can be read in place.
pub(crate) fn aligned(bytes: Bytes, element_bytes: usize) -> Bytes {
    let slice = bytes.as_slice();
    if slice.as_ptr().addr().is_multiple_of(element_bytes) {
        bytes
    } else {
        slice.to_vec().into()
    }
}

/// The elements of a tensor in row-major order, without gaps.
pub(crate) fn gather(tensor: &HostTensor) -> Vec<u8> {
    let size = tensor.dtype().size_bytes();
    let view = tensor.view();
    let bytes = tensor.bytes().as_slice();
    let total = view.shape.elements() as usize * size;
    let mut out = Vec::with_capacity(total);
    if total == 0 {
        return out;
    }
    let mut axes: Vec<(u64, i64)> = view
        .shape
        .dims()
        .iter()
        .copied()
        .zip(view.strides.iter().copied())
        .collect();
    // A dense innermost axis is copied as one run.
    let run = match axes.last() {
        Some(&(dim, 1)) => {
            axes.pop();
            dim as usize * size
        }
        _ => size,
    };
    let mut index = vec![0u64; axes.len()];
    let mut offset = view.offset;
    while out.len() < total {
        let start = offset as usize * size;
        // `HostTensor` has checked that every element lies inside.
        out.extend_from_slice(bytes.get(start..start + run).unwrap_or(&[]));
        if !step(&axes, &mut index, &mut offset) {
            break;
        }
    }
    out
}

/// Advances an index by one in row-major order; false after the last.
fn step(axes: &[(u64, i64)], index: &mut [u64], offset: &mut i64) -> bool {
    for (at, &(dim, stride)) in index.iter_mut().zip(axes).rev() {
        *at += 1;
        *offset += stride;
        if *at < dim {
            return true;
        }
        *offset -= stride * dim as i64;
        *at = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloakwork_ir::DType;

    fn shape(dims: &[u64]) -> Shape {
        Shape::new(dims).unwrap_or_default()
    }

    #[test]
    fn views_that_reach_too_far_are_refused() {
        assert!(checked_view(shape(&[2, 3]), &[3, 1], 0).is_some());
        assert!(checked_view(shape(&[2, 3]), &[3], 0).is_none());
        assert!(checked_view(shape(&[2]), &[-1], 0).is_none());
        assert!(checked_view(shape(&[2]), &[-1], 1).is_some());
        assert!(checked_view(shape(&[2]), &[i64::MAX], 0).is_none());
        assert!(checked_view(shape(&[1 << 20]), &[1 << 40], 0).is_none());
        assert!(checked_view(shape(&[2]), &[1], i64::MIN).is_none());
    }

    #[test]
    fn gathering_agrees_with_the_words_of_the_view() -> Result<(), Box<dyn std::error::Error>> {
        let bytes: Bytes = (0u8..96).collect::<Vec<_>>().into();
        for (dims, strides, offset) in [
            (vec![2u64, 3, 4], vec![1i64, 2, 6], 0i64),
            (vec![3, 4], vec![4, 1], 5),
            (vec![4, 2, 2], vec![0, -3, 1], 11),
            (vec![], vec![], 7),
            (vec![2, 0], vec![1, 1], 0),
            (vec![5], vec![2], 1),
        ] {
            let view = checked_view(shape(&dims), &strides, offset).ok_or("view")?;
            let tensor = HostTensor::new(DType::I16, view, bytes.clone())?;
            let dense = HostTensor::from_vec(DType::I16, shape(&dims), gather(&tensor))?;
            assert_eq!(dense.words(), tensor.words());
        }
        Ok(())
    }
}
