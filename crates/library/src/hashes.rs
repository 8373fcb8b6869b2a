//! The hashes of transcripts of proofs.

use blake2b_simd::Params;
use sha3::{Digest, Keccak256};

/// The personalisation of both hashes, as in halo2.
const PERSONALISATION: &[u8; 16] = b"Halo2-Transcript";

/// The bytes that tell the two halves of a digest of Keccak apart.
const KECCAK_HALVES: [u8; 2] = [10, 11];

/// Which hash a transcript has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptHash {
    /// BLAKE2b of 64 bytes (RFC 7693), personalised.
    Blake2b,
    /// Keccak-256, as before its standard changed its padding, of the personalisation and the log.
    Keccak256,
}

/// The 64 bytes that a challenge is made of, from all that was absorbed before.
#[must_use]
pub fn transcript_digest(hash: TranscriptHash, log: &[u8]) -> [u8; 64] {
    let mut digest = [0; 64];
    match hash {
        TranscriptHash::Blake2b => {
            let mut params = Params::new();
            params.hash_length(digest.len()).personal(PERSONALISATION);
            digest.copy_from_slice(params.hash(log).as_bytes());
        }
        TranscriptHash::Keccak256 => {
            let state = Keccak256::new_with_prefix(PERSONALISATION).chain_update(log);
            for (part, half) in digest.chunks_mut(32).zip(KECCAK_HALVES) {
                part.copy_from_slice(&state.clone().chain_update([half]).finalize());
            }
        }
    }
    digest
}

/// Keccak-256 with the padding of its first submission.
#[must_use]
pub fn keccak256(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}
