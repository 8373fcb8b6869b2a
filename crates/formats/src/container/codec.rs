//! Little-endian numbers and length-prefixed strings, out and in.

use crate::LoadError;
use cloakwork_ir::DType;

/// Stands for "no dtype".
pub(super) const NO_DTYPE: u8 = 255;

/// The number of a dtype in files. It never changes.
pub(super) const fn dtype_code(dtype: DType) -> u8 {
    dtype.number() - 1
}

/// Appends to a header.
#[derive(Default)]
pub(super) struct Encoder {
    pub(super) bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A length; `save` has checked that it fits.
    pub(super) fn count(&mut self, value: usize) {
        self.u32(value as u32);
    }

    pub(super) fn text(&mut self, value: &str) {
        self.count(value.len());
        self.bytes.extend_from_slice(value.as_bytes());
    }
}

/// Reads a header, never beyond its end.
pub(super) struct Decoder<'a> {
    /// The bytes that are still to be read.
    rest: &'a [u8],
    /// The offset of the header's end in the file.
    end: usize,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8], base: usize) -> Self {
        let end = base + bytes.len();
        Self { rest: bytes, end }
    }

    /// An error where reading stands.
    pub(super) fn wrong(&self, expected: &str, got: &str) -> LoadError {
        LoadError::Container {
            offset: (self.end - self.rest.len()) as u64,
            expected: expected.into(),
            got: got.into(),
            hint: "".into(),
        }
    }

    #[cold]
    fn too_short(&self, length: usize) -> LoadError {
        self.wrong(&format!("{length} more bytes"), "the header's end")
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], LoadError> {
        let split = self.rest.split_at_checked(length);
        let (bytes, rest) = split.ok_or_else(|| self.too_short(length))?;
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.too_short(N));
        };
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, LoadError> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, LoadError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, LoadError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, LoadError> {
        self.array().map(i64::from_le_bytes)
    }

    /// A number below a bound.
    pub(super) fn index(&mut self, bound: usize, what: &str) -> Result<u32, LoadError> {
        let index = self.u32()?;
        if (index as usize) < bound {
            return Ok(index);
        }
        Err(self.wrong(
            &format!("one of {bound} {what}"),
            &format!("number {index}"),
        ))
    }

    /// The length of a list whose items take this many bytes at least: a length that the header
    /// cannot hold is refused before anything is allocated for it.
    pub(super) fn count(&mut self, item_bytes: usize) -> Result<usize, LoadError> {
        let count = self.u32()? as usize;
        let left = self.rest.len();
        if count <= left / item_bytes {
            return Ok(count);
        }
        let expected = format!("a list that fits into {left} bytes");
        Err(self.wrong(&expected, &format!("{count} items")))
    }

    pub(super) fn text(&mut self) -> Result<&'a str, LoadError> {
        let length = self.count(1)?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.wrong("text in UTF-8", "other bytes"))
    }

    pub(super) fn dtype(&mut self) -> Result<DType, LoadError> {
        let code = self.u8()?;
        self.dtype_of(code)
    }

    pub(super) fn optional_dtype(&mut self) -> Result<Option<DType>, LoadError> {
        let code = self.u8()?;
        if code == NO_DTYPE {
            Ok(None)
        } else {
            self.dtype_of(code).map(Some)
        }
    }

    fn dtype_of(&self, code: u8) -> Result<DType, LoadError> {
        DType::from_number(u32::from(code) + 1)
            .ok_or_else(|| self.wrong("a dtype", &format!("number {code}")))
    }

    pub(super) fn end(&self) -> Result<(), LoadError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let got = format!("{} more bytes", self.rest.len());
        Err(self.wrong("the end of the header", &got))
    }
}
