//! Residues of integers of any size modulo a prime, by division.

use crate::field::primes;
use cloakwork_ir::{DType, Form, PRIME_FIELD_DTYPES};
use cloakwork_process::Once;
use num_bigint::BigUint;

/// A prime, and how memory holds its residues.
pub struct Prime {
    /// The prime.
    pub modulus: BigUint,
    /// The factor of canonical numbers in memory (Montgomery's radix), and its inverse.
    radix: BigUint,
    unradix: BigUint,
    /// Bits of a component, and components.
    bits: u32,
    components: usize,
}

impl Prime {
    /// The prime of a field's dtype, of an extension that of its base field; of another dtype, that
    /// of an arbitrary field.
    #[must_use]
    pub fn of(dtype: DType) -> &'static Self {
        static PRIMES: [Once<Prime>; PRIME_FIELD_DTYPES.len()] =
            [const { Once::new() }; PRIME_FIELD_DTYPES.len()];
        let prime = dtype.extends().unwrap_or(dtype);
        let place = PRIME_FIELD_DTYPES.iter().position(|&field| field == prime);
        let place = place.unwrap_or(0);
        PRIMES[place].get_or_init(|| Self::new(PRIME_FIELD_DTYPES[place]))
    }

    fn new(dtype: DType) -> Self {
        let modulus = from_words(primes::modulus(dtype), 64);
        let form = dtype.field_facts().map(|facts| facts.prime().form);
        let shift = match form {
            Some(Form::Montgomery64 | Form::Montgomery32) => dtype.size_bytes() * 8,
            Some(Form::Goldilocks) | None => 0,
        };
        let radix = (BigUint::from(1u8) << shift) % &modulus;
        let unradix = radix.modinv(&modulus).unwrap_or_default();
        Self {
            unradix,
            radix,
            modulus,
            bits: dtype.component().size_bytes() as u32 * 8,
            components: dtype.components(),
        }
    }

    /// How many words of memory hold a residue.
    #[must_use]
    pub const fn components(&self) -> usize {
        self.components
    }

    /// How many words of 64 bits its canonical number takes.
    #[must_use]
    pub fn canonical_words(&self) -> usize {
        self.modulus.bits().div_ceil(64) as usize
    }

    /// The canonical number of a residue's words.
    #[must_use]
    pub fn decode(&self, words: &[i64]) -> BigUint {
        let words: Vec<u64> = words.iter().map(|&word| word as u64).collect();
        from_words(&words, self.bits) * &self.unradix % &self.modulus
    }

    /// Appends the words of a canonical number's residue.
    pub fn encode(&self, value: &BigUint, words: &mut Vec<i64>) {
        let held = value * &self.radix % &self.modulus;
        words.extend(to_words(&held, self.bits, self.components));
    }

    /// `a + b`.
    #[must_use]
    pub fn add(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + b) % &self.modulus
    }

    /// `a - b`.
    #[must_use]
    pub fn subtract(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + &self.modulus - b) % &self.modulus
    }

    /// `a * b`.
    #[must_use]
    pub fn multiply(&self, a: &BigUint, b: &BigUint) -> BigUint {
        a * b % &self.modulus
    }

    /// `1 / a`, 0 for 0.
    #[must_use]
    pub fn inverse(&self, a: &BigUint) -> BigUint {
        a.modinv(&self.modulus).unwrap_or_default()
    }

    /// `a ** exponent`.
    #[must_use]
    pub fn power(&self, a: &BigUint, exponent: &BigUint) -> BigUint {
        a.modpow(exponent, &self.modulus)
    }

    /// An integer's residue.
    #[must_use]
    pub fn residue(&self, value: i128) -> BigUint {
        let size = BigUint::from(value.unsigned_abs()) % &self.modulus;
        match value {
            0.. => size,
            _ => self.subtract(&BigUint::ZERO, &size),
        }
    }
}

/// A number of words of so many bits, the lowest first.
#[must_use]
pub fn from_words(words: &[u64], bits: u32) -> BigUint {
    let above = |number: BigUint, &word: &u64| (number << bits) + word;
    words.iter().rev().fold(BigUint::ZERO, above)
}

/// So many words of so many bits, the lowest first.
pub fn to_words(number: &BigUint, bits: u32, count: usize) -> impl Iterator<Item = i64> {
    let digits = match bits {
        32 => number.to_u32_digits().into_iter().map(u64::from).collect(),
        _ => number.to_u64_digits(),
    };
    (0..count).map(move |at| digits.get(at).copied().unwrap_or(0) as i64)
}
