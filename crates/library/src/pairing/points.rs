//! Points out of bytes, and coordinates into them.

use super::Form;
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ec::{AdditiveGroup, CurveConfig};
use ark_ff::{BigInteger, Field, PrimeField};
use cloakwork_process::{Reading, is_reading};

/// Why bytes are not the points that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("point {index} {reason}")]
pub struct PointFault {
    /// Which of them, counted from 0.
    pub index: usize,
    /// Why it is invalid.
    pub reason: Reason,
}

/// Why a point is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// More or fewer bytes than a point has.
    #[error("has not as many bytes as a point")]
    Length,
    /// A number of a field is not below its prime.
    #[error("is not below the prime")]
    NotReduced,
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

/// The little-endian bytes of an integer of a field's words.
pub(super) fn bytes_of_integer<F: PrimeField>(value: F::BigInt) -> Vec<u8> {
    value.to_bytes_le()
}

fn width<F: PrimeField>() -> usize {
    F::BigInt::NUM_LIMBS * 8
}

/// The prime field below the field of a curve's coordinates.
type Prime<P> = <<P as CurveConfig>::BaseField as Field>::BasePrimeField;

/// 1 / R.
pub(super) fn r_inverse<F: PrimeField>() -> F {
    let r = F::from(2u64).pow([8 * width::<F>() as u64]);
    r.inverse().unwrap_or(F::ONE)
}

/// A coordinate of as many bytes as the prime's words have, or None if it is not below the prime.
fn coordinate<F: PrimeField>(bytes: &[u8]) -> Option<F> {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut number = F::BigInt::default();
    if !rest.is_empty() || words.len() != number.as_ref().len() {
        return None;
    }
    for (to, word) in number.as_mut().iter_mut().zip(words) {
        *to = u64::from_le_bytes(*word);
    }
    F::from_bigint(number)
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

/// Checks that all of these bytes are points.
pub(super) fn check<P: SWCurveConfig>(bytes: &[u8], form: Form) -> Result<(), PointFault> {
    each::<P>(bytes, form, member, drop)
}

/// Checks that all of these bytes are points of the curve, of its group or not.
pub(super) fn check_curve<P: SWCurveConfig>(bytes: &[u8], form: Form) -> Result<(), PointFault> {
    each::<P>(bytes, form, on_curve, drop)
}

/// The same by several threads: the first fault in order, as one thread would find it.
pub(super) fn check_by<P: SWCurveConfig>(
    threads: usize,
    bytes: &[u8],
    (form, groups): (Form, bool),
) -> Result<(), PointFault> {
    let judge: fn(&[u8], Form) -> Result<(), PointFault> =
        if groups { check::<P> } else { check_curve::<P> };
    let least = if groups { 64 } else { 4096 };
    let points = bytes.len() / size::<P>();
    // Fewer points are not worth a thread.
    let share = points.div_ceil(threads.max(1)).max(least);
    if points <= share {
        return judge(bytes, form);
    }
    let asked = is_reading();
    std::thread::scope(|scope| {
        let parts = bytes.chunks(share * size::<P>()).enumerate();
        let begun: Vec<_> = parts
            .map(|(at, part)| {
                let work = move || {
                    let _reading = asked.then(Reading::start);
                    judge(part, form).map_err(|fault| PointFault {
                        index: at * share + fault.index,
                        ..fault
                    })
                };
                scope.spawn(work)
            })
            .collect();
        let judged = begun.into_iter().map(|thread| match thread.join() {
            Ok(judged) => judged,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        judged.fold(Ok(()), Result::and)
    })
}

/// All points in these bytes.
pub(super) fn all<P: SWCurveConfig>(
    bytes: &[u8],
    form: Form,
) -> Result<Vec<Affine<P>>, PointFault> {
    let mut points = Vec::with_capacity(bytes.len() / size::<P>());
    each::<P>(bytes, form, member, |point| points.push(point))?;
    Ok(points)
}

/// Bytes of a point.
fn size<P: SWCurveConfig>() -> usize {
    2 * width::<Prime<P>>() * P::BaseField::extension_degree() as usize
}

fn each<P: SWCurveConfig>(
    bytes: &[u8],
    form: Form,
    judge: fn(&Affine<P>) -> Result<(), Reason>,
    mut take: impl FnMut(Affine<P>),
) -> Result<(), PointFault> {
    let factor = match form {
        Form::Canonical => None,
        Form::Montgomery => Some(r_inverse()),
    };
    for (index, chunk) in bytes.chunks(size::<P>()).enumerate() {
        let fault = |reason| PointFault { index, reason };
        if chunk.len() != size::<P>() {
            return Err(fault(Reason::Length));
        }
        let point = affine::<P>(chunk, factor).map_err(fault)?;
        judge(&point).map_err(fault)?;
        take(point);
    }
    Ok(())
}

/// The point of some coordinates, which need not be on the curve.
fn affine<P: SWCurveConfig>(bytes: &[u8], factor: Option<Prime<P>>) -> Result<Affine<P>, Reason> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(Affine::identity());
    }
    let mut below = true;
    let mut half = |bytes: &[u8]| {
        let size = bytes.len() / P::BaseField::extension_degree() as usize;
        let parts = bytes.chunks(size).map(|part| {
            let part = coordinate::<Prime<P>>(part);
            below &= part.is_some();
            let part = part.unwrap_or(Prime::<P>::ZERO);
            factor.map_or(part, |factor| part * factor)
        });
        P::BaseField::from_base_prime_field_elems(parts).unwrap_or(P::BaseField::ZERO)
    };
    let (x, y) = bytes.split_at(bytes.len() / 2);
    let point = Affine::new_unchecked(half(x), half(y));
    if below {
        Ok(point)
    } else {
        Err(Reason::NotCanonical)
    }
}

/// Whether coordinates are those of a point of the group of prime order.
fn member<P: SWCurveConfig>(point: &Affine<P>) -> Result<(), Reason> {
    on_curve(point)?;
    if point.is_in_correct_subgroup_assuming_on_curve() {
        Ok(())
    } else {
        Err(Reason::OutsideSubgroup)
    }
}

fn on_curve<P: SWCurveConfig>(point: &Affine<P>) -> Result<(), Reason> {
    if point.is_on_curve() {
        Ok(())
    } else {
        Err(Reason::OffCurve)
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
