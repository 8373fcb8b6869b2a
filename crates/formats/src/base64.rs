//! Standard base64 with padding: whole strings in, chunks out.

use crate::{Mismatch, TensorError};
use base64_simd::{AsOut, STANDARD};
use std::io::{self, Write};

/// Characters that one task decodes; a multiple of 4.
const CHUNK_CHARS: usize = 1 << 20;
/// Bytes that are encoded at a time; a multiple of 3.
const CHUNK_BYTES: usize = 48 * 1024;

/// Decodes a whole string, large ones on all threads.
///
/// # Errors
/// A length that is not a multiple of 4, a character outside the alphabet, padding that is missing
/// or not at the end, or bits set that padding drops.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, TensorError> {
    if !text.len().is_multiple_of(4) {
        return Err(wrong_length(text));
    }
    let padding = text
        .iter()
        .rev()
        .take(2)
        .take_while(|&&c| c == b'=')
        .count();
    let mut bytes = vec![0u8; text.len() / 4 * 3 - padding];
    let decoded = if text.len() <= CHUNK_CHARS {
        decode_chunk(text, &mut bytes)
    } else {
        let chunks = text.chunks(CHUNK_CHARS);
        let chunks = chunks.zip(bytes.chunks_mut(CHUNK_CHARS / 4 * 3)).collect();
        let decoded = cloakwork_process::map(chunks, |(from, to)| decode_chunk(from, to));
        decoded.into_iter().collect()
    };
    decoded.map(|()| bytes).ok_or_else(|| wrong_character(text))
}

/// Decodes into exactly these bytes; `None` if that cannot be done.
fn decode_chunk(from: &[u8], to: &mut [u8]) -> Option<()> {
    // The length is compared first, for the decoder takes a short output as a bug and panics.
    (STANDARD.decoded_length(from).ok()? == to.len()).then_some(())?;
    STANDARD.decode(from, to.as_out()).ok().map(|_| ())
}

fn wrong_length(text: &[u8]) -> TensorError {
    // A stray character explains a wrong length better than the length does.
    if let Some(error) = stray(text) {
        return error;
    }
    let got = format!("{} characters", text.len());
    wrong(text.len(), "a length that is a multiple of 4", got)
}

fn wrong(offset: usize, expected: &str, got: String) -> TensorError {
    TensorError::Base64 {
        offset: offset as u64,
        why: Mismatch::new(expected, got, ""),
    }
}

fn wrong_character(text: &[u8]) -> TensorError {
    stray(text).unwrap_or_else(|| {
        let at = text.len().saturating_sub(4);
        let last: String = text.iter().skip(at).map(|&c| c as char).collect();
        wrong(at, "a last group without surplus bits", format!("`{last}`"))
    })
}

/// The first character that may not stand where it does.
fn stray(text: &[u8]) -> Option<TensorError> {
    let padding_from = text.len().saturating_sub(2);
    let allowed = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
    let is_stray = |&(at, &c): &(usize, &u8)| {
        let padding = c == b'='
            && at >= padding_from
            && text
                .get(at..)
                .is_some_and(|rest| rest.iter().all(|&c| c == b'='));
        !allowed(c) && !padding
    };
    text.iter().enumerate().find(is_stray).map(|(at, &c)| {
        let expected = "one of A-Z a-z 0-9 + /, or = at the end";
        wrong(at, expected, format!("`{}`", (c as char).escape_default()))
    })
}

/// Encodes what is written to it; [`Encoder::finish`] adds the padding.
pub(crate) struct Encoder<'w, W: Write> {
    out: &'w mut W,
    pending: Vec<u8>,
    text: Vec<u8>,
}

impl<'w, W: Write> Encoder<'w, W> {
    pub(crate) fn new(out: &'w mut W) -> Self {
        Self {
            out,
            pending: Vec::with_capacity(CHUNK_BYTES),
            text: vec![0; CHUNK_BYTES / 3 * 4],
        }
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = CHUNK_BYTES - self.pending.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.pending.extend_from_slice(now);
            bytes = later;
            if self.pending.len() == CHUNK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = STANDARD.encode(&self.pending, self.text.as_mut_slice().as_out());
        self.out.write_all(text)?;
        self.pending.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(bytes: &[u8], piece: usize) -> Vec<u8> {
        let mut text = Vec::new();
        let mut encoder = Encoder::new(&mut text);
        for piece in bytes.chunks(piece) {
            assert!(encoder.write(piece).is_ok());
        }
        assert!(encoder.finish().is_ok());
        text
    }

    fn offset_of(text: &[u8]) -> Option<u64> {
        match decode(text) {
            Err(TensorError::Base64 { offset, .. }) => Some(offset),
            _ => None,
        }
    }

    #[test]
    fn the_test_vectors_of_rfc_4648_hold() {
        for (bytes, text) in [
            (&b""[..], &b""[..]),
            (b"f", b"Zg=="),
            (b"fo", b"Zm8="),
            (b"foo", b"Zm9v"),
            (b"foob", b"Zm9vYg=="),
            (b"fooba", b"Zm9vYmE="),
            (b"foobar", b"Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes, 2), text);
            assert_eq!(decode(text).as_deref(), Ok(bytes));
        }
    }

    #[test]
    fn wrong_text_is_refused_with_its_offset() {
        assert_eq!(offset_of(b"Zm9"), Some(3));
        assert_eq!(offset_of(b"Zm\n9vYm"), Some(2));
        assert_eq!(offset_of(b"Zm9v Zm9"), Some(4));
        assert_eq!(offset_of(b"Zg==Zm9v"), Some(2));
        assert_eq!(offset_of(b"Z==="), Some(1));
        assert_eq!(offset_of(b"===="), Some(0));
        assert_eq!(offset_of(b"Zm=v"), Some(2));
        assert_eq!(offset_of(b"Zm9\xff"), Some(3));
        assert_eq!(
            offset_of(b"Zh=="),
            Some(0),
            "bits that padding drops must be zero"
        );
    }

    #[test]
    fn large_strings_decode_in_parallel_and_name_the_first_wrong_character() {
        for length in [
            CHUNK_CHARS / 4 * 9,
            CHUNK_CHARS / 4 * 9 + 1,
            CHUNK_CHARS / 4 * 9 - 1,
        ] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
            let mut text = encode(&bytes, 40_000);
            assert_eq!(decode(&text).as_deref(), Ok(bytes.as_slice()));
            for at in [2 * CHUNK_CHARS + 5, CHUNK_CHARS - 1] {
                if let Some(c) = text.get_mut(at) {
                    *c = b'=';
                }
                assert_eq!(offset_of(&text), Some(at as u64));
            }
        }
    }
}
