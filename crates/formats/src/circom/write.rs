//! Writing circuits, witnesses and keys: as circom and snarkjs lay them out, whole or not at all.

use super::{Pairing, Rows, number, plonk_zkey, r1cs, sections::Kind, wtns, zkey};
use crate::SaveError;
use crate::files::{Access, Pending, commit};
use std::io::{self, Write};
use std::path::Path;
use zeroize::Zeroize;

/// The header of a circuit's file.
#[derive(Clone, Copy, Debug)]
pub struct R1csParts<'a> {
    /// The curve whose scalars the wires are.
    pub curve: Pairing,
    /// Wires, outputs, public inputs, private inputs.
    pub counts: [u32; 4],
    /// A, B and C, of equally many rows; values canonical.
    pub matrices: [&'a Rows; 3],
}

/// The contents of a proving key's file. Points are in Montgomery form, as those of
/// [`super::Zkey`].
#[derive(Clone, Copy, Debug)]
pub struct ZkeyParts<'a> {
    /// The curve.
    pub curve: Pairing,
    /// Wires, public signals, points of the domain.
    pub counts: [u32; 3],
    /// alpha1, beta1, beta2, gamma2, delta1, delta2, one after the other.
    pub header: &'a [u8],
    /// The rows of A and of B; values v are v R^2 mod r.
    pub matrices: [&'a Rows; 2],
    /// The points of IC, A, B in G1, B in G2, C and H.
    pub points: [&'a [u8]; 6],
    /// The hash of a circuit before the first contribution; zeros where there is no ceremony.
    pub circuit_hash: [u8; 64],
}

/// The contents of a PLONK key's file. Scalars and points are in Montgomery form.
#[derive(Clone, Copy, Debug)]
pub struct PlonkParts<'a> {
    /// The curve.
    pub curve: Pairing,
    /// Wires, public signals, points of the domain, additions, gates.
    pub counts: [u32; 5],
    /// k1, k2, the commitments to Qm, Ql, Qr, Qo, Qc, S1, S2, S3, and tau in G2.
    pub header: &'a [u8],
    /// The two wires of each addition.
    pub sources: [&'a [u32]; 2],
    /// Their factors.
    pub factors: [&'a [u8]; 2],
    /// The wires of each gate.
    pub maps: [&'a [u32]; 3],
    /// Sections 7 to 12 and 14: selectors, permutation, powers of tau.
    pub rest: [&'a [u8]; 7],
    /// w^-i / n for each place i of the domain: the coefficients of the Lagrange polynomials.
    pub inverses: &'a [u8],
    /// The values of the first Lagrange polynomial on the domain of 4 n points.
    pub first: &'a [u8],
}

/// Sections under way to a file.
struct Sections<'a>(Vec<(u32, Vec<Part<'a>>)>);

/// A part of a section: bytes, or what is made of others as it is written.
enum Part<'a> {
    Owned(Vec<u8>),
    Borrowed(&'a [u8]),
    Lagrange(Lagrange<'a>),
}

impl Part<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Owned(bytes) => bytes.len(),
            Self::Borrowed(bytes) => bytes.len(),
            Self::Lagrange(all) => all.count * (all.inverses.len() + all.first.len()),
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Self::Owned(bytes) => out.write_all(bytes),
            Self::Borrowed(bytes) => out.write_all(bytes),
            Self::Lagrange(all) => (0..all.count).try_for_each(|place| all.write(place, out)),
        }
    }
}

/// The first Lagrange polynomials: there may be many, and each is as large as a selector.
struct Lagrange<'a> {
    count: usize,
    size: usize,
    inverses: &'a [u8],
    first: &'a [u8],
}

impl Lagrange<'_> {
    /// Coefficients w^(-place i) / n, then values: those of the first one, 4 places on for each.
    fn write(&self, place: usize, out: &mut impl Write) -> std::io::Result<()> {
        let domain = self.inverses.len() / self.size;
        let mut coefficients = Vec::with_capacity(self.inverses.len());
        for at in 0..domain {
            let start = (place * at % domain.max(1)) * self.size;
            let number = self.inverses.get(start..start + self.size);
            coefficients.extend_from_slice(number.unwrap_or(&[]));
        }
        out.write_all(&coefficients)?;
        let turn = self.first.len() - (4 * place * self.size).min(self.first.len());
        let (begin, end) = self.first.split_at_checked(turn).unwrap_or_default();
        out.write_all(end)?;
        out.write_all(begin)
    }
}

/// Sections of bytes that they own.
fn owned(sections: Vec<(u32, Vec<Vec<u8>>)>) -> Sections<'static> {
    let parts = |parts: Vec<Vec<u8>>| parts.into_iter().map(Part::Owned).collect();
    Sections(
        sections
            .into_iter()
            .map(|(id, all)| (id, parts(all)))
            .collect(),
    )
}

impl Sections<'_> {
    fn write(&self, path: &Path, kind: &Kind, version: u32) -> Result<(), SaveError> {
        commit(vec![self.pending(path, kind, version)?])
    }

    fn pending(&self, path: &Path, kind: &Kind, version: u32) -> Result<Pending, SaveError> {
        Pending::of_stream(path, Access::Shared, |out| self.put(out, kind, version))
    }

    fn put(&self, out: &mut impl Write, kind: &Kind, version: u32) -> io::Result<()> {
        out.write_all(kind.magic.as_bytes())?;
        out.write_all(&version.to_le_bytes())?;
        out.write_all(&(self.0.len() as u32).to_le_bytes())?;
        for (id, parts) in &self.0 {
            let size: usize = parts.iter().map(Part::len).sum();
            out.write_all(&id.to_le_bytes())?;
            out.write_all(&(size as u64).to_le_bytes())?;
            for part in parts {
                part.write(out)?;
            }
        }
        Ok(())
    }
}

fn prime(prime: &[u64]) -> Vec<u8> {
    let bytes = number::prime_bytes(prime);
    [(bytes.len() as u32).to_le_bytes().to_vec(), bytes].concat()
}

fn counts(counts: &[u32]) -> Vec<u8> {
    counts
        .iter()
        .flat_map(|count| count.to_le_bytes())
        .collect()
}

/// Entries of a row: column and value of each.
fn row(rows: &Rows, at: usize, size: usize) -> impl Iterator<Item = (u32, &[u8])> {
    let bound = |at: usize| rows.starts.get(at).copied().unwrap_or(0) as usize;
    let columns = rows.columns.get(bound(at)..bound(at + 1)).unwrap_or(&[]);
    let values = rows
        .values
        .get(bound(at) * size..bound(at + 1) * size)
        .unwrap_or(&[]);
    columns.iter().copied().zip(values.chunks_exact(size))
}

/// Writes a circuit. Wires are labelled with their own numbers.
///
/// # Errors
/// The file cannot be written.
pub fn save_r1cs(parts: &R1csParts<'_>, path: impl AsRef<Path>) -> Result<(), SaveError> {
    constraints(parts).write(path.as_ref(), &r1cs::KIND, 1)
}

/// The bytes of the file that [`save_r1cs`] writes.
#[must_use]
pub fn r1cs_bytes(parts: &R1csParts<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Memory takes all that is written to it.
    let _ = constraints(parts).put(&mut bytes, &r1cs::KIND, 1);
    bytes
}

/// The sections of a circuit's file.
fn constraints(parts: &R1csParts<'_>) -> Sections<'static> {
    let size = parts.curve.scalar_bytes();
    let constraints = parts.matrices[0].rows();
    let [wires, ..] = parts.counts;
    let header = vec![
        prime(parts.curve.scalar_prime()),
        counts(&parts.counts),
        u64::from(wires).to_le_bytes().to_vec(),
        counts(&[constraints as u32]),
    ];
    let mut body = Vec::new();
    for at in 0..constraints {
        for rows in parts.matrices {
            body.extend((row(rows, at, size).count() as u32).to_le_bytes());
            for (wire, value) in row(rows, at, size) {
                body.extend(wire.to_le_bytes());
                body.extend(value);
            }
        }
    }
    let labels = (0..u64::from(wires)).flat_map(u64::to_le_bytes).collect();
    owned(vec![(1, header), (2, vec![body]), (3, vec![labels])])
}

/// Writes a witness: canonical little-endian scalars, the first of them 1.
///
/// # Errors
/// The file cannot be written.
pub fn save_wtns(curve: Pairing, values: &[u8], path: impl AsRef<Path>) -> Result<(), SaveError> {
    let count = (values.len() / curve.scalar_bytes()) as u32;
    let header = vec![prime(curve.scalar_prime()), counts(&[count])];
    let mut sections = owned(vec![(1, header), (2, vec![values.to_vec()])]);
    let saved = sections.write(path.as_ref(), &wtns::KIND, 2);
    for part in sections.0.iter_mut().flat_map(|(_, parts)| parts) {
        if let Part::Owned(bytes) = part {
            bytes.zeroize();
        }
    }
    saved
}

/// Writes a Groth16 proving key, without contributions of a ceremony.
///
/// # Errors
/// The file cannot be written.
pub fn save_zkey(parts: &ZkeyParts<'_>, path: impl AsRef<Path>) -> Result<(), SaveError> {
    commit(vec![pending_zkey(parts, path)?])
}

/// The same, to be put in its place with files that belong to it.
///
/// # Errors
/// The file cannot be written.
pub fn pending_zkey(parts: &ZkeyParts<'_>, path: impl AsRef<Path>) -> Result<Pending, SaveError> {
    let curve = parts.curve;
    let [ic, a, b1, b2, c, h] = parts.points.map(|points| vec![points.to_vec()]);
    let header = vec![
        prime(curve.base_prime()),
        prime(curve.scalar_prime()),
        counts(&parts.counts),
        parts.header.to_vec(),
    ];
    // Nobody has contributed.
    let contributions = vec![parts.circuit_hash.to_vec(), counts(&[0])];
    let sections = vec![
        (1, vec![counts(&[1])]),
        (2, header),
        (4, vec![coefficients(parts)]),
        (3, ic),
        (9, h),
        (8, c),
        (5, a),
        (6, b1),
        (7, b2),
        (10, contributions),
    ];
    owned(sections).pending(path.as_ref(), &zkey::KIND, 1)
}

/// Row by row, A before B.
fn coefficients(parts: &ZkeyParts<'_>) -> Vec<u8> {
    let size = parts.curve.scalar_bytes();
    let entries: usize = parts.matrices.iter().map(|rows| rows.entries()).sum();
    let mut out = Vec::with_capacity(4 + entries * (12 + size));
    out.extend((entries as u32).to_le_bytes());
    for at in 0..parts.matrices[0].rows().max(parts.matrices[1].rows()) {
        for (matrix, rows) in parts.matrices.into_iter().enumerate() {
            for (wire, value) in row(rows, at, size) {
                out.extend(counts(&[matrix as u32, at as u32, wire]));
                out.extend(value);
            }
        }
    }
    out
}

/// A PLONK proving key in snarkjs's order of sections, to be put in its place with others.
///
/// # Errors
/// The file cannot be written.
pub fn pending_plonk_zkey(
    parts: &PlonkParts<'_>,
    path: impl AsRef<Path>,
) -> Result<Pending, SaveError> {
    let curve = parts.curve;
    let header = [
        prime(curve.base_prime()),
        prime(curve.scalar_prime()),
        counts(&parts.counts),
        parts.header.to_vec(),
    ];
    let size = curve.scalar_bytes();
    let [first, second] = parts.factors;
    let factors = first.chunks(size).zip(second.chunks(size));
    let [left, right] = parts.sources;
    let mut additions = Vec::with_capacity(left.len() * (8 + 2 * size));
    for ((l, r), (f, g)) in left.iter().zip(right).zip(factors) {
        additions.extend(counts(&[*l, *r]));
        additions.extend(f);
        additions.extend(g);
    }
    let mut sections = vec![(3, vec![Part::Owned(additions)])];
    for (id, map) in (4..).zip(parts.maps) {
        sections.push((id, vec![Part::Owned(counts(map))]));
    }
    let lagrange = Part::Lagrange(Lagrange {
        count: parts.counts[1].max(1) as usize,
        size,
        inverses: parts.inverses,
        first: parts.first,
    });
    let [before @ .., powers] = parts.rest.map(Part::Borrowed);
    let rest = before.into_iter().chain([lagrange, powers]);
    for (id, part) in (7..).zip(rest) {
        sections.push((id, vec![part]));
    }
    sections.push((1, vec![Part::Owned(counts(&[2]))]));
    sections.push((2, header.into_iter().map(Part::Owned).collect()));
    Sections(sections).pending(path.as_ref(), &plonk_zkey::KIND, 1)
}
