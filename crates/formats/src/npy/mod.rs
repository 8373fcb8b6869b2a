//! NumPy's `.npy`: versions 1 to 3 in, version 1 out. Decides which arrays are tensors; the
//! header's Python literal is `literal`'s matter.

mod encode;
mod literal;

pub use encode::encode;
pub(crate) use encode::{Dense, dense};

use crate::layout::aligned;
use crate::{Mismatch, TensorError};
use cloakwork_ir::{Bytes, DType, HostTensor, Shape, Type, View};
use literal::Header;

/// The first bytes of every `.npy` file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy's kinds of numbers.
const KINDS: [(&str, DType); 13] = [
    ("b1", DType::Bool),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
    ("f4", DType::F32),
    ("f8", DType::F64),
    ("c8", DType::C64),
    ("c16", DType::C128),
];
/// Far above what sixteen axes need.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// An error at a byte of the array.
pub(crate) fn wrong(
    offset: usize,
    expected: impl Into<Box<str>>,
    got: impl Into<Box<str>>,
    hint: &str,
) -> TensorError {
    TensorError::Npy {
        offset: offset as u64,
        why: Mismatch::new(expected, got, hint),
    }
}

/// Reads an array without copying its elements, unless they lie at odd addresses.
///
/// # Errors
/// No `.npy` header, a dtype or byte order that tensors do not have, a shape beyond the limits, or
/// more or fewer bytes than the shape needs.
pub fn parse(bytes: &Bytes) -> Result<HostTensor, TensorError> {
    let (header_start, header_end) = header_range(bytes.as_slice())?;
    let header = bytes
        .as_slice()
        .get(header_start..header_end)
        .unwrap_or(&[]);
    let header = literal::parse(header, header_start)?;
    let dtype = dtype(&header)?;
    let shape = Shape::new(&header.shape).map_err(|error| {
        let got = error.to_string();
        wrong(header.shape_at, "a shape within the limits", got, "")
    })?;
    let available = bytes.as_slice().len().saturating_sub(header_end) as u64;
    let ty = Type::new(dtype, shape.clone());
    if ty.size_bytes() != available {
        let expected = format!("{} bytes of elements for {ty}", ty.size_bytes());
        let hint = "the header is wrong, or the array is truncated";
        let got = format!("{available} bytes");
        return Err(wrong(header_end, expected, got, hint));
    }
    let order: Vec<usize> = (0..shape.rank()).rev().collect();
    let view = if header.fortran_order {
        View::with_axis_order(shape, &order)
    } else {
        View::contiguous(shape)
    };
    let data = bytes
        .slice(header_end..bytes.as_slice().len())
        .unwrap_or_else(|| bytes.clone());
    HostTensor::new(dtype, view, aligned(data, dtype.size_bytes()))
        .map_err(|error| wrong(header_end, "all elements", error.to_string(), ""))
}

/// Where the header's literal begins and ends.
fn header_range(bytes: &[u8]) -> Result<(usize, usize), TensorError> {
    if !bytes.starts_with(MAGIC) {
        let got = bytes.get(..6).unwrap_or(bytes).escape_ascii().to_string();
        return Err(wrong(0, "the magic \\x93NUMPY", format!("`{got}`"), ""));
    }
    let end = "the end of the data";
    let truncated = || wrong(bytes.len(), "the rest of the header", end, "");
    let version = bytes.get(6..8).ok_or_else(truncated)?;
    let (start, length) = match version {
        [1, 0] => {
            let field = bytes.get(8..).and_then(<[u8]>::first_chunk);
            let length = field.map(|field| u16::from_le_bytes(*field));
            (10, usize::from(length.ok_or_else(truncated)?))
        }
        [2 | 3, 0] => {
            let field = bytes.get(8..).and_then(<[u8]>::first_chunk);
            let length = field.map(|field| u32::from_le_bytes(*field));
            (12, length.ok_or_else(truncated)? as usize)
        }
        _ => {
            let got = format!("{version:?}");
            return Err(wrong(6, "version [1, 0], [2, 0] or [3, 0]", got, ""));
        }
    };
    if length > MAX_HEADER_BYTES {
        let expected = format!("a header of at most {MAX_HEADER_BYTES} bytes");
        return Err(wrong(8, expected, format!("{length} bytes"), ""));
    }
    let end = start + length;
    if end > bytes.len() {
        return Err(truncated());
    }
    Ok((start, end))
}

/// The element type of a `descr` such as `<i8` or `|b1`.
fn dtype(header: &Header) -> Result<DType, TensorError> {
    let descr = header.descr.as_str();
    let refuse = |expected: &str, hint: &str| {
        let got = format!("descr '{descr}'");
        Err(wrong(header.descr_at, expected, got, hint))
    };
    let (order, kind) = match descr.as_bytes().first() {
        Some(b'<' | b'|' | b'=' | b'>') => descr.split_at(1),
        _ => ("", descr),
    };
    if kind.starts_with('O') {
        let hint = "object arrays contain pickled Python objects, which are never loaded";
        return refuse("numbers", hint);
    }
    if kind.starts_with('V') {
        return refuse("numbers", "structured and void arrays are not tensors");
    }
    if order == ">" {
        let hint = "save it little-endian: array.astype(array.dtype.newbyteorder('<'))";
        return refuse("little-endian elements", hint);
    }
    let Some((_, dtype)) = KINDS.into_iter().find(|(name, _)| *name == kind) else {
        return refuse("b1, i1 to i8, u1 to u8, f4, f8, c8 or c16", "");
    };
    // `|` means that order does not matter, which holds for single bytes alone.
    if order.is_empty() || (order == "|" && dtype.size_bytes() > 1) {
        return refuse("a byte order before the type, such as <i8", "");
    }
    Ok(dtype)
}
