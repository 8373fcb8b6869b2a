//! Hashes of transcripts, held against other libraries.

use cloakwork_library::{Blake2b, TranscriptHash, transcript_digest};

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

// Pieces of any size, saved and resumed between them, against blake2b_simd.
#[test]
fn a_saved_state_continues() {
    let data: Vec<u8> = (0..1000_u32).map(|at| (at * at % 251) as u8).collect();
    for cut in [0, 1, 64, 127, 128, 129, 255, 256, 257, 384, 999, 1000] {
        let (first, second) = data.split_at(cut);
        let mut hash = Blake2b::default();
        hash.update(first);
        let mut hash = Blake2b::resume(&hash.state()).unwrap();
        hash.update(second);
        let expected = blake2b_simd::blake2b(&data);
        assert_eq!(hex(&hash.digest()), expected.to_hex().as_str(), "{cut}");
    }
}

#[test]
fn a_state_with_more_than_a_block_is_refused() {
    let mut state = Blake2b::default().state();
    state[200] = 129;
    assert!(Blake2b::resume(&state).is_none());
}
