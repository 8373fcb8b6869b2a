//! Elements of every dtype that follow from a number: for random programs and the like.

use super::Number;
use super::field::{Element, Field};
use super::number::encode;
use super::points::{Curve, Point};
use cloakwork_ir::DType;
use num_bigint::BigUint;

/// The words of an element: an integer itself; a small float, now and then 0 of either sign, an
/// infinity or NaN; 0, 1, the prime less 1 or any element of a field; infinity or a small
/// multiple of the generator of a curve.
#[must_use]
pub fn element(dtype: DType, word: u64) -> Vec<i64> {
    let number = if dtype.is_complex() {
        Number::Complex(float(word), float(word.rotate_left(29)))
    } else if dtype.is_real_float() {
        Number::Real(float(word))
    } else if dtype.is_field() {
        Number::Element(of_field(&Field::of(dtype), word))
    } else if dtype.is_point() {
        let multiple = BigUint::from(word % 6);
        Number::Point(Curve::of(dtype).multiple(&multiple, &generator(dtype)))
    } else {
        Number::Int(i128::from(word as i64))
    };
    let mut words = vec![];
    encode(dtype, &number, &mut words);
    words
}

fn float(word: u64) -> f64 {
    match word % 131 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => -0.0,
        4..=8 => 0.0,
        9..=60 => (word / 131 % 41) as f64 / 4.0 - 5.0,
        _ => ((word >> 20) as f64 / (1u64 << 43) as f64 - 1.0) * 3.0,
    }
}

fn of_field(field: &Field, word: u64) -> Element {
    let prime = field.prime;
    let mut element = match word % 11 {
        0 => field.zero(),
        1 => field.one(),
        2 => field.negative(&field.one()),
        _ => field.embedded(prime.power(&BigUint::from(word | 1), &19u8.into())),
    };
    // Of an extension's elements the most have every coefficient.
    if word % 11 > 3 {
        for (coefficient, at) in element.iter_mut().zip(0u32..).skip(1) {
            *coefficient = prime.residue(word.rotate_left(13 * at).into());
        }
    }
    element
}

/// The customary generator of a group of points; infinity for other dtypes.
#[must_use]
pub fn generator(points: DType) -> Point {
    let DType::Point(group) = points else {
        return None;
    };
    let number = |hex: &&str| BigUint::parse_bytes(hex.as_bytes(), 16).unwrap_or_default();
    let coordinate = |parts: &[&str]| parts.iter().map(number).collect();
    Some(group.facts().generator.map(coordinate))
}

#[cfg(test)]
mod tests {
    use super::super::points::decode;
    use super::*;
    use cloakwork_ir::{FIELD_DTYPES, POINT_DTYPES};

    #[test]
    fn a_group_has_the_order_of_its_scalars() {
        for points in POINT_DTYPES {
            let order = points.scalar_field().map(Field::of).unwrap().prime;
            let (curve, one) = (Curve::of(points), generator(points));
            assert_eq!(curve.multiple(&order.modulus, &one), None, "{points}");
            let last = curve.multiple(&(&order.modulus - 1u8), &one);
            assert_eq!(curve.negative(&last), one, "{points}");
            assert_eq!(decode(points, &element(points, 1)), one, "{points}");
        }
    }

    #[test]
    fn elements_are_held_below_the_prime_and_read_back() {
        for dtype in FIELD_DTYPES {
            let field = Field::of(dtype);
            for word in (0..400u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                let element_of_word = of_field(&field, word);
                assert!(element_of_word.iter().all(|c| *c < field.prime.modulus));
                let words = element(dtype, word);
                assert_eq!(words.len(), dtype.components());
                assert_eq!(field.decode(&words), element_of_word, "{dtype}");
            }
        }
    }
}
