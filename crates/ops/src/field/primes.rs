//! The primes, as words, the lowest first.

use cloakwork_ir::DType;

const BN254_FR: &[u64] = &[
    0x43e1_f593_f000_0001,
    0x2833_e848_79b9_7091,
    0xb850_45b6_8181_585d,
    0x3064_4e72_e131_a029,
];
const BN254_FQ: &[u64] = &[
    0x3c20_8c16_d87c_fd47,
    0x9781_6a91_6871_ca8d,
    0xb850_45b6_8181_585d,
    0x3064_4e72_e131_a029,
];
const BLS12_381_FR: &[u64] = &[
    0xffff_ffff_0000_0001,
    0x53bd_a402_fffe_5bfe,
    0x3339_d808_09a1_d805,
    0x73ed_a753_299d_7d48,
];
const BLS12_381_FQ: &[u64] = &[
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];

/// The prime of a field, or of the coordinates of a curve's points; empty for numbers.
#[must_use]
pub const fn modulus(dtype: DType) -> &'static [u64] {
    match dtype {
        DType::Bn254Fr => BN254_FR,
        DType::Bn254Fq | DType::Bn254G1 | DType::Bn254G2 => BN254_FQ,
        DType::Bls381Fr => BLS12_381_FR,
        DType::Bls381Fq | DType::Bls381G1 | DType::Bls381G2 => BLS12_381_FQ,
        DType::Goldilocks => &[0xffff_ffff_0000_0001],
        DType::BabyBear => &[0x7800_0001],
        _ => &[],
    }
}

/// The exponent of 2 in p - 1: transforms have at most 2 to this many elements.
#[must_use]
pub const fn two_adicity(dtype: DType) -> u32 {
    match dtype {
        DType::Bn254Fr => 28,
        DType::Bls381Fr | DType::Goldilocks => 32,
        DType::BabyBear => 27,
        _ => 1,
    }
}

/// How many words an element's canonical numbers have together.
#[must_use]
pub const fn canonical_words(dtype: DType) -> usize {
    dtype.size_bytes().div_ceil(8)
}

/// Whether all numbers in memory, each of as many words as the prime, are below it. False too where
/// the bytes are no such numbers.
#[must_use]
pub fn are_canonical(dtype: DType, bytes: &[u8]) -> bool {
    match *modulus(dtype) {
        [a] => are_below([a], bytes),
        [a, b, c, d] => are_below([a, b, c, d], bytes),
        [a, b, c, d, e, f] => are_below([a, b, c, d, e, f], bytes),
        _ => false,
    }
}

fn are_below<const WORDS: usize>(prime: [u64; WORDS], bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let (numbers, more) = words.as_chunks::<WORDS>();
    // Of nearly all numbers the highest word decides.
    let below = |number: &[[u8; 8]; WORDS]| {
        let words = number.map(u64::from_le_bytes);
        let highest = WORDS - 1;
        words[highest] < prime[highest] || words.iter().rev().lt(prime.iter().rev())
    };
    rest.is_empty() && more.is_empty() && numbers.iter().all(below)
}
