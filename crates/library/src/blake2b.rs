//! BLAKE2b of 64 bytes (RFC 7693) whose state between two pieces of input can be saved.
//!
//! Files of ceremonies hold such states, which no library gives out. The bytes of the buffer beyond
//! its input are part of them: what earlier input left there, as in npm `@noble/hashes` 1.8.

/// Bytes of a saved state.
pub const STATE_BYTES: usize = 216;
const BLOCK_BYTES: usize = 128;

const IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

const SIGMA: [[usize; 16]; 10] = [
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

/// A hash under way.
#[derive(Clone, Debug)]
pub struct Blake2b {
    chain: [u64; 8],
    buffer: [u8; BLOCK_BYTES],
    /// Bytes of the buffer that are input; at most all of them.
    filled: usize,
    /// Bytes of input, those in the buffer among them.
    length: u64,
}

impl Default for Blake2b {
    fn default() -> Self {
        let mut chain = IV;
        // 64 bytes of digest, no key, fanout and depth 1.
        chain[0] ^= 0x0101_0040;
        let (buffer, filled, length) = ([0; BLOCK_BYTES], 0, 0);
        Self {
            chain,
            buffer,
            filled,
            length,
        }
    }
}

impl Blake2b {
    /// Takes more input. The last block stays in the buffer, as it may be the end.
    pub fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.filled == BLOCK_BYTES {
                let block = self.buffer;
                self.compress(&block, false);
                self.filled = 0;
            }
            if self.filled == 0 {
                while data.len() > BLOCK_BYTES {
                    let Some((block, rest)) = data.split_first_chunk::<BLOCK_BYTES>() else {
                        break;
                    };
                    self.length += BLOCK_BYTES as u64;
                    self.compress(block, false);
                    data = rest;
                }
            }
            let take = (BLOCK_BYTES - self.filled).min(data.len());
            let (now, rest) = data.split_at(take);
            if let Some(room) = self.buffer.get_mut(self.filled..self.filled + take) {
                room.copy_from_slice(now);
            }
            self.filled += take;
            self.length += take as u64;
            data = rest;
        }
    }

    /// The digest of all input so far.
    #[must_use]
    pub fn digest(&self) -> [u8; 64] {
        let mut last = self.clone();
        let mut block = last.buffer;
        if let Some(rest) = block.get_mut(last.filled..) {
            rest.fill(0);
        }
        last.compress(&block, true);
        let mut out = [0; 64];
        for (to, word) in out.chunks_exact_mut(8).zip(last.chain) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// The buffer, the chain, the bytes before the buffer modulo 2^32, and the bytes in it.
    #[must_use]
    pub fn state(&self) -> [u8; STATE_BYTES] {
        let before = self.length - self.filled as u64;
        let chain = self.chain.iter().flat_map(|word| word.to_le_bytes());
        let numbers = [before as u32, 0, self.filled as u32, 0, 0, 0];
        let numbers = numbers.into_iter().flat_map(u32::to_le_bytes);
        let mut out = [0; STATE_BYTES];
        for (to, byte) in out
            .iter_mut()
            .zip(self.buffer.into_iter().chain(chain).chain(numbers))
        {
            *to = byte;
        }
        out
    }

    /// A hash that continues from a saved state; None where the buffer is said to hold more than
    /// it can.
    #[must_use]
    pub fn resume(state: &[u8; STATE_BYTES]) -> Option<Self> {
        let (buffer, rest) = state.split_first_chunk::<BLOCK_BYTES>()?;
        let (words, _) = rest.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let chain = [(); 8].map(|()| words.next().unwrap_or(0));
        let (before, filled) = (words.next()?, words.next()?);
        if filled > BLOCK_BYTES as u64 {
            return None;
        }
        let length = before.checked_add(filled)?;
        let (buffer, filled) = (*buffer, filled as usize);
        Some(Self {
            chain,
            buffer,
            filled,
            length,
        })
    }

    fn compress(&mut self, block: &[u8; BLOCK_BYTES], last: bool) {
        let (words, _) = block.as_chunks::<8>();
        let mut message = [0; 16];
        for (to, word) in message.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*word);
        }
        let [a, b, c, d, e, f, g, h] = self.chain;
        let mut v = [
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            IV[0],
            IV[1],
            IV[2],
            IV[3],
            IV[4] ^ self.length,
            IV[5],
            if last { !IV[6] } else { IV[6] },
            IV[7],
        ];
        for round in 0..12 {
            let order = &SIGMA[round % 10];
            mix(&mut v, [0, 4, 8, 12], message[order[0]], message[order[1]]);
            mix(&mut v, [1, 5, 9, 13], message[order[2]], message[order[3]]);
            mix(&mut v, [2, 6, 10, 14], message[order[4]], message[order[5]]);
            mix(&mut v, [3, 7, 11, 15], message[order[6]], message[order[7]]);
            mix(&mut v, [0, 5, 10, 15], message[order[8]], message[order[9]]);
            mix(
                &mut v,
                [1, 6, 11, 12],
                message[order[10]],
                message[order[11]],
            );
            mix(
                &mut v,
                [2, 7, 8, 13],
                message[order[12]],
                message[order[13]],
            );
            mix(
                &mut v,
                [3, 4, 9, 14],
                message[order[14]],
                message[order[15]],
            );
        }
        let (low, high) = v.split_at(8);
        for ((word, low), high) in self.chain.iter_mut().zip(low).zip(high) {
            *word ^= low ^ high;
        }
    }
}

#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}
