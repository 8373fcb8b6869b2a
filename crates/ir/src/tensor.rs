//! Tensors of the host: bytes with a type, shared and never written.

use crate::{DType, MAX_ELEMENT_BYTES, Shape, Type, View};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An owner that bytes may belong to.
trait Owner: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: AsRef<[u8]> + Any + Send + Sync> Owner for T {
    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Shared bytes: owned memory, or a range of a mapped file.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn Owner>,
    range: Range<usize>,
}

impl Bytes {
    /// All bytes of an owner.
    #[must_use]
    pub fn new<T: AsRef<[u8]> + Any + Send + Sync>(owner: Arc<T>) -> Self {
        let range = 0..(*owner).as_ref().len();
        Self { owner, range }
    }

    /// The owner of the bytes, if it has this type.
    #[must_use]
    pub fn owner<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.owner).any().downcast().ok()
    }

    /// Part of these bytes, or `None` if the range is outside.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        let start = self.range.start.checked_add(range.start)?;
        let end = self.range.start.checked_add(range.end)?;
        (start <= end && end <= self.range.end).then(|| Self {
            owner: Arc::clone(&self.owner),
            range: start..end,
        })
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.owner.bytes().get(self.range.clone()).unwrap_or(&[])
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Arc::new(bytes))
    }
}

/// A tensor in host memory: of a file, or the result of a run. Little-endian.
#[derive(Clone)]
pub struct HostTensor {
    dtype: DType,
    view: View,
    bytes: Bytes,
    sound: bool,
}

/// Why bytes are not the tensor they are said to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tensor of {ty} with these strides reaches {needed} bytes, but {available} are there")]
pub struct TensorBoundsError {
    /// The type claimed.
    pub ty: Type,
    /// Bytes that its elements reach, counted from the start (negative reach shows as 0).
    pub needed: u64,
    /// Bytes there are.
    pub available: u64,
}

impl HostTensor {
    /// A tensor over bytes.
    ///
    /// # Errors
    /// Some element lies outside the bytes.
    pub fn new(dtype: DType, view: View, bytes: Bytes) -> Result<Self, TensorBoundsError> {
        let (low, high) = view.bounds();
        let available = bytes.as_slice().len() as u64;
        let needed = u64::try_from(high)
            .unwrap_or(0)
            .saturating_mul(dtype.size_bytes() as u64);
        if low < 0 || needed > available {
            let ty = Type::new(dtype, view.shape);
            return Err(TensorBoundsError {
                ty,
                needed,
                available,
            });
        }
        let sound = dtype.is_number();
        Ok(Self {
            dtype,
            view,
            bytes,
            sound,
        })
    }

    /// The same tensor, whose elements are known to be elements of its dtype: they were computed,
    /// or checked where they came in.
    #[must_use]
    pub fn sound(mut self) -> Self {
        self.sound = true;
        self
    }

    /// Whether its elements are known to be elements of its dtype: below the prime, points of the
    /// curve and its group. Of numbers all bits are.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// A row-major tensor that owns its bytes.
    ///
    /// # Errors
    /// Fewer bytes than the shape needs.
    pub fn from_vec(dtype: DType, shape: Shape, bytes: Vec<u8>) -> Result<Self, TensorBoundsError> {
        Self::new(dtype, View::contiguous(shape), bytes.into())
    }

    /// Dtype and shape.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::new(self.dtype, self.view.shape.clone())
    }

    /// Element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Shape, strides and offset within [`HostTensor::bytes`].
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The bytes that the view points into.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same bytes under another view.
    ///
    /// # Errors
    /// The view reaches outside the bytes.
    pub fn with_view(&self, view: View) -> Result<Self, TensorBoundsError> {
        let same = Self::new(self.dtype, view, self.bytes.clone())?;
        Ok(Self {
            sound: self.sound,
            ..same
        })
    }

    /// Components of the elements in row-major order, each as 64 bits: integers extended by their
    /// sign, floats as their bits; of a complex element the real part, then the imaginary; of a
    /// field's element or a point its words as they lie in memory. For constants that a check must
    /// see, references and tests, not for bulk data.
    #[must_use]
    pub fn words(&self) -> Vec<i64> {
        let bytes = self.bytes.as_slice();
        let size = self.dtype.size_bytes();
        if self.view.is_contiguous() {
            let first = self.view.offset as usize * size;
            let behind = first + self.view.shape.elements() as usize * size;
            let part = self.dtype.component();
            if let Some(all) = bytes.get(first..behind) {
                let parts = all.chunks_exact(part.size_bytes());
                return parts.map(|bytes| read_word(part, bytes)).collect();
            }
        }
        self.view
            .offsets()
            .flat_map(|offset| {
                let start = offset as usize * size;
                let element = bytes
                    .get(start..start + size)
                    .unwrap_or(&[0; MAX_ELEMENT_BYTES]);
                components(self.dtype, element)
            })
            .collect()
    }
}

impl fmt::Debug for HostTensor {
    /// Type only: a tensor may hold secrets, which must not be printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostTensor({})", self.ty())
    }
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    if let Some(all) = bytes.first_chunk() {
        return *all;
    }
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
    out
}

/// The components of one element, as [`read_word`] has them.
pub fn components(dtype: DType, bytes: &[u8]) -> impl Iterator<Item = i64> + '_ {
    let component = dtype.component();
    let parts = bytes.chunks_exact(component.size_bytes());
    parts
        .take(dtype.components())
        .map(move |part| read_word(component, part))
}

/// One element as 64 bits: integers extended by their sign, floats as their bits; of an element of
/// several components the first.
#[must_use]
pub fn read_word(dtype: DType, bytes: &[u8]) -> i64 {
    match dtype.component() {
        DType::Bool | DType::U8 => i64::from(u8::from_le_bytes(first(bytes))),
        DType::I8 => i64::from(i8::from_le_bytes(first(bytes))),
        DType::I16 => i64::from(i16::from_le_bytes(first(bytes))),
        DType::U16 => i64::from(u16::from_le_bytes(first(bytes))),
        DType::I32 => i64::from(i32::from_le_bytes(first(bytes))),
        DType::U32 | DType::F32 => i64::from(u32::from_le_bytes(first(bytes))),
        _ => i64::from_le_bytes(first(bytes)),
    }
}

/// The inverse of [`read_word`]: the low bytes of the word, as many as a component has.
pub fn write_word(dtype: DType, word: i64, bytes: &mut [u8]) {
    let size = dtype.component().size_bytes();
    for (to, from) in bytes.iter_mut().zip(word.to_le_bytes().iter().take(size)) {
        *to = *from;
    }
}
