//! Writing `.npy` version 1.0, byte for byte as NumPy does.

use super::MAGIC;
use crate::layout::gather;
use cloakwork_ir::{DType, HostTensor, View};
use std::borrow::Cow;
use std::fmt::Write;

/// NumPy leaves room in the header for the growing axis to reach this many digits.
const GROWTH_DIGITS: usize = 21;

/// A tensor as `.npy` can say it.
pub(crate) struct Dense<'t> {
    /// Magic, version and dict, padded to a multiple of 64 bytes.
    pub(crate) header: Vec<u8>,
    /// The elements, row-major or column-major as the header says.
    pub(crate) data: Cow<'t, [u8]>,
}

/// The `.npy` file of a tensor. Row-major and column-major tensors keep their order in memory;
/// all others are written row-major.
#[must_use]
pub fn encode(tensor: &HostTensor) -> Vec<u8> {
    let Dense { mut header, data } = dense(tensor);
    header.extend_from_slice(&data);
    header
}

/// Header and elements; the elements are borrowed where they lie without gaps.
pub(crate) fn dense(tensor: &HostTensor) -> Dense<'_> {
    let view = tensor.view();
    let dims = view.shape.dims();
    let start = view.offset as usize * tensor.dtype().size_bytes();
    let end = start + tensor.ty().size_bytes() as usize;
    let in_place = || Cow::Borrowed(tensor.bytes().as_slice().get(start..end).unwrap_or(&[]));
    let (fortran_order, data) = if view.is_contiguous() {
        (false, in_place())
    } else if is_column_major(view) {
        (true, in_place())
    } else {
        (false, Cow::Owned(gather(tensor)))
    };
    Dense {
        header: header(tensor.dtype(), dims, fortran_order),
        data,
    }
}

fn is_column_major(view: &View) -> bool {
    let mut expected = 1i64;
    view.shape
        .dims()
        .iter()
        .zip(&view.strides)
        .all(|(&dim, &stride)| {
            let fits = dim == 1 || stride == expected;
            expected *= dim as i64;
            fits
        })
}

fn header(dtype: DType, dims: &[u64], fortran_order: bool) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let mut dict = format!(
        "{{'descr': '{}', 'fortran_order': {order}, 'shape': (",
        descr(dtype)
    );
    for (axis, dim) in dims.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(dict, "{}{dim}", if axis == 0 { "" } else { ", " });
    }
    dict.push_str(if dims.len() == 1 { ",), }" } else { "), }" });
    let growing = if fortran_order {
        dims.last()
    } else {
        dims.first()
    };
    if let Some(dim) = growing {
        let spaces = GROWTH_DIGITS.saturating_sub(dim.to_string().len());
        dict.extend(std::iter::repeat_n(' ', spaces));
    }
    let unpadded = MAGIC.len() + 4 + dict.len() + 1;
    // NumPy adds 64 spaces where none are needed.
    dict.extend(std::iter::repeat_n(' ', 64 - unpadded % 64));
    dict.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&[1, 0]);
    // Sixteen axes of twenty digits stay far below 64 KiB.
    header.extend_from_slice(&(dict.len() as u16).to_le_bytes());
    header.extend_from_slice(dict.as_bytes());
    header
}

fn descr(dtype: DType) -> String {
    let size = dtype.size_bytes();
    match super::KINDS.into_iter().find(|(_, known)| *known == dtype) {
        Some((kind, _)) if size == 1 => format!("|{kind}"),
        Some((kind, _)) => format!("<{kind}"),
        // NumPy has no type for elements of fields and points: plain bytes.
        None => format!("|V{size}"),
    }
}
