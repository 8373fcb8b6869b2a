//! Whether bytes are elements of the dtype that they are said to be: numbers below the prime,
//! points of the curve and of its group of prime order. The one rule of all boundaries over which
//! elements come; kernels believe it. Products with other points give the scalar away.

use super::primes;
use cloakwork_ir::{DType, HostTensor, View};
use cloakwork_library::pairing::{self, Form, PointFault, Reason};
use smallvec::SmallVec;

/// The first invalid element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("element {index}, which {reason}")]
pub struct InvalidElement {
    /// Its row-major place.
    pub index: usize,
    /// Why it is invalid.
    pub reason: Reason,
}

impl InvalidElement {
    /// The elements that were expected, in words.
    #[must_use]
    pub fn expected(dtype: DType) -> String {
        if dtype.is_point() {
            format!("points of {dtype}: on the curve, in the group of prime order, and reduced")
        } else {
            format!("canonical numbers of {dtype}, below its prime")
        }
    }

    /// Advice for the caller.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.reason {
            Reason::OffCurve | Reason::OutsideSubgroup => {
                "do not use it: products with such a point reveal the scalar"
            }
            _ => "reduce the number modulo the prime first",
        }
    }
}

/// Checks dense elements against their dtype. Numbers are always valid.
///
/// # Errors
/// The first invalid one; for a truncated number the length.
pub fn check(dtype: DType, form: Form, bytes: &[u8]) -> Result<(), InvalidElement> {
    if let DType::Point(group) = dtype {
        let found = pairing::check_points(group, form, 1, bytes);
        return found.map_err(|PointFault { index, reason }| InvalidElement { index, reason });
    }
    let residues = dtype.residues();
    let size = match form {
        Form::Canonical => dtype.canonical_words() * 8,
        Form::Montgomery => dtype.size_bytes(),
    } / residues;
    let of_words = size.is_multiple_of(8);
    if dtype.is_number() || (of_words && primes::are_canonical(dtype, bytes)) {
        return Ok(());
    }
    match bytes
        .chunks(size)
        .position(|residue| !is_below(dtype, residue))
    {
        Some(place) => Err(InvalidElement {
            index: place / residues,
            reason: Reason::NotReduced,
        }),
        None => Ok(()),
    }
}

/// Holds a tensor that lies in memory as kernels read it to its dtype, unless it is known to be
/// right.
///
/// # Errors
/// The first invalid element.
pub fn check_tensor(tensor: &HostTensor) -> Result<(), InvalidElement> {
    if tensor.is_sound() {
        return Ok(());
    }
    let (bytes, size) = (tensor.bytes().as_slice(), tensor.dtype().size_bytes());
    let of_memory = |first: i64, count: usize| {
        let start = usize::try_from(first)
            .unwrap_or(usize::MAX)
            .saturating_mul(size);
        let end = start.saturating_add(count.saturating_mul(size));
        check(
            tensor.dtype(),
            Form::Montgomery,
            bytes.get(start..end).unwrap_or(&[]),
        )
    };
    let view = tensor.view().without_repeats();
    if view.is_contiguous() {
        return of_memory(view.offset, view.shape.elements() as usize)
            .map_err(|fault| in_whole(fault, &view, tensor.view()));
    }
    for (index, offset) in view.offsets().enumerate() {
        of_memory(offset, 1)
            .map_err(|fault| in_whole(InvalidElement { index, ..fault }, &view, tensor.view()))?;
    }
    Ok(())
}

/// An element that was found in a view without repeats, by its place in the whole view.
fn in_whole(fault: InvalidElement, shown: &View, whole: &View) -> InvalidElement {
    let (mut left, mut step, mut index) = (fault.index, 1, 0);
    let axes = shown.shape.dims().iter().zip(whole.shape.dims());
    for (&dim, &of_whole) in axes.rev() {
        index += left % (dim as usize).max(1) * step;
        left /= (dim as usize).max(1);
        step = step.saturating_mul(of_whole as usize);
    }
    InvalidElement { index, ..fault }
}

/// Whether a number of at most as many bytes as the prime has is below it.
fn is_below(dtype: DType, bytes: &[u8]) -> bool {
    let size = primes::modulus(dtype).len() * 8;
    if bytes.len() > size {
        return false;
    }
    let mut words: SmallVec<[u8; 64]> = SmallVec::from_slice(bytes);
    words.resize(size, 0);
    primes::are_canonical(dtype, &words)
}
