//! Seeded numbers, words at the edges of moduli, and layouts of every kind.

use super::Operand;
use cloakwork_ir::{DType, read_word, write_word};

/// SplitMix64: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: i64) -> i64 {
        ((u128::from(self.word()) * bound as u128) >> 64) as i64
    }

    /// A residue; often one at an edge.
    pub fn residue(&mut self, q: i64) -> i64 {
        match self.below(8) {
            0 => [0, 1, q - 1, q / 2][self.below(4) as usize],
            _ => self.below(q),
        }
    }

    /// Any word of the dtype: residues, multiples of q, negative and extreme ones.
    pub fn any_word(&mut self, q: i64, dtype: DType) -> i64 {
        let wild = match self.below(6) {
            0 => [i64::MIN, i64::MAX, -1, -q, q, q.wrapping_mul(2)][self.below(6) as usize],
            1 => -self.residue(q),
            2 => self.word() as i64,
            3 => q.wrapping_add(self.below(5) - 2),
            _ => self.residue(q),
        };
        wrap(wild, dtype)
    }

    pub fn permutation(&mut self, length: i64) -> Vec<i64> {
        let mut order: Vec<i64> = (0..length).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.below(i as i64 + 1) as usize);
        }
        order
    }
}

/// The word that an element of the dtype holds after a store.
pub fn wrap(word: i64, dtype: DType) -> i64 {
    let mut bytes = [0; 8];
    write_word(dtype, word, &mut bytes);
    read_word(dtype, &bytes[..dtype.size_bytes()])
}

/// How an operand lies in memory.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// Row-major without gaps.
    Dense,
    /// First axis fastest.
    Reversed,
    /// Row-major in reverse, with gaps between elements.
    Backwards,
    /// Axes in random order, some backwards, with gaps.
    Shuffled,
    /// Like `Dense`, but without the last axis.
    NoLast,
    /// Like `Shuffled`, but without a random choice of axes.
    Broadcast,
    /// One element.
    Scalar,
}

/// Layouts that reach each element once, as a result's must.
pub const INJECTIVE: [Layout; 4] = [
    Layout::Dense,
    Layout::Reversed,
    Layout::Backwards,
    Layout::Shuffled,
];
/// All layouts.
pub const LAYOUTS: [Layout; 7] = [
    Layout::Dense,
    Layout::Reversed,
    Layout::Backwards,
    Layout::Shuffled,
    Layout::NoLast,
    Layout::Broadcast,
    Layout::Scalar,
];

/// Order of axes (slowest first), which have stride 0, which run backwards, and a gap.
fn axes_of(layout: Layout, rank: usize, random: &mut Random) -> (Vec<usize>, u64, u64, i64) {
    let forward: Vec<usize> = (0..rank).collect();
    let all = (1u64 << rank) - 1;
    let shuffled: Vec<usize> = random
        .permutation(rank as i64)
        .into_iter()
        .map(|axis| axis as usize)
        .collect();
    match layout {
        Layout::Dense => (forward, 0, 0, 1),
        Layout::Reversed => (forward.into_iter().rev().collect(), 0, 0, 1),
        Layout::Backwards => (forward, 0, all, 2),
        Layout::Shuffled => (shuffled, 0, random.word() & all, 3),
        Layout::NoLast => (forward, 1 << rank.saturating_sub(1), 0, 1),
        Layout::Broadcast => (shuffled, random.word() & all, random.word() & all, 1),
        Layout::Scalar => (forward, all, 0, 1),
    }
}

/// An operand over `dims` whose words come from `word`.
pub fn operand(
    dtype: DType,
    dims: &[i64],
    layout: Layout,
    random: &mut Random,
    word: &mut dyn FnMut(&mut Random) -> i64,
) -> Operand {
    let (order, absent, backwards, gap) = axes_of(layout, dims.len(), random);
    let mut strides = vec![0; dims.len()];
    let mut reach = gap;
    let mut offset = random.below(3);
    for &axis in order.iter().rev() {
        if absent >> axis & 1 == 1 {
            continue;
        }
        let back = backwards >> axis & 1 == 1;
        strides[axis] = if back { -reach } else { reach };
        if back {
            offset += reach * (dims[axis] - 1);
        }
        reach *= dims[axis];
    }
    let words = (0..reach + 3).map(|_| wrap(word(random), dtype)).collect();
    Operand {
        dtype,
        words,
        offset,
        strides,
    }
}
