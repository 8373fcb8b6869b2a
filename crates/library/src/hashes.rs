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

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    // hashlib.blake2b(b"abc", digest_size=64, person=b"Halo2-Transcript").hexdigest()
    #[test]
    fn blake2b_is_personalised() {
        let digest = transcript_digest(TranscriptHash::Blake2b, b"abc");
        assert_eq!(hex(&digest), BLAKE2B_OF_ABC);
    }

    // keccak256(b"Halo2-Transcript" + b"abc" + bytes([10])) and with 11, by pycryptodome.
    #[test]
    fn keccak_is_of_two_halves() {
        let digest = transcript_digest(TranscriptHash::Keccak256, b"abc");
        assert_eq!(hex(&digest), KECCAK_OF_ABC);
    }

    const BLAKE2B_OF_ABC: &str = concat!(
        "1a461cab63d8b3dbc9daab1574729f55d54e844b17b69ab1fce6dae8caecb9d2",
        "4bb550cd9270aa53c8e9277d68008b3080da0b66fc6853231e15abec0b0159e5"
    );
    const KECCAK_OF_ABC: &str = concat!(
        "7732ae1dc2ecf27e328a3742d047508d0fe4cf61c643e3b56b1dffbe355f51c3",
        "1463c9c6941b606b08d46d397ddf7988d86c3dee5445320654270c9d90466424"
    );
}
