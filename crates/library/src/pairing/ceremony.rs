//! Pairings and points of ceremonies: equal ratios, points that follow from a seed, and the bytes
//! of points that transcripts hash.  Source: the files of npm `snarkjs` 0.7.6 and `ffjavascript`.

use super::{Form, PointFault, points};
use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing as Engine;
use ark_ec::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::{AdditiveGroup, AffineRepr, CurveConfig, CurveGroup};
use ark_ff::{BitIteratorBE, Field, PrimeField, Zero};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use cloakwork_algebra::{Group, Pairing};

/// A kind of value that is drawn from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// A scalar.
    Scalar,
    /// A point of G1.
    G1,
    /// A point of G2.
    G2,
}

/// Scalars and points, canonical, drawn one after the other from the keystream of ChaCha20 under
/// the seed. All of it is public: points that bind a contribution to what came before, and beacons.
#[must_use]
pub fn draw(curve: Pairing, seed: [u8; 32], kinds: &[Drawn]) -> Vec<Vec<u8>> {
    match curve {
        Pairing::Bn254 => draws::<ark_bn254::g1::Config, ark_bn254::g2::Config>(seed, kinds),
        Pairing::Bls12381 => {
            draws::<ark_bls12_381::g1::Config, ark_bls12_381::g2::Config>(seed, kinds)
        }
    }
}

fn draws<P1: SWCurveConfig, P2: SWCurveConfig>(seed: [u8; 32], kinds: &[Drawn]) -> Vec<Vec<u8>> {
    let mut stream = ChaCha20Rng::from_seed(seed);
    let mut one = |kind: &Drawn| match kind {
        Drawn::Scalar => points::bytes_of(number::<P1::ScalarField>(&mut stream)),
        Drawn::G1 => point::<P1>(&mut stream),
        Drawn::G2 => point::<P2>(&mut stream),
    };
    kinds.iter().map(&mut one).collect()
}

/// A uniform element. The drawn number is its Montgomery form.
fn number<F: PrimeField>(stream: &mut ChaCha20Rng) -> F {
    let mut drawn = F::BigInt::default();
    let unused = 64 * drawn.as_ref().len() as u32 - F::MODULUS_BIT_SIZE;
    loop {
        for word in drawn.as_mut() {
            let high = u64::from(stream.next_u32());
            *word = high << 32 | u64::from(stream.next_u32());
        }
        if let Some(top) = drawn.as_mut().last_mut() {
            *top &= u64::MAX >> unused;
        }
        if let Some(found) = F::from_bigint(drawn) {
            return found * points::r_inverse::<F>();
        }
    }
}

type Prime<P> = <<P as CurveConfig>::BaseField as Field>::BasePrimeField;

/// A point of the group of prime order: the first drawn abscissa on the curve, times the cofactor.
fn point<P: SWCurveConfig>(stream: &mut ChaCha20Rng) -> Vec<u8> {
    let (x, y, greatest) = loop {
        let degree = P::BaseField::extension_degree() as usize;
        let parts: Vec<Prime<P>> = (0..degree).map(|_| number(stream)).collect();
        let greatest = stream.next_u32() & 1 == 1;
        let x = P::BaseField::from_base_prime_field_elems(parts).unwrap_or(P::BaseField::ZERO);
        if let Some(y) = (x.square() * x + P::COEFF_B).sqrt() {
            break (x, y, greatest);
        }
    };
    let y = if greatest == is_negative(&y) { y } else { -y };
    let base = Affine::<P>::new_unchecked(x, y);
    let mut sum = Projective::<P>::zero();
    for bit in BitIteratorBE::without_leading_zeros(P::COFACTOR) {
        sum.double_in_place();
        if bit {
            sum += base;
        }
    }
    let sum = sum.into_affine();
    let coordinates = [sum.x, sum.y];
    let parts = coordinates
        .iter()
        .flat_map(Field::to_base_prime_field_elements);
    parts.flat_map(points::bytes_of).collect()
}

/// Whether an element is above (p - 1) / 2; the last part that is not zero decides.
fn is_negative<F: Field>(value: &F) -> bool {
    let parts: Vec<_> = value.to_base_prime_field_elements().collect();
    let half = <F::BasePrimeField as PrimeField>::MODULUS_MINUS_ONE_DIV_TWO;
    let decides = parts.iter().rev().find(|part| !part.is_zero());
    decides.is_some_and(|part| part.into_bigint() > half)
}

/// Whether two points of G1 and two of G2, in Montgomery form, are pairs of the same ratio:
/// e(g1.0, g2.1) = e(g1.1, g2.0), and none of them is at infinity.
///
/// # Errors
/// One of them is not a point of its group; its index counts in the order of the arguments.
pub fn same_ratio(curve: Pairing, g1: [&[u8]; 2], g2: [&[u8]; 2]) -> Result<bool, PointFault> {
    match curve {
        Pairing::Bn254 => ratio::<Bn254, ark_bn254::g1::Config, ark_bn254::g2::Config>(g1, g2),
        Pairing::Bls12381 => {
            ratio::<Bls12_381, ark_bls12_381::g1::Config, ark_bls12_381::g2::Config>(g1, g2)
        }
    }
}

fn ratio<E, P1, P2>(g1: [&[u8]; 2], g2: [&[u8]; 2]) -> Result<bool, PointFault>
where
    P1: SWCurveConfig<ScalarField = E::ScalarField>,
    P2: SWCurveConfig<ScalarField = E::ScalarField>,
    E: Engine<G1Affine = Affine<P1>, G2Affine = Affine<P2>>,
{
    let at = |index| move |fault: PointFault| PointFault { index, ..fault };
    let [a, b] = g1;
    let (a, b) = (
        points::one::<P1>(a, Form::Montgomery).map_err(at(0))?,
        points::one::<P1>(b, Form::Montgomery).map_err(at(1))?,
    );
    let [c, d] = g2;
    let (c, d) = (
        points::one::<P2>(c, Form::Montgomery).map_err(at(2))?,
        points::one::<P2>(d, Form::Montgomery).map_err(at(3))?,
    );
    if a.is_zero() || b.is_zero() || c.is_zero() || d.is_zero() {
        return Ok(false);
    }
    Ok(E::multi_pairing([a, -b], [d, c]).is_zero())
}

/// Canonical points as transcripts hash them: coordinates with the highest byte first, the last
/// part of an extension first. Compressed, the abscissa, and two bits: 0x40 for infinity, 0x80 for
/// an ordinate above (p - 1) / 2.
#[must_use]
pub fn hashed_bytes(group: Group, canonical: &[u8], compressed: bool) -> Vec<u8> {
    match group {
        Group::BN254_G1 => encode::<ark_bn254::Fq>(1, canonical, compressed),
        Group::BN254_G2 => encode::<ark_bn254::Fq>(2, canonical, compressed),
        Group::BLS12_381_G1 => encode::<ark_bls12_381::Fq>(1, canonical, compressed),
        _ => encode::<ark_bls12_381::Fq>(2, canonical, compressed),
    }
}

fn encode<F: PrimeField>(parts: usize, canonical: &[u8], compressed: bool) -> Vec<u8> {
    let width = F::BigInt::default().as_ref().len() * 8;
    let half = points::bytes_of_integer::<F>(F::MODULUS_MINUS_ONE_DIV_TWO);
    let coordinate = width * parts;
    let mut out = Vec::with_capacity(canonical.len());
    for point in canonical.chunks_exact(2 * coordinate) {
        let (x, y) = point.split_at(coordinate);
        let start = out.len();
        out.extend(x.iter().rev());
        if !compressed {
            out.extend(y.iter().rev());
            continue;
        }
        let decides = y
            .chunks_exact(width)
            .rev()
            .find(|part| part.iter().any(|&byte| byte != 0));
        let negative = decides.is_some_and(|part| part.iter().rev().gt(half.iter().rev()));
        let infinite = point.iter().all(|&byte| byte == 0);
        if let Some(first) = out.get_mut(start) {
            *first |= if negative { 0x80 } else { 0 } | if infinite { 0x40 } else { 0 };
        }
    }
    out
}
