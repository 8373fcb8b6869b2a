//! Tensors that `torch.save` wrote, read without running their pickle: a zip of stored entries, a
//! closed set of pickle opcodes, and two constructors. Everything else is refused by name.

mod pickle;
mod pickle_value;
mod zip;

use crate::layout::untrusted_tensor;
use crate::{Mismatch, TensorError};
use cloakwork_ir::{Bytes, HostTensor, MAX_RANK, Shape};
use pickle_value::TensorSpec;
use zip::Archive;

/// Far above what one tensor needs.
const MAX_PICKLE_BYTES: usize = 64 * 1024;

/// The first bytes of every zip file with entries.
pub(crate) const MAGIC: &[u8; 4] = b"PK\x03\x04";

/// An error at a byte of the archive or of one of its entries.
pub(crate) fn wrong(
    part: &str,
    offset: usize,
    expected: impl Into<Box<str>>,
    got: impl Into<Box<str>>,
    hint: &str,
) -> TensorError {
    TensorError::Torch {
        part: part.into(),
        offset: offset as u64,
        why: Mismatch::new(expected, got, hint),
    }
}

/// Reads the one tensor of a `torch.save` archive without copying its elements, unless they lie at
/// odd addresses.
///
/// # Errors
/// Not such an archive, compressed or big-endian data, anything in the pickle but one tensor, or a
/// tensor that reaches outside its storage.
pub fn parse(bytes: &Bytes) -> Result<HostTensor, TensorError> {
    let archive = Archive::read(bytes.as_slice())?;
    let pickle = archive.find_suffix("/data.pkl")?;
    let prefix = pickle.name.strip_suffix("data.pkl").unwrap_or("");
    if let Some(order) = archive.find(&format!("{prefix}byteorder")) {
        let order = order.data(bytes.as_slice());
        if order != b"little" {
            let got = format!("`{}`", order.escape_ascii());
            let hint = "save it on a little-endian machine";
            return Err(wrong("byteorder", 0, "`little`", got, hint));
        }
    }
    let program = pickle.data(bytes.as_slice());
    if program.len() > MAX_PICKLE_BYTES {
        let expected = format!("at most {MAX_PICKLE_BYTES} bytes for one tensor");
        let got = format!("{} bytes", program.len());
        return Err(wrong("data.pkl", 0, expected, got, ""));
    }
    let spec = pickle::run(program)?;
    let entry = archive
        .find(&format!("{prefix}data/{}", spec.storage.key))
        .ok_or_else(|| {
            let expected = format!("the entry data/{}", spec.storage.key);
            wrong("archive", 0, expected, "an archive without it", "")
        })?;
    let data = bytes.slice(entry.range.clone());
    tensor(&spec, data.unwrap_or_else(|| Vec::new().into()))
}

/// Lays the tensor over its storage.
fn tensor(spec: &TensorSpec, data: Bytes) -> Result<HostTensor, TensorError> {
    let part = format!("data/{}", spec.storage.key);
    let refuse = |expected: &str, got: String| wrong(&part, 0, expected, got, "");
    let available = data.as_slice().len() as u64;
    if spec.storage.size_bytes() != Some(available) {
        let got = format!("{available} bytes, where the pickle says {}", spec.storage);
        return Err(refuse("as many bytes as the pickle says", got));
    }
    if spec.sizes.len() > MAX_RANK {
        let got = format!("rank {}", spec.sizes.len());
        return Err(refuse("a rank of at most 16", got));
    }
    let dims: Option<Vec<u64>> = spec.sizes.iter().map(|&d| u64::try_from(d).ok()).collect();
    let dims = dims.ok_or_else(|| refuse("sizes from 0", format!("{:?}", spec.sizes)))?;
    let shape = Shape::new(&dims)
        .map_err(|error| refuse("a shape within the limits", error.to_string()))?;
    if spec.strides.iter().any(|&stride| stride < 0) {
        return Err(refuse("strides from 0", format!("{:?}", spec.strides)));
    }
    let expected = "one stride an axis, and all elements inside the storage";
    let laid = untrusted_tensor(spec.dtype, (shape, &spec.strides, spec.offset), data);
    laid.map_err(|got| refuse(expected, got))
}
