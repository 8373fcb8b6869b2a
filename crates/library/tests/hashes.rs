//! Hashes of transcripts, held against other libraries.

use cloakwork_library::{TranscriptHash, transcript_digest};

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
