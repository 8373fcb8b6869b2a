//! BLAKE2b, Keccak and ChaCha20 from their papers: one block after another, nothing unrolled.

const BLAKE2B_START: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

const BLAKE2B_ORDERS: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The words that the first four rows of a mixing step act on: columns, then diagonals.
const QUARTERS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// BLAKE2b-512 with a personalisation of 16 bytes (RFC 7693, and section 2.5 of the paper).
#[must_use]
pub fn blake2b(personalisation: &[u8; 16], data: &[u8]) -> Vec<u8> {
    let mut state = BLAKE2B_START;
    state[0] ^= 0x0101_0040;
    state[6] ^= word(&personalisation[..8]);
    state[7] ^= word(&personalisation[8..]);
    let blocks: Vec<&[u8]> = match data {
        [] => vec![&[]],
        _ => data.chunks(128).collect(),
    };
    let mut counter = 0;
    for (at, block) in blocks.iter().enumerate() {
        counter += block.len() as u64;
        blake2b_block(&mut state, block, counter, at + 1 == blocks.len());
    }
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn blake2b_block(state: &mut [u64; 8], block: &[u8], counter: u64, is_last: bool) {
    let mut padded = block.to_vec();
    padded.resize(128, 0);
    let message: Vec<u64> = padded.chunks(8).map(word).collect();
    let mut v: Vec<u64> = state.iter().chain(&BLAKE2B_START).copied().collect();
    v[12] ^= counter;
    v[14] ^= if is_last { u64::MAX } else { 0 };
    for round in 0..12 {
        let order = BLAKE2B_ORDERS[round % 10];
        for (pair, [a, b, c, d]) in QUARTERS.into_iter().enumerate() {
            let given = [message[order[2 * pair]], message[order[2 * pair + 1]]];
            for (x, [first, second]) in given.into_iter().zip([[32, 24], [16, 63]]) {
                v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
                v[d] = (v[d] ^ v[a]).rotate_right(first);
                v[c] = v[c].wrapping_add(v[d]);
                v[b] = (v[b] ^ v[c]).rotate_right(second);
            }
        }
    }
    for (i, word) in state.iter_mut().enumerate() {
        *word ^= v[i] ^ v[i + 8];
    }
}

/// The permutation of 1600 bits (FIPS 202, section 3); lane (x, y) is word `x + 5 y`.
fn keccak_f(lanes: &mut [u64; 25]) {
    let mut register = 1u8;
    for _ in 0..24 {
        let column = |x: usize| (0..5).fold(0, |sum, y| sum ^ lanes[x + 5 * y]);
        let parity: Vec<u64> = (0..5).map(column).collect();
        for (at, lane) in lanes.iter_mut().enumerate() {
            *lane ^= parity[(at + 4) % 5] ^ parity[(at + 1) % 5].rotate_left(1);
        }
        let (mut x, mut y, mut moved) = (1, 0, lanes[1]);
        for t in 0..24u32 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let rotated = moved.rotate_left((t + 1) * (t + 2) / 2 % 64);
            moved = std::mem::replace(&mut lanes[x + 5 * y], rotated);
        }
        for row in lanes.chunks_mut(5) {
            let old = row.to_vec();
            for (x, lane) in row.iter_mut().enumerate() {
                *lane = old[x] ^ (!old[(x + 1) % 5] & old[(x + 2) % 5]);
            }
        }
        for bit in 0..7 {
            lanes[0] ^= u64::from(register & 1) << ((1 << bit) - 1);
            register = register << 1 ^ if register >> 7 == 1 { 0x71 } else { 0 };
        }
    }
}

/// Keccak-256 with the padding of the first submission.
#[must_use]
pub fn keccak256(data: &[u8]) -> Vec<u8> {
    const RATE: usize = 136;
    let mut padded = data.to_vec();
    padded.push(1);
    padded.resize(padded.len().next_multiple_of(RATE), 0);
    if let Some(last) = padded.last_mut() {
        *last |= 0x80;
    }
    let mut lanes = [0; 25];
    for block in padded.chunks(RATE) {
        for (lane, bytes) in lanes.iter_mut().zip(block.chunks(8)) {
            *lane ^= word(bytes);
        }
        keccak_f(&mut lanes);
    }
    let bytes = lanes.iter().flat_map(|lane| lane.to_le_bytes());
    bytes.take(32).collect()
}

/// A block of ChaCha20's key stream, with 64 bits of counter and 64 of nonce (Bernstein, 2008).
#[must_use]
pub fn chacha20(key: &[u8], counter: u64, nonce: u64) -> Vec<u8> {
    let half = |word: u64, at: u32| (word >> (32 * at)) as u32;
    let mut start = vec![0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
    start.extend(key.chunks(4).map(|bytes| word(bytes) as u32));
    start.extend([
        half(counter, 0),
        half(counter, 1),
        half(nonce, 0),
        half(nonce, 1),
    ]);
    let mut state = start.clone();
    for _ in 0..10 {
        for [a, b, c, d] in QUARTERS {
            for [first, second] in [[16, 12], [8, 7]] {
                state[a] = state[a].wrapping_add(state[b]);
                state[d] = (state[d] ^ state[a]).rotate_left(first);
                state[c] = state[c].wrapping_add(state[d]);
                state[b] = (state[b] ^ state[c]).rotate_left(second);
            }
        }
    }
    let words = state.iter().zip(&start).map(|(a, b)| a.wrapping_add(*b));
    words.flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    // hashlib.blake2b(b"abc", digest_size=64, person=b"Halo2-Transcript"), pycryptodome's
    // keccak256(b"abc"), and the first block of RFC 7539's appendix A.1.
    #[test]
    fn digests_are_those_of_python_and_of_the_standard() {
        let digest = blake2b(b"Halo2-Transcript", b"abc");
        assert!(hex(&digest).starts_with("1a461cab63d8b3dbc9daab1574729f55d54e844b17b69ab1"));
        let digest = keccak256(b"abc");
        let of_abc = "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45";
        assert_eq!(hex(&digest), of_abc);
        let block = chacha20(&[0; 32], 0, 0);
        assert!(hex(&block).starts_with("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1a"));
    }
}
