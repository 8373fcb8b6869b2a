//! Transcripts by their definition: a log and a proof, as lists of bytes.

use crate::reference::digests::{blake2b, keccak256};
use crate::reference::number::exact;
use crate::reference::prime::Prime;
use crate::reference::{Broadcast, Contents, Expected, Number};
use crate::{Args, OpError};
use cloakwork_ir::DType;
use num_bigint::BigUint;

const HEAD: usize = 16;
const PERSONALISATION: &[u8; 16] = b"Halo2-Transcript";

/// Bytes absorbed and bytes of the proof, with room for as many each.
struct Transcript {
    bytes: Vec<u8>,
    capacity: usize,
}

impl Transcript {
    fn of(contents: &dyn Contents) -> Result<Self, OpError> {
        let words = contents.words("transcript")?;
        let bytes: Vec<u8> = words.iter().map(|&byte| byte as u8).collect();
        let capacity = (bytes.len() - HEAD) / 2;
        Ok(Self { bytes, capacity })
    }

    /// How long the log (part 0) or the proof (part 1) is.
    fn length(&self, part: usize) -> usize {
        let word = self.bytes[8 * part..8 * part + 8].iter().rev();
        let length = word.fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        length.min(self.capacity as u64) as usize
    }

    fn log(&self) -> &[u8] {
        &self.bytes[HEAD..HEAD + self.length(0)]
    }

    fn append(&mut self, part: usize, entry: &[u8]) {
        let length = self.length(part);
        let start = HEAD + part * self.capacity + length;
        self.bytes[start..start + entry.len()].copy_from_slice(entry);
        let length = (length + entry.len()) as u64;
        self.bytes[8 * part..8 * part + 8].copy_from_slice(&length.to_le_bytes());
    }

    fn words(&self) -> Expected {
        let words: Vec<i64> = self.bytes.iter().map(|&byte| i64::from(byte)).collect();
        words.into()
    }
}

/// Each element in the log, and if `writes` in the proof.
pub(super) fn absorbed(
    args: &Args,
    contents: &dyn Contents,
    writes: bool,
) -> Result<Expected, OpError> {
    let mut transcript = Transcript::of(contents)?;
    let value = Broadcast::own(args, contents, "value")?;
    for element in value.numbers() {
        let (prefix, log, proof) = match element {
            Number::Point(Some([x, y])) => {
                let (log, proof) = point_bytes(value.dtype(), &x[0], &y[0]);
                (1, log, proof)
            }
            other => {
                let size = value.dtype().size_bytes();
                let bytes = little_endian(&other.residue(), size);
                (2, bytes.clone(), bytes)
            }
        };
        transcript.append(0, &[prefix]);
        transcript.append(0, &log);
        if writes {
            transcript.append(1, &proof);
        }
    }
    Ok(transcript.words())
}

fn little_endian(number: &BigUint, size: usize) -> Vec<u8> {
    let mut bytes = number.to_bytes_le();
    bytes.resize(size, 0);
    bytes
}

fn big_endian(number: &BigUint, size: usize) -> Vec<u8> {
    let mut bytes = little_endian(number, size);
    bytes.reverse();
    bytes
}

/// Both coordinates, and the compressed point: halo2curves' and pasta_curves' forms.
fn point_bytes(dtype: DType, x: &BigUint, y: &BigUint) -> (Vec<u8>, Vec<u8>) {
    let base = dtype.base_field().unwrap_or(dtype);
    if base.size_bytes() == 32 {
        let mut compressed = little_endian(x, 32);
        compressed[31] |= if y.bit(0) { 0x80 } else { 0 };
        return (
            [little_endian(x, 32), little_endian(y, 32)].concat(),
            compressed,
        );
    }
    let prime = Prime::of(base);
    let mut compressed = big_endian(x, 48);
    compressed[0] |= if *y > &prime.modulus - y { 0xa0 } else { 0x80 };
    ([big_endian(x, 48), big_endian(y, 48)].concat(), compressed)
}

/// The byte 0 in the log.
pub(super) fn squeezed(contents: &dyn Contents) -> Result<Expected, OpError> {
    let mut transcript = Transcript::of(contents)?;
    transcript.append(0, &[0]);
    Ok(transcript.words())
}

/// 64 bytes of the log's hash as a number, modulo the prime.
pub(super) fn challenge(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let (transcript, dtype) = (Transcript::of(contents)?, args.dtype("dtype")?);
    let digest = match args.int("hash")? {
        0 => blake2b(PERSONALISATION, transcript.log()),
        _ => {
            let half = |last| keccak256(&[PERSONALISATION, transcript.log(), &[last]].concat());
            [half(10), half(11)].concat()
        }
    };
    let number = BigUint::from_bytes_le(&digest) % &Prime::of(dtype).modulus;
    Ok(exact(dtype, [Number::Element(vec![number])]))
}
