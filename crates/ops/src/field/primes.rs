//! The primes, as words, the lowest first.

use cloakwork_ir::{DType, FIELD_DTYPES};

/// The prime of a field, or of the coordinates of a curve's points; empty for numbers.
#[must_use]
pub const fn modulus(dtype: DType) -> &'static [u64] {
    match dtype.field_facts() {
        Some(facts) => facts.modulus,
        None => &[],
    }
}

/// The exponent of 2 in p - 1: transforms have at most 2 to this many elements.
#[must_use]
pub const fn two_adicity(dtype: DType) -> u32 {
    match dtype.field_facts() {
        Some(facts) => facts.two_adicity(),
        None => 1,
    }
}

/// The fields with transforms.
pub const TRANSFORMS: [DType; COUNT] = {
    let mut fields = [DType::Bool; COUNT];
    let (mut at, mut found) = (0, 0);
    while at < FIELD_DTYPES.len() {
        if has_transforms(FIELD_DTYPES[at]) {
            fields[found] = FIELD_DTYPES[at];
            found += 1;
        }
        at += 1;
    }
    fields
};
const COUNT: usize = {
    let (mut at, mut count) = (0, 0);
    while at < FIELD_DTYPES.len() {
        count += has_transforms(FIELD_DTYPES[at]) as usize;
        at += 1;
    }
    count
};

const fn has_transforms(dtype: DType) -> bool {
    match dtype {
        DType::Field(field) => field.facts().has_transforms(),
        _ => false,
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
