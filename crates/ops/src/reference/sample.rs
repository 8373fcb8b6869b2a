//! Elements of every dtype that follow from a number: for random programs and the like.

use super::Number;
use super::number::encode;
use super::points::{Curve, Point};
use super::prime::Prime;
use cloakwork_ir::DType;
use num_bigint::BigUint;

/// The words of an element: an integer itself; a small float, now and then 0 of either sign, an
/// infinity or not a number; 0, 1, the prime less 1 or any element of a field; infinity or a small
/// multiple of the generator of a curve.
#[must_use]
pub fn element(dtype: DType, word: u64) -> Vec<i64> {
    let number = if dtype.is_complex() {
        Number::Complex(float(word), float(word.rotate_left(29)))
    } else if dtype.is_real_float() {
        Number::Real(float(word))
    } else if dtype.is_field() {
        Number::Element(residue(dtype, word))
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

fn residue(dtype: DType, word: u64) -> BigUint {
    let prime = Prime::of(dtype);
    match word % 11 {
        0 => BigUint::ZERO,
        1 => 1u8.into(),
        2 => &prime.modulus - 1u8,
        _ => prime.power(&BigUint::from(word | 1), &19u8.into()),
    }
}

/// The generators are those of EIP-197 and of the IETF's draft on pairing-friendly curves.
#[must_use]
pub fn generator(points: DType) -> Point {
    let number = |hex: &&str| BigUint::parse_bytes(hex.as_bytes(), 16).unwrap_or_default();
    let coordinate = |parts: &[&str]| parts.iter().map(number).collect();
    let [x, y]: [&[&str]; 2] = match points {
        DType::Bn254G1 => [&["1"], &["2"]],
        DType::Bn254G2 => [
            &[
                "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
                "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
            ],
            &[
                "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
                "90689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
            ],
        ],
        DType::Bls381G1 => [
            &[concat!(
                "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58",
                "6c55e83ff97a1aeffb3af00adb22c6bb"
            )],
            &[concat!(
                "8b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3ed",
                "d03cc744a2888ae40caa232946c5e7e1"
            )],
        ],
        _ => [
            &[
                concat!(
                    "24aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d177",
                    "0bac0326a805bbefd48056c8c121bdb8"
                ),
                concat!(
                    "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049",
                    "334cf11213945d57e5ac7d055d042b7e"
                ),
            ],
            &[
                concat!(
                    "ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c",
                    "923ac9cc3baca289e193548608b82801"
                ),
                concat!(
                    "606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab",
                    "3f370d275cec1da1aaa9075ff05f79be"
                ),
            ],
        ],
    };
    Some([coordinate(x), coordinate(y)])
}

#[cfg(test)]
mod tests {
    use super::super::points::decode;
    use super::*;
    use cloakwork_ir::{FIELD_DTYPES, POINT_DTYPES};

    #[test]
    fn a_group_has_the_order_of_its_scalars() {
        for points in POINT_DTYPES {
            let order = points.scalar_field().map(Prime::of).unwrap();
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
            let prime = Prime::of(dtype);
            for word in (0..400u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                let number = residue(dtype, word);
                assert!(number < prime.modulus);
                let words = element(dtype, word);
                assert_eq!(words.len(), dtype.components());
                assert_eq!(prime.decode(&words), number, "{dtype}");
            }
            let (two, inverse) = (2u8.into(), prime.inverse(&2u8.into()));
            assert_eq!(prime.multiply(&two, &inverse), 1u8.into());
        }
    }
}
