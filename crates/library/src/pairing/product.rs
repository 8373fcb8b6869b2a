//! Products of pairings, with one final exponentiation for all of them.

use super::points::{self, PointFault};
use super::{Form, Pairing};
use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing as Engine;
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ff::Zero;

/// Why there is no product.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProductFault {
    /// Some points are none.
    #[error("{group}: {fault}")]
    Point {
        /// Of G1 or of G2.
        group: &'static str,
        /// The fault.
        fault: PointFault,
    },
    /// Points without a partner.
    #[error("expected as many points of G2 as of G1, {expected}, got {got}")]
    Count {
        /// Points of G1.
        expected: usize,
        /// Points of G2.
        got: usize,
    },
}

/// Whether the product of e(P, Q) over pairs of canonical points of G1 and G2 is 1.
///
/// # Errors
/// Bytes that are not points of their group, or unequal numbers of points.
pub fn product_is_one(curve: Pairing, g1: &[u8], g2: &[u8]) -> Result<bool, ProductFault> {
    match curve {
        Pairing::Bn254 => is_one::<Bn254, ark_bn254::g1::Config, ark_bn254::g2::Config>(g1, g2),
        Pairing::Bls12381 => {
            is_one::<Bls12_381, ark_bls12_381::g1::Config, ark_bls12_381::g2::Config>(g1, g2)
        }
    }
}

fn is_one<E, P1, P2>(g1: &[u8], g2: &[u8]) -> Result<bool, ProductFault>
where
    P1: SWCurveConfig<ScalarField = E::ScalarField>,
    P2: SWCurveConfig<ScalarField = E::ScalarField>,
    E: Engine<G1Affine = Affine<P1>, G2Affine = Affine<P2>>,
{
    let named = |group| move |fault| ProductFault::Point { group, fault };
    let left = points::all::<P1>(g1, Form::Canonical).map_err(named("g1"))?;
    let right = points::all::<P2>(g2, Form::Canonical).map_err(named("g2"))?;
    if left.len() != right.len() {
        return Err(ProductFault::Count {
            expected: left.len(),
            got: right.len(),
        });
    }
    Ok(E::multi_pairing(left, right).is_zero())
}
