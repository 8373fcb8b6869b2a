//! Points out of bytes, and coordinates into them.

use super::Form;
use ark_ec::CurveConfig;
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ff::{BigInteger, Field, PrimeField};

/// Why bytes are not the points that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("point {index} {reason}")]
pub struct PointFault {
    /// Which of them, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What can be wrong with a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// More or fewer bytes than a point has.
    #[error("has not as many bytes as a point")]
    Length,
    /// A coordinate is not below the prime.
    #[error("has a coordinate that is not below the prime")]
    NotCanonical,
    /// Its coordinates do not satisfy the equation.
    #[error("is not on the curve")]
    OffCurve,
    /// It is on the curve, in none of the pairing's groups.
    #[error("is on the curve, but not in the group of prime order")]
    OutsideSubgroup,
}

/// The bytes of a coordinate.
pub(super) fn bytes_of<F: PrimeField>(value: F) -> Vec<u8> {
    value.into_bigint().to_bytes_le()
}

fn width<F: PrimeField>() -> usize {
    F::BigInt::NUM_LIMBS * 8
}

/// What coordinates of a curve's points consist of.
type Prime<P> = <<P as CurveConfig>::BaseField as Field>::BasePrimeField;

/// 1 / R.
fn r_inverse<F: PrimeField>() -> F {
    let r = F::from(2u64).pow([8 * width::<F>() as u64]);
    r.inverse().unwrap_or(F::ONE)
}

/// A coordinate, or None if it is not below the prime.
fn coordinate<F: PrimeField>(bytes: &[u8]) -> Option<F> {
    let value = F::from_le_bytes_mod_order(bytes);
    (bytes_of(value) == bytes).then_some(value)
}

pub(super) fn to_canonical<F: PrimeField>(bytes: &[u8]) -> Vec<u8> {
    let factor = r_inverse::<F>();
    let out = |chunk| bytes_of(F::from_le_bytes_mod_order(chunk) * factor);
    bytes.chunks(width::<F>()).flat_map(out).collect()
}

/// The only point in these bytes.
pub(super) fn one<P: SWCurveConfig>(bytes: &[u8], form: Form) -> Result<Affine<P>, PointFault> {
    let points = all::<P>(bytes, form)?;
    match points.as_slice() {
        [point] => Ok(*point),
        _ => Err(PointFault {
            index: 0,
            reason: Reason::Length,
        }),
    }
}

/// That all of these bytes are points.
pub(super) fn check<P: SWCurveConfig>(bytes: &[u8], form: Form) -> Result<(), PointFault> {
    all::<P>(bytes, form).map(drop)
}

/// All points in these bytes.
pub(super) fn all<P: SWCurveConfig>(
    bytes: &[u8],
    form: Form,
) -> Result<Vec<Affine<P>>, PointFault> {
    let size = 2 * width::<Prime<P>>() * P::BaseField::extension_degree() as usize;
    let factor = match form {
        Form::Canonical => Prime::<P>::ONE,
        Form::Montgomery => r_inverse(),
    };
    let mut points = Vec::with_capacity(bytes.len() / size);
    for (index, chunk) in bytes.chunks(size).enumerate() {
        let fault = |reason| PointFault { index, reason };
        if chunk.len() != size {
            return Err(fault(Reason::Length));
        }
        points.push(affine::<P>(chunk, factor).map_err(fault)?);
    }
    Ok(points)
}

fn affine<P: SWCurveConfig>(bytes: &[u8], factor: Prime<P>) -> Result<Affine<P>, Reason> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(Affine::identity());
    }
    let mut halves = bytes.chunks(bytes.len() / 2).map(|half| {
        let size = half.len() / P::BaseField::extension_degree() as usize;
        let parts = half.chunks(size).map(coordinate::<Prime<P>>);
        let parts: Vec<_> = parts.collect::<Option<_>>()?;
        let parts = parts.into_iter().map(|part| part * factor);
        P::BaseField::from_base_prime_field_elems(parts)
    });
    let mut next = || halves.next().flatten().ok_or(Reason::NotCanonical);
    let point = Affine::<P>::new_unchecked(next()?, next()?);
    if !point.is_on_curve() {
        Err(Reason::OffCurve)
    } else if !point.is_in_correct_subgroup_assuming_on_curve() {
        Err(Reason::OutsideSubgroup)
    } else {
        Ok(point)
    }
}

/// A scalar, or None if it is not below the prime.
pub(super) fn scalar<F: PrimeField>(bytes: &[u8]) -> Option<F> {
    coordinate(bytes)
}

/// Bytes of a scalar.
pub(super) fn scalar_bytes<F: PrimeField>() -> usize {
    width::<F>()
}
