//! Integers of any size, as far as the reference of the Chinese remainder needs them.

use crate::reference::{canonical, multiply_truncated};

/// A non-negative integer: words base 2^32, the low one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wide(Vec<u32>);

impl Wide {
    /// `self * factor + addend`, both of them not negative.
    pub fn multiply_add(&mut self, factor: i64, addend: i64) {
        let mut carry = addend as u128;
        for word in &mut self.0 {
            let sum = u128::from(*word) * factor as u128 + carry;
            *word = sum as u32;
            carry = sum >> 32;
        }
        while carry > 0 {
            self.0.push(carry as u32);
            carry >>= 32;
        }
    }

    /// `bits` bits, at most 62, from bit `start` on.
    pub fn bits(&self, start: u64, bits: u32) -> i64 {
        let first = (start / 32) as usize;
        let word = |i: usize| u128::from(self.0.get(first + i).copied().unwrap_or(0));
        let window = word(0) | word(1) << 32 | word(2) << 64;
        ((window >> (start % 32)) & ((1 << bits) - 1)) as i64
    }
}

/// The `x` in `[0, prod q)` with `x = residues[i] mod q[i]`, for coprime moduli (Garner).
pub fn from_residues(residues: &[i64], q: &[i64]) -> Wide {
    let mut mixed: Vec<i64> = Vec::with_capacity(q.len());
    for (i, (&residue, &modulus)) in residues.iter().zip(q).enumerate() {
        let (mut value, mut radix) = (0, 1 % modulus);
        for (&coefficient, &earlier) in mixed.iter().zip(&q[..i]) {
            let term = multiply_truncated(radix, coefficient, modulus);
            value = canonical(i128::from(value) + i128::from(term), modulus);
            radix = multiply_truncated(radix, earlier, modulus);
        }
        let rest = canonical(i128::from(residue) - i128::from(value), modulus);
        mixed.push(multiply_truncated(rest, inverse(radix, modulus), modulus));
    }
    let mut wide = Wide::default();
    for (&coefficient, &modulus) in mixed.iter().zip(q).rev() {
        wide.multiply_add(modulus, coefficient);
    }
    wide
}

/// `1 / a mod q` by Euclid's algorithm; `a` and `q` are coprime.
fn inverse(a: i64, q: i64) -> i64 {
    let (mut old, mut new) = (i128::from(q), i128::from(a));
    let (mut old_factor, mut new_factor) = (0i128, 1i128);
    while new != 0 {
        let quotient = old / new;
        (old, new) = (new, old - quotient * new);
        (old_factor, new_factor) = (new_factor, old_factor - quotient * new_factor);
    }
    canonical(old_factor, q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_has_the_residues_it_was_made_from() {
        let q = [(1 << 61) - 1, 1 << 62, 4_294_967_291, 3];
        for residues in [
            [0, 0, 0, 0],
            [q[0] - 1, q[1] - 1, q[2] - 1, 2],
            [5, 1 << 61, 77, 1],
        ] {
            let x = from_residues(&residues, &q);
            for (residue, modulus) in residues.into_iter().zip(q) {
                let value = x.0.iter().rev().fold(0u128, |rest, &word| {
                    ((rest << 32) + u128::from(word)) % modulus as u128
                });
                assert_eq!(value as i64, residue, "mod {modulus}");
            }
        }
    }

    #[test]
    fn all_residues_one_below_their_modulus_are_the_product_less_one() {
        let q = [2_305_843_009_218_281_473, 2_305_843_009_218_936_833];
        let x = from_residues(&[q[0] - 1, q[1] - 1], &q);
        let product = q[0] as u128 * q[1] as u128 - 1;
        for start in (0..160).step_by(5) {
            let expected = product.checked_shr(start).unwrap_or(0) & 31;
            assert_eq!(x.bits(u64::from(start), 5) as u128, expected, "bit {start}");
        }
    }
}
