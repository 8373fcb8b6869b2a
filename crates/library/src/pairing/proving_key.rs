//! Whether a Groth16 proving key is one that hides a witness.
//!
//! A proof (A, B, C) is blinded by r delta1 in A and by s delta2 in B, and its equation determines
//! C. So a proof that holds tells nothing of the witness, provided that all points are of their
//! curve and group, and that neither delta is at infinity. The rest of what is checked here says at
//! once what is wrong with a key whose proofs would hold for some witnesses and not for others.
//! Source: G. Fuchsbauer, Subversion-zero-knowledge SNARKs, eprint 2017/587.

use super::points::{self, PointFault};
use super::{Form, Pairing};
use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::AffineRepr;
use ark_ec::pairing::Pairing as Engine;
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ff::{PrimeField, Zero};

/// A sparse matrix by rows, a value a scalar in any form.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Where rows begin, and the end of the last.
    pub starts: &'a [i64],
    /// The wire of each entry.
    pub columns: &'a [i64],
    /// Little-endian scalars.
    pub values: &'a [u8],
}

/// Points of a proving key in Montgomery form, and the rows of A and B.
#[derive(Clone, Copy, Debug)]
pub struct Groth16ProvingKey<'a> {
    /// The curve.
    pub curve: Pairing,
    /// Outputs and public inputs.
    pub public: usize,
    /// alpha, beta and delta in G1.
    pub header1: [&'a [u8]; 3],
    /// beta, gamma and delta in G2.
    pub header2: [&'a [u8]; 3],
    /// IC, A, B in G1, C and H, which are in G1.
    pub g1: [&'a [u8]; 5],
    /// B in G2.
    pub b2: &'a [u8],
    /// A and B.
    pub rows: [Rows<'a>; 2],
}

/// Why a proving key is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Bytes that are not a point.
    #[error("{section}: {fault}")]
    Point {
        /// Of which section.
        section: &'static str,
        /// Why it is invalid.
        fault: PointFault,
    },
    /// A point at infinity where an honest key has none.
    #[error("{section}: point {index} is at infinity: {reason}")]
    Infinite {
        /// Of which section.
        section: &'static str,
        /// Which, counted from 0.
        index: usize,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// A point other than infinity where an honest key has infinity.
    #[error(
        "{section}: point {index} is not at infinity, though wire {index} is in no row of {rows}"
    )]
    Finite {
        /// Of which section.
        section: &'static str,
        /// Which, counted from 0.
        index: usize,
        /// Of which matrix.
        rows: &'static str,
    },
    /// Two points that should hold the same secret.
    #[error("{first} and {second} hold different numbers: e({first}, G2) is not e(G1, {second})")]
    Apart {
        /// The point of G1.
        first: &'static str,
        /// The point of G2.
        second: &'static str,
    },
    /// Indices that are none, or sections of other lengths.
    #[error("{section}: not as long as the key says")]
    Length {
        /// Which.
        section: &'static str,
    },
}

const HEADER1: [&str; 3] = ["alpha1", "beta1", "delta1"];
const HEADER2: [&str; 3] = ["beta2", "gamma2", "delta2"];
const G1: [&str; 5] = ["ic", "a", "b1", "c", "h"];
const USED: &str = "its wire is in the circuit";
const SECRET: &str = "no key has it there, and proofs of such a key are not blinded";

/// Checks all that follows from the key alone; with `groups`, that each point is in its group too.
/// It remains to check that B in G1 and in G2 are the same: [`same_number`] compares sums.
///
/// # Errors
/// The first that is wrong.
pub fn check_key(
    key: &Groth16ProvingKey<'_>,
    groups: bool,
    threads: usize,
) -> Result<(), KeyFault> {
    let how = (groups, threads);
    match key.curve {
        Pairing::Bn254 => check::<Bn254, ark_bn254::g1::Config, ark_bn254::g2::Config>(key, how),
        Pairing::Bls12381 => {
            check::<Bls12_381, ark_bls12_381::g1::Config, ark_bls12_381::g2::Config>(key, how)
        }
    }
}

/// Whether two points, of G1 and of G2, are the same multiple of the groups' generators.
///
/// # Errors
/// One of them is not a point.
pub fn same_number(curve: Pairing, form: Form, g1: &[u8], g2: &[u8]) -> Result<bool, PointFault> {
    match curve {
        Pairing::Bn254 => same::<Bn254, ark_bn254::g1::Config, ark_bn254::g2::Config>(form, g1, g2),
        Pairing::Bls12381 => {
            same::<Bls12_381, ark_bls12_381::g1::Config, ark_bls12_381::g2::Config>(form, g1, g2)
        }
    }
}

/// e(P, G2) = e(G1, Q).
fn same<E, P1, P2>(form: Form, g1: &[u8], g2: &[u8]) -> Result<bool, PointFault>
where
    P1: SWCurveConfig<ScalarField = E::ScalarField>,
    P2: SWCurveConfig<ScalarField = E::ScalarField>,
    E: Engine<G1Affine = Affine<P1>, G2Affine = Affine<P2>>,
{
    let left = [points::one::<P1>(g1, form)?, -Affine::<P1>::generator()];
    let right = [Affine::<P2>::generator(), points::one::<P2>(g2, form)?];
    Ok(E::multi_pairing(left, right).is_zero())
}

fn check<E, P1, P2>(
    key: &Groth16ProvingKey<'_>,
    (groups, threads): (bool, usize),
) -> Result<(), KeyFault>
where
    P1: SWCurveConfig<ScalarField = E::ScalarField>,
    P2: SWCurveConfig<ScalarField = E::ScalarField>,
    E: Engine<G1Affine = Affine<P1>, G2Affine = Affine<P2>>,
{
    let named = |section| move |fault| KeyFault::Point { section, fault };
    for (section, bytes) in HEADER1.into_iter().zip(key.header1) {
        points::check::<P1>(bytes, Form::Montgomery).map_err(named(section))?;
        finite(section, bytes, SECRET)?;
    }
    for (section, bytes) in HEADER2.into_iter().zip(key.header2) {
        points::check::<P2>(bytes, Form::Montgomery).map_err(named(section))?;
        finite(section, bytes, SECRET)?;
    }
    for (one, other) in [(1, 0), (2, 2)] {
        let (first, second) = (HEADER1[one], HEADER2[other]);
        let same = same::<E, P1, P2>(Form::Montgomery, key.header1[one], key.header2[other]);
        if !same.map_err(named(first))? {
            return Err(KeyFault::Apart { first, second });
        }
    }
    let how = (Form::Montgomery, groups);
    for (section, bytes) in G1.into_iter().zip(key.g1) {
        points::check_by::<P1>(threads, bytes, how).map_err(named(section))?;
    }
    points::check_by::<P2>(threads, key.b2, how).map_err(named("b2"))?;
    infinities::<E::ScalarField>(key)
}

/// Checks that points at infinity are those of wires which no row has.
fn infinities<F: PrimeField>(key: &Groth16ProvingKey<'_>) -> Result<(), KeyFault> {
    let [ic, a, b1, c, h] = key.g1;
    let of_g1 = key.header1[0].len();
    let of_g2 = key.header2[0].len();
    let wires = a.len() / of_g1.max(1);
    let [in_a, in_b] = [
        used::<F>(&key.rows[0], wires)?,
        used::<F>(&key.rows[1], wires)?,
    ];
    for (section, points, size, used, rows) in [
        ("a", a, of_g1, &in_a, "A"),
        ("b1", b1, of_g1, &in_b, "B"),
        ("b2", key.b2, of_g2, &in_b, "B"),
    ] {
        if points.len() != wires * size {
            return Err(KeyFault::Length { section });
        }
        for (index, (point, &used)) in points.chunks(size).zip(used).enumerate() {
            match (is_infinite(point), used) {
                (true, true) => {
                    let reason = USED;
                    return Err(KeyFault::Infinite {
                        section,
                        index,
                        reason,
                    });
                }
                (false, false) => {
                    return Err(KeyFault::Finite {
                        section,
                        index,
                        rows,
                    });
                }
                _ => {}
            }
        }
    }
    // Of C's matrix a key holds nothing: a wire of it alone may be here, or not.
    let first = key.public + 1;
    if c.len() != wires.saturating_sub(first) * of_g1 {
        return Err(KeyFault::Length { section: "c" });
    }
    let private = c.chunks(of_g1).zip(in_a.iter().zip(&in_b).skip(first));
    for (index, (point, (&left, &right))) in private.enumerate() {
        if is_infinite(point) && (left || right) {
            return Err(KeyFault::Infinite {
                section: "c",
                index,
                reason: USED,
            });
        }
    }
    for (section, points) in [("ic", ic), ("h", h)] {
        if let Some(index) = points.chunks(of_g1).position(is_infinite) {
            let reason = "no key has it there";
            return Err(KeyFault::Infinite {
                section,
                index,
                reason,
            });
        }
    }
    Ok(())
}

fn is_infinite(point: &[u8]) -> bool {
    point.iter().all(|&byte| byte == 0)
}

fn finite(section: &'static str, point: &[u8], reason: &'static str) -> Result<(), KeyFault> {
    if is_infinite(point) {
        return Err(KeyFault::Infinite {
            section,
            index: 0,
            reason,
        });
    }
    Ok(())
}

/// The wires whose column is not zero. Entries of one place are added: a compiler may write a place
/// twice.
fn used<F: PrimeField>(rows: &Rows<'_>, wires: usize) -> Result<Vec<bool>, KeyFault> {
    let wrong = || KeyFault::Length {
        section: "coefficients",
    };
    let size = points::scalar_bytes::<F>();
    let mut used = vec![false; wires];
    let mut doubtful = Vec::new();
    for bounds in rows.starts.windows(2) {
        let &[from, to] = bounds else { continue };
        let range = usize::try_from(from).unwrap_or(usize::MAX)..usize::try_from(to).unwrap_or(0);
        let columns = rows.columns.get(range.clone()).ok_or_else(wrong)?;
        let values = range.start * size..range.end * size;
        let values = rows.values.get(values).ok_or_else(wrong)?;
        doubtful.clear();
        for (&wire, value) in columns.iter().zip(values.chunks(size)) {
            let wire = usize::try_from(wire).unwrap_or(usize::MAX);
            let known = used.get(wire).ok_or_else(wrong)?;
            if !known && value.iter().any(|&byte| byte != 0) {
                doubtful.push((wire, value));
            }
        }
        doubtful.sort_by_key(|(wire, _)| *wire);
        for place in doubtful.chunk_by(|(one, _), (other, _)| one == other) {
            let scalars = place.iter().map(|(_, value)| points::scalar::<F>(value));
            let sum = scalars.fold(F::ZERO, |sum, value| sum + value.unwrap_or(F::ZERO));
            if let Some((wire, _)) = place.first().filter(|_| place.len() == 1 || !sum.is_zero()) {
                used[*wire] = true;
            }
        }
    }
    Ok(used)
}
