//! Whether a Groth16 proof holds. Source: J. Groth, eprint 2016/260, section 3.2.

use super::points::{self, PointFault};
use super::{Form, Pairing};
use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing as Engine;
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::Zero;

/// A verifying key. All points canonical.
#[derive(Clone, Copy, Debug)]
pub struct Groth16Key<'a> {
    /// The curve.
    pub curve: Pairing,
    /// alpha in G1.
    pub alpha1: &'a [u8],
    /// beta in G2.
    pub beta2: &'a [u8],
    /// gamma in G2.
    pub gamma2: &'a [u8],
    /// delta in G2.
    pub delta2: &'a [u8],
    /// G1, one for the constant and one a public signal.
    pub ic: &'a [u8],
}

/// A proof. All points canonical.
#[derive(Clone, Copy, Debug)]
pub struct Groth16Proof<'a> {
    /// In G1.
    pub a: &'a [u8],
    /// In G2.
    pub b: &'a [u8],
    /// In G1.
    pub c: &'a [u8],
}

/// Why there is nothing to decide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Some points are none.
    #[error("{what}: {fault}")]
    Point {
        /// Which: as snarkjs's JSON calls them.
        what: &'static str,
        /// The fault.
        fault: PointFault,
    },
    /// A point of a key at infinity: the key's maker can prove anything.
    #[error("{what} is at infinity, where no verifying key has it")]
    Infinite {
        /// Which: as snarkjs's JSON calls them.
        what: &'static str,
    },
    /// A number is not a scalar.
    #[error("{what} is not below the prime of scalars, or one is missing")]
    Scalar {
        /// Which.
        what: &'static str,
    },
    /// A key's root of unity is none of its domain.
    #[error("w is not a root of unity of order 2^{power}, the domain's")]
    Root {
        /// Binary logarithm of the domain's size.
        power: u32,
    },
    /// A public signal is not a scalar.
    #[error("public signal {index} is not below the prime of scalars")]
    Signal {
        /// Which, counted from 0.
        index: usize,
    },
    /// The key is of another circuit.
    #[error("expected {expected} public signals, as the verifying key has, got {got}")]
    Count {
        /// As many as the key has points for.
        expected: usize,
        /// How many there are.
        got: usize,
    },
}

/// Whether the proof holds for these public signals (canonical scalars) under the key.
///
/// # Errors
/// A point or a signal that is none, or a key for another number of signals.
pub fn verify(
    key: &Groth16Key<'_>,
    public: &[u8],
    proof: &Groth16Proof<'_>,
) -> Result<bool, Malformed> {
    match key.curve {
        Pairing::Bn254 => {
            decide::<Bn254, ark_bn254::g1::Config, ark_bn254::g2::Config>(key, public, proof)
        }
        Pairing::Bls12381 => {
            decide::<Bls12_381, ark_bls12_381::g1::Config, ark_bls12_381::g2::Config>(
                key, public, proof,
            )
        }
    }
}

/// e(A, B) = e(alpha, beta) e(sum of IC, gamma) e(C, delta).
fn decide<E, P1, P2>(
    key: &Groth16Key<'_>,
    public: &[u8],
    proof: &Groth16Proof<'_>,
) -> Result<bool, Malformed>
where
    P1: SWCurveConfig<ScalarField = E::ScalarField>,
    P2: SWCurveConfig<ScalarField = E::ScalarField>,
    E: Engine<G1Affine = Affine<P1>, G2Affine = Affine<P2>>,
{
    let ic = named("IC", points::all::<P1>(key.ic, Form::Canonical))?;
    let size = points::scalar_bytes::<E::ScalarField>();
    let (expected, got) = (ic.len().saturating_sub(1), public.len() / size);
    let Some((constant, rest)) = ic.split_first().filter(|_| expected == got) else {
        return Err(Malformed::Count { expected, got });
    };
    let mut sum = constant.into_group();
    for (index, (point, bytes)) in rest.iter().zip(public.chunks(size)).enumerate() {
        let signal = points::scalar::<E::ScalarField>(bytes).ok_or(Malformed::Signal { index })?;
        sum += *point * signal;
    }
    let g1 = |what, bytes| named(what, points::one::<P1>(bytes, Form::Canonical));
    let g2 = |what, bytes| named(what, points::one::<P2>(bytes, Form::Canonical));
    let a = g1("pi_a", proof.a)?;
    let alpha = finite("vk_alpha_1", g1("vk_alpha_1", key.alpha1)?)?;
    let left = [-a, alpha, sum.into_affine(), g1("pi_c", proof.c)?];
    let secret = |what, bytes| finite(what, g2(what, bytes)?);
    let right = [
        g2("pi_b", proof.b)?,
        secret("vk_beta_2", key.beta2)?,
        secret("vk_gamma_2", key.gamma2)?,
        secret("vk_delta_2", key.delta2)?,
    ];
    Ok(E::multi_pairing(left, right).is_zero())
}

fn finite<P: AffineRepr>(what: &'static str, point: P) -> Result<P, Malformed> {
    if point.is_zero() {
        return Err(Malformed::Infinite { what });
    }
    Ok(point)
}

pub(super) fn named<T>(what: &'static str, found: Result<T, PointFault>) -> Result<T, Malformed> {
    found.map_err(|fault| Malformed::Point { what, fault })
}
