//! Pairings over BN254 and BLS12-381, by which proofs of Groth16 and PLONK are verified.
//!
//! Points are bytes: affine, x || y (G2: x.c0, x.c1, y.c0, y.c1), little-endian words, infinity all
//! zeros. No point is taken on trust: each is held against the prime, the curve and the subgroup.

mod ceremony;
mod groth16;
mod plonk;
mod points;
mod product;
mod proving_key;

pub use ceremony::{Drawn, draw, hashed_bytes, same_ratio};
pub use cloakwork_algebra::Pairing;
pub use groth16::{Groth16Key, Groth16Proof, Malformed, verify};
pub use plonk::{PlonkKey, PlonkProof, verify_plonk};
pub use points::{PointFault, Reason};
pub use product::{ProductFault, product_is_one};
pub use proving_key::{Groth16ProvingKey, KeyFault, Rows, check_key, same_number};

use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing as _;
use ark_ff::{Field, Zero};
use cloakwork_algebra::Group;

/// How coordinates are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Canonical,
    /// Times R = 2^(bits of their words).
    Montgomery,
}

/// Checks points, many of them on several threads.
///
/// # Errors
/// The first in order that is none.
pub fn check_points(
    group: Group,
    form: Form,
    threads: usize,
    bytes: &[u8],
) -> Result<(), PointFault> {
    check_some_points(group, form, threads, (bytes, true))
}

/// The same, where `groups` says whether points must be in the group of prime order, or may be
/// anywhere on the curve.
///
/// # Errors
/// The first in order that is none.
pub fn check_some_points(
    group: Group,
    form: Form,
    threads: usize,
    (bytes, groups): (&[u8], bool),
) -> Result<(), PointFault> {
    use points::check_by;
    let how = (form, groups);
    match group {
        Group::BN254_G1 => check_by::<ark_bn254::g1::Config>(threads, bytes, how),
        Group::BN254_G2 => check_by::<ark_bn254::g2::Config>(threads, bytes, how),
        Group::BLS12_381_G1 => check_by::<ark_bls12_381::g1::Config>(threads, bytes, how),
        Group::BLS12_381_G2 => check_by::<ark_bls12_381::g2::Config>(threads, bytes, how),
        Group::PALLAS_G1 => check_by::<ark_pallas::PallasConfig>(threads, bytes, how),
        Group::VESTA_G1 => check_by::<ark_vesta::VestaConfig>(threads, bytes, how),
        // A test holds that there is no such group.
        _ => Err(PointFault {
            index: 0,
            reason: Reason::OffCurve,
        }),
    }
}

/// Whether e(low, x2) = e(high, G2): whether `high` is `low` times the number that x2 holds. All
/// points canonical.
///
/// # Errors
/// One of them is not a point.
pub fn follows(curve: Pairing, low: &[u8], high: &[u8], x2: &[u8]) -> Result<bool, PointFault> {
    use ark_ec::AffineRepr;
    let form = Form::Canonical;
    match curve {
        Pairing::Bn254 => {
            let low = points::one::<ark_bn254::g1::Config>(low, form)?;
            let high = points::one::<ark_bn254::g1::Config>(high, form)?;
            let x2 = points::one::<ark_bn254::g2::Config>(x2, form)?;
            let one = ark_bn254::G2Affine::generator();
            Ok(Bn254::multi_pairing([low, -high], [x2, one]).is_zero())
        }
        Pairing::Bls12381 => {
            let low = points::one::<ark_bls12_381::g1::Config>(low, form)?;
            let high = points::one::<ark_bls12_381::g1::Config>(high, form)?;
            let x2 = points::one::<ark_bls12_381::g2::Config>(x2, form)?;
            let one = ark_bls12_381::G2Affine::generator();
            Ok(Bls12_381::multi_pairing([low, -high], [x2, one]).is_zero())
        }
    }
}

/// Coordinates out of Montgomery form; those that are not below the prime are reduced.
#[must_use]
pub fn to_canonical(curve: Pairing, bytes: &[u8]) -> Vec<u8> {
    match curve {
        Pairing::Bn254 => points::to_canonical::<ark_bn254::Fq>(bytes),
        Pairing::Bls12381 => points::to_canonical::<ark_bls12_381::Fq>(bytes),
    }
}

/// The pairing of a point of G1 and one of G2, both canonical: twelve canonical coordinates over
/// the tower 2, 3, 2, constant parts first.
///
/// # Errors
/// One of them is not a point.
pub fn pairing(curve: Pairing, g1: &[u8], g2: &[u8]) -> Result<Vec<u8>, PointFault> {
    match curve {
        Pairing::Bn254 => {
            let a = points::one::<ark_bn254::g1::Config>(g1, Form::Canonical)?;
            let b = points::one::<ark_bn254::g2::Config>(g2, Form::Canonical)?;
            Ok(coordinates(Bn254::pairing(a, b).0))
        }
        Pairing::Bls12381 => {
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
