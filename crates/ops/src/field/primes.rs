//! The primes, as words, the lowest first.

use cloakwork_ir::{DType, FIELD_DTYPES};

/// The prime of a field, or of the coordinates of a curve's points; empty for numbers.
#[must_use]
pub const fn modulus(dtype: DType) -> &'static [u64] {
    match dtype.field_facts() {
        Some(facts) => facts.prime().modulus,
        None => &[],
    }
}

/// The exponent of 2 in p - 1: transforms have at most 2 to this many elements, those over an
/// extension as many as those over its base field.
#[must_use]
pub const fn two_adicity(dtype: DType) -> u32 {
    match dtype.field_facts() {
        Some(facts) => facts.prime().two_adicity(),
        None => 1,
    }
}

/// The fields with transforms.
pub const TRANSFORMS: [DType; count(false)] = with_transforms(false);
/// The prime fields with transforms.
pub const PRIME_TRANSFORMS: [DType; count(true)] = with_transforms(true);

const fn with_transforms<const COUNT: usize>(prime: bool) -> [DType; COUNT] {
    let mut fields = [DType::Bool; COUNT];
    let (mut at, mut found) = (0, 0);
    while at < FIELD_DTYPES.len() {
        if is(FIELD_DTYPES[at], prime) {
            fields[found] = FIELD_DTYPES[at];
            found += 1;
        }
        at += 1;
    }
    fields
}

const fn count(prime: bool) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < FIELD_DTYPES.len() {
        count += is(FIELD_DTYPES[at], prime) as usize;
        at += 1;
    }
    count
}

const fn is(dtype: DType, prime: bool) -> bool {
    match dtype {
        DType::Field(field) => field.facts().has_transforms() && (!prime || dtype.is_prime_field()),
        _ => false,
    }
}

/// Whether all numbers in memory, each of as many words as the prime, are below it. False too where
/// the bytes are no such numbers.
#[must_use]
pub fn are_canonical(dtype: DType, bytes: &[u8]) -> bool {
    match *modulus(dtype) {
        [a] => are_below([a], bytes),
        [a, b, c, d] => are_below([a, b, c, d], bytes),
        [a, b, c, d, e, f] => are_below([a, b, c, d, e, f], bytes),
        [] => false,
        ref prime => {
            let (words, rest) = bytes.as_chunks::<8>();
            let numbers = words.chunks(prime.len());
            rest.is_empty()
                && words.len().is_multiple_of(prime.len())
                && numbers.into_iter().all(|number| {
                    let words = number.iter().rev().map(|&word| u64::from_le_bytes(word));
                    words.lt(prime.iter().rev().copied())
                })
        }
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
