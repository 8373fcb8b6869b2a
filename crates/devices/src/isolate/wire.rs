//! Messages as bytes: little-endian words behind a length. Readers check every length: the other
//! side may be a process that a driver has damaged.

use std::ffi::c_void;

/// The longest message: one that says it is longer is damaged.
pub const MOST_BYTES: usize = 1 << 28;
/// The longest text in a message.
pub const MOST_TEXT: usize = 4096;
/// Bytes of the length before a message.
pub const HEAD: usize = size_of::<u32>();

/// A message that does not say what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a damaged message")]
pub struct Damaged;

/// A message that is written. Its buffer is used again.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Begins a message of a kind.
    pub fn begin(&mut self, kind: u32) -> &mut Self {
        self.0.clear();
        self.0.extend_from_slice(&[0; HEAD]);
        self.u32(kind)
    }

    /// The whole message with its length, if it is not too long.
    pub fn end(&mut self) -> Option<&[u8]> {
        let bytes = self.0.len() - HEAD;
        if bytes > MOST_BYTES {
            return None;
        }
        self.0[..HEAD].copy_from_slice(&(bytes as u32).to_le_bytes());
        Some(&self.0)
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn at(&mut self, address: *const c_void) -> &mut Self {
        self.u64(address as u64)
    }

    /// Integers, whose number the reader knows.
    pub fn i64s(&mut self, values: &[i64]) -> &mut Self {
        for value in values {
            self.0.extend_from_slice(&value.to_le_bytes());
        }
        self
    }

    /// A text, cut to [`MOST_TEXT`] bytes.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let bytes = &text.as_bytes()[..text.len().min(MOST_TEXT)];
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self
    }

    /// The bytes of a path.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// A message that is read.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn word<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Damaged> {
        self.take(BYTES)?.try_into().map_err(|_| Damaged)
    }

    pub fn u32(&mut self) -> Result<u32, Damaged> {
        self.word().map(u32::from_le_bytes)
    }

    pub fn i32(&mut self) -> Result<i32, Damaged> {
        self.word().map(i32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Damaged> {
        self.word().map(u64::from_le_bytes)
    }

    /// An address: of a device, or none.
    pub fn at(&mut self) -> Result<*mut c_void, Damaged> {
        let address = usize::try_from(self.u64()?).map_err(|_| Damaged)?;
        Ok(std::ptr::with_exposed_provenance_mut(address))
    }

    /// How many records follow, of so many bytes at least: never more than there are bytes for.
    pub fn count(&mut self, bytes: usize) -> Result<usize, Damaged> {
        let count = self.u32()? as usize;
        let fits = count
            .checked_mul(bytes)
            .is_some_and(|all| all <= self.0.len());
        fits.then_some(count).ok_or(Damaged)
    }

    /// Appends so many integers to a list.
    pub fn i64s(&mut self, count: usize, to: &mut Vec<i64>) -> Result<(), Damaged> {
        let bytes = count.checked_mul(size_of::<i64>()).ok_or(Damaged)?;
        let words = self.take(bytes)?.chunks_exact(size_of::<i64>());
        to.extend(words.map(|word| i64::from_le_bytes(word.try_into().unwrap_or_default())));
        Ok(())
    }

    /// A text without control characters.
    pub fn text(&mut self) -> Result<String, Damaged> {
        let bytes = self.bytes(MOST_TEXT)?;
        let text = String::from_utf8_lossy(bytes);
        Ok(text.chars().filter(|c| !c.is_control()).collect())
    }

    /// At most so many bytes.
    pub fn bytes(&mut self, most: usize) -> Result<&'a [u8], Damaged> {
        let count = self.count(1)?;
        match count <= most {
            true => self.take(count),
            false => Err(Damaged),
        }
    }

    /// Nothing follows.
    pub fn end(&self) -> Result<(), Damaged> {
        self.0.is_empty().then_some(()).ok_or(Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut writer = Writer::default();
        writer.begin(7).u64(u64::MAX).text("é\n").i64s(&[-1, 2]);
        let message = writer.end().map(<[u8]>::to_vec).unwrap_or_default();
        let mut reader = Reader::new(&message[HEAD..]);
        assert_eq!((reader.u32(), reader.u64()), (Ok(7), Ok(u64::MAX)));
        assert_eq!(reader.text(), Ok("é".to_owned()), "without the line break");
        let mut numbers = vec![5];
        assert_eq!(reader.i64s(2, &mut numbers), Ok(()));
        assert_eq!((numbers, reader.end()), (vec![5, -1, 2], Ok(())));
    }

    #[test]
    fn hostile_lengths_are_refused_before_anything_is_allocated() {
        let most = u32::MAX.to_le_bytes();
        assert_eq!(Reader::new(&most).count(1), Err(Damaged));
        assert_eq!(Reader::new(&most).text(), Err(Damaged));
        assert_eq!(Reader::new(&most).u64(), Err(Damaged));
        assert_eq!(Reader::new(&most).end(), Err(Damaged));
        let mut none = Vec::new();
        assert_eq!(Reader::new(&most).i64s(usize::MAX, &mut none), Err(Damaged));
        // A count that fits, of records that do not.
        let short = [2, 0, 0, 0, 1, 1];
        assert_eq!(Reader::new(&short).count(2), Err(Damaged));
        assert_eq!(Reader::new(&short).bytes(1), Err(Damaged));
        assert_eq!(Reader::new(&short).bytes(2), Ok(&[1, 1][..]));
    }
}
