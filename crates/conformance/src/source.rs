//! Source of random choices: a seed, or the bytes of a fuzzer.

/// A stream of choices. Equal seeds and equal bytes give equal choices everywhere.
#[derive(Clone, Debug)]
pub struct Source<'b> {
    bytes: Option<std::slice::Iter<'b, u8>>,
    state: u64,
}

impl Source<'static> {
    /// Choices from a seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self {
            bytes: None,
            state: seed,
        }
    }
}

impl<'b> Source<'b> {
    /// Choices from bytes; when these are used up, every choice is the first.
    #[must_use]
    pub fn from_bytes(bytes: &'b [u8]) -> Self {
        Self {
            bytes: Some(bytes.iter()),
            state: 0,
        }
    }

    fn byte(&mut self) -> u8 {
        match &mut self.bytes {
            Some(bytes) => bytes.next().copied().unwrap_or(0),
            None => self.word() as u8,
        }
    }

    /// A random word of 64 bits.
    pub fn word(&mut self) -> u64 {
        if self.bytes.is_some() {
            return u64::from_le_bytes([(); 8].map(|()| self.byte()));
        }
        // SplitMix64: Steele, Lea, Flood 2014.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0. Slightly biased, which is harmless for tests.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound <= 256 {
            return usize::from(self.byte()) % bound.max(1);
        }
        (self.word() % bound as u64) as usize
    }

    /// True with probability `1 / one_in`.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) + 1 == one_in
    }

    /// One of the items; `None` if the list is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() {
            None
        } else {
            items.get(self.below(items.len()))
        }
    }

    /// An integer that ops distinguish: mostly small, sometimes an edge case.
    pub fn int(&mut self) -> i64 {
        const EDGES: [i64; 9] = [
            i64::MIN,
            i64::MAX,
            1 << 62,
            (1 << 62) + 1,
            1 << 48,
            1 << 31,
            -(1 << 31),
            17,
            256,
        ];
        if self.chance(8) {
            return self.pick(&EDGES).copied().unwrap_or(0);
        }
        self.below(9) as i64 - 4
    }
}
