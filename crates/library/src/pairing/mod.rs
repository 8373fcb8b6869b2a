//! Pairings over BN254 and BLS12-381, and what they decide: whether a Groth16 proof holds.
//!
//! Points are bytes: affine, x || y (G2: x.c0, x.c1, y.c0, y.c1), little-endian words, infinity all
//! zeros. No point is taken on trust: each is held against the prime, the curve and the subgroup.

mod groth16;
mod points;
mod proving_key;

pub use groth16::{Groth16Key, Groth16Proof, Malformed, verify};
pub use points::{PointFault, Reason};
pub use proving_key::{Groth16ProvingKey, KeyFault, Rows, check_key, same_number};

use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing;
use ark_ff::Field;

/// A curve with a pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// BN254, called bn128 by snarkjs.
    Bn254,
    /// BLS12-381.
    Bls12381,
}

/// Which of the two groups of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Over the prime field.
    G1,
    /// Over its quadratic extension.
    G2,
}

/// How coordinates are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Canonical,
    /// Times R = 2^(bits of their words).
    Montgomery,
}

/// Checks points one after the other.
///
/// # Errors
/// The first that is none.
pub fn check_points(
    curve: Curve,
    group: Group,
    form: Form,
    bytes: &[u8],
) -> Result<(), PointFault> {
    use points::check;
    match (curve, group) {
        (Curve::Bn254, Group::G1) => check::<ark_bn254::g1::Config>(bytes, form),
        (Curve::Bn254, Group::G2) => check::<ark_bn254::g2::Config>(bytes, form),
        (Curve::Bls12381, Group::G1) => check::<ark_bls12_381::g1::Config>(bytes, form),
        (Curve::Bls12381, Group::G2) => check::<ark_bls12_381::g2::Config>(bytes, form),
    }
}

/// Coordinates out of Montgomery form; those that are not below the prime are reduced.
#[must_use]
pub fn to_canonical(curve: Curve, bytes: &[u8]) -> Vec<u8> {
    match curve {
        Curve::Bn254 => points::to_canonical::<ark_bn254::Fq>(bytes),
        Curve::Bls12381 => points::to_canonical::<ark_bls12_381::Fq>(bytes),
    }
}

/// The pairing of a point of G1 and one of G2, both canonical: twelve canonical coordinates over
/// the tower 2, 3, 2, constant parts first.
///
/// # Errors
/// One of them is no point.
pub fn pairing(curve: Curve, g1: &[u8], g2: &[u8]) -> Result<Vec<u8>, PointFault> {
    match curve {
        Curve::Bn254 => {
            let a = points::one::<ark_bn254::g1::Config>(g1, Form::Canonical)?;
            let b = points::one::<ark_bn254::g2::Config>(g2, Form::Canonical)?;
            Ok(coordinates(Bn254::pairing(a, b).0))
        }
        Curve::Bls12381 => {
            let a = points::one::<ark_bls12_381::g1::Config>(g1, Form::Canonical)?;
            let b = points::one::<ark_bls12_381::g2::Config>(g2, Form::Canonical)?;
            Ok(coordinates(Bls12_381::pairing(a, b).0))
        }
    }
}

fn coordinates<F: Field>(value: F) -> Vec<u8> {
    value
        .to_base_prime_field_elements()
        .flat_map(points::bytes_of)
        .collect()
}
