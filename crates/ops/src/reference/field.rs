//! Fields: polynomials over residues modulo a prime, modulo `x^degree - nonresidue`. A prime field
//! has the degree 1.

use super::prime::{Prime, from_words, to_words};
use cloakwork_ir::DType;
use num_bigint::BigUint;

/// The canonical numbers of an element's coefficients, that of 1 first.
pub type Element = Vec<BigUint>;

/// The arithmetic of a field.
#[derive(Clone, Copy)]
pub struct Field {
    /// Of the coefficients.
    pub prime: &'static Prime,
    degree: usize,
    nonresidue: i64,
}

impl Field {
    /// The field of a dtype; of points that of their coordinates, whose twists have two parts, by
    /// `u^2 = -1`.
    #[must_use]
    pub fn of(dtype: DType) -> Self {
        let extension = match dtype {
            DType::Field(field) => field.facts().extension(),
            _ => None,
        };
        let (degree, nonresidue) = match (dtype, extension) {
            (DType::Point(group), _) => (group.facts().degree, -1),
            (_, Some(extension)) => (extension.degree, i64::from(extension.nonresidue)),
            _ => (1, 0),
        };
        Self {
            prime: Prime::of(dtype.base_field().unwrap_or(dtype)),
            degree: degree.into(),
            nonresidue,
        }
    }

    /// 0.
    #[must_use]
    pub fn zero(&self) -> Element {
        vec![BigUint::ZERO; self.degree]
    }

    /// 1.
    #[must_use]
    pub fn one(&self) -> Element {
        self.embedded(1u8.into())
    }

    /// The element of a residue.
    #[must_use]
    pub fn embedded(&self, residue: BigUint) -> Element {
        let mut element = self.zero();
        if let Some(constant) = element.first_mut() {
            *constant = residue;
        }
        element
    }

    fn zip(
        &self,
        a: &Element,
        b: &Element,
        f: fn(&Prime, &BigUint, &BigUint) -> BigUint,
    ) -> Element {
        a.iter().zip(b).map(|(a, b)| f(self.prime, a, b)).collect()
    }

    /// `a + b`.
    #[must_use]
    pub fn add(&self, a: &Element, b: &Element) -> Element {
        self.zip(a, b, Prime::add)
    }

    /// `a - b`.
    #[must_use]
    pub fn subtract(&self, a: &Element, b: &Element) -> Element {
        self.zip(a, b, Prime::subtract)
    }

    /// `-a`.
    #[must_use]
    pub fn negative(&self, a: &Element) -> Element {
        self.subtract(&self.zero(), a)
    }

    /// `a * b`: the product of the polynomials, of which what is at `x^degree` and above comes back
    /// with the non-residue.
    #[must_use]
    pub fn multiply(&self, a: &Element, b: &Element) -> Element {
        let nonresidue = self.prime.residue(self.nonresidue.into());
        let mut product = self.zero();
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                let mut term = self.prime.multiply(x, y);
                if i + j >= self.degree {
                    term = self.prime.multiply(&term, &nonresidue);
                }
                let at = &mut product[(i + j) % self.degree];
                *at = self.prime.add(at, &term);
            }
        }
        product
    }

    /// `1 / a`, 0 for 0. With `a = e + x o`, e and o polynomials of `x^2`, it is `(e - x o) / n`,
    /// where `n = e^2 - x^2 o^2` is an element of the field of half the degree.
    #[must_use]
    pub fn inverse(&self, a: &Element) -> Element {
        if self.degree == 1 {
            return a.iter().map(|a| self.prime.inverse(a)).collect();
        }
        let half = Self {
            degree: self.degree / 2,
            ..*self
        };
        let part = |first| a.iter().skip(first).step_by(2).cloned().collect();
        let (even, odd): (Element, Element) = (part(0), part(1));
        let square = half.by_x(half.multiply(&odd, &odd));
        let norm = half.subtract(&half.multiply(&even, &even), &square);
        let inverse = half.inverse(&norm);
        let even = half.multiply(&even, &inverse);
        let odd = half.negative(&half.multiply(&odd, &inverse));
        even.into_iter().zip(odd).flat_map(<[_; 2]>::from).collect()
    }

    /// `x a`.
    fn by_x(&self, mut a: Element) -> Element {
        a.rotate_right(1);
        if let Some(constant) = a.first_mut() {
            let nonresidue = self.prime.residue(self.nonresidue.into());
            *constant = self.prime.multiply(constant, &nonresidue);
        }
        a
    }

    /// `a ** exponent`.
    #[must_use]
    pub fn power(&self, a: &Element, exponent: &BigUint) -> Element {
        if let [a] = &a[..] {
            return vec![self.prime.power(a, exponent)];
        }
        (0..exponent.bits()).rev().fold(self.one(), |power, bit| {
            let square = self.multiply(&power, &power);
            if exponent.bit(bit) {
                self.multiply(&square, a)
            } else {
                square
            }
        })
    }

    /// The element of memory's words.
    #[must_use]
    pub fn decode(&self, words: &[i64]) -> Element {
        let residues = words.chunks(self.prime.components());
        residues.map(|own| self.prime.decode(own)).collect()
    }

    /// Appends memory's words of an element.
    pub fn encode(&self, a: &Element, words: &mut Vec<i64>) {
        for residue in a {
            self.prime.encode(residue, words);
        }
    }

    /// The element of canonical words.
    #[must_use]
    pub fn from_canonical(&self, words: &[i64]) -> Element {
        let number = |own: &[i64]| {
            let words: Vec<u64> = own.iter().map(|&word| word as u64).collect();
            from_words(&words, 64)
        };
        let residues = words.chunks(self.prime.canonical_words());
        residues.map(number).collect()
    }

    /// Appends the canonical words of an element.
    pub fn canonical_words(&self, a: &Element, words: &mut Vec<i64>) {
        for residue in a {
            words.extend(to_words(residue, 64, self.prime.canonical_words()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{number, sample};
    use super::*;
    use cloakwork_ir::FIELD_DTYPES;

    #[test]
    fn every_element_but_0_has_an_inverse() {
        for dtype in FIELD_DTYPES {
            let field = Field::of(dtype);
            for word in (0..60u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                let words = sample::element(dtype, word);
                let a = number::decode(dtype, &words).element();
                let product = field.multiply(&a, &field.inverse(&a));
                let expected = match a == field.zero() {
                    true => field.zero(),
                    false => field.one(),
                };
                assert_eq!(product, expected, "{dtype} {a:?}");
            }
        }
    }

    /// `x^d - w` has no root of a factor's degree: w is a square nowhere, which for d = 4 takes
    /// p - 1 a multiple of 4, too (Lang, Algebra, theorem VI.9.1).
    #[test]
    fn an_extension_is_a_field() {
        for dtype in FIELD_DTYPES.into_iter().filter(|d| !d.is_prime_field()) {
            let field = Field::of(dtype);
            let minus_one = &field.prime.modulus - 1u8;
            let nonresidue = field.prime.residue(field.nonresidue.into());
            let half = field.prime.power(&nonresidue, &(&minus_one / 2u8));
            assert_eq!(half, minus_one, "{dtype}");
            let fours = (&minus_one % 4u8) == BigUint::ZERO;
            assert!(field.degree == 2 || fours, "{dtype}");
        }
    }
}
