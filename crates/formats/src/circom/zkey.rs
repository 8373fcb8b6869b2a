//! Groth16 proving keys as snarkjs writes them.

use super::sections::{Kind, Section, Sections};
use super::{Pairing, Rows, number};
use crate::{LoadError, files};
use cloakwork_ir::Bytes;
use std::path::Path;

pub(super) static KIND: Kind = Kind {
    magic: "zkey",
    newest: 2,
    sections: &[
        "",
        "protocol",
        "header",
        "points of IC",
        "coefficients",
        "points of A",
        "points of B in G1",
        "points of B in G2",
        "points of C",
        "points of H",
        "contributions",
    ],
};

/// A proving key. Points are affine, x || y (G2: x.c0, x.c1, y.c0, y.c1), in Montgomery form with
/// R = 2^(bits of their words), infinity all zeros; they lie in the file.
#[derive(Clone)]
pub struct Zkey {
    /// The curve.
    pub curve: Pairing,
    /// Wires of the circuit, the constant 1 among them.
    pub wires: u32,
    /// Outputs and public inputs.
    pub public: u32,
    /// Points of the evaluation domain: a power of two.
    pub domain: u32,
    /// alpha in G1.
    pub alpha1: Bytes,
    /// beta in G1.
    pub beta1: Bytes,
    /// beta in G2.
    pub beta2: Bytes,
    /// gamma in G2.
    pub gamma2: Bytes,
    /// delta in G1.
    pub delta1: Bytes,
    /// delta in G2.
    pub delta2: Bytes,
    /// G1, one a public wire and one for the constant.
    pub ic: Bytes,
    /// The rows of A and of B, `domain` of them; values v are v R^2 mod r, R = 2^256.
    pub matrices: [Rows; 2],
    /// G1, one a wire.
    pub a: Bytes,
    /// G1, one a wire.
    pub b1: Bytes,
    /// G2, one a wire.
    pub b2: Bytes,
    /// G1, one a private wire.
    pub c: Bytes,
    /// G1, one a point of the domain.
    pub h: Bytes,
}

impl Zkey {
    /// Maps a file and checks all but that points are on their curve.
    ///
    /// # Errors
    /// The file cannot be read, or is not a Groth16 proving key.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::parse(&files::read(path)?)
    }

    /// Reads a file's contents; points share them, coefficients are sorted by rows.
    ///
    /// # Errors
    /// They are not a Groth16 proving key over a known curve, or are damaged.
    pub fn parse(bytes: &Bytes) -> Result<Self, LoadError> {
        let file = Sections::parse(bytes, &KIND)?;
        refuse_other_protocols(file.section(1)?)?;
        let mut from = file.section(2)?;
        let curve = from.curve()?;
        let (wires, public, domain) = sizes(&mut from, curve)?;
        let (g1, g2) = (curve.g1_bytes(), curve.g2_bytes());
        let mut point = |size: usize| {
            let start = from.position();
            from.take(size)?;
            file.part(start..start + size)
        };
        let (alpha1, beta1) = (point(g1)?, point(g1)?);
        let (beta2, gamma2) = (point(g2)?, point(g2)?);
        let (delta1, delta2) = (point(g1)?, point(g2)?);
        from.end()?;
        let points = |id: u32, count: u32, size: usize| {
            let bytes = u64::from(count) * size as u64;
            file.whole(id, bytes, &format!("{count} points"))
        };
        // Points come first: a domain that its own cannot fill takes no memory.
        Ok(Self {
            curve,
            wires,
            public,
            domain,
            alpha1,
            beta1,
            beta2,
            gamma2,
            delta1,
            delta2,
            h: points(9, domain, g1)?,
            ic: points(3, public + 1, g1)?,
            a: points(5, wires, g1)?,
            b1: points(6, wires, g1)?,
            b2: points(7, wires, g2)?,
            c: points(8, wires - public - 1, g1)?,
            matrices: matrices(file.section(4)?, (curve, wires, domain))?,
        })
    }
}

fn refuse_other_protocols(mut from: Section<'_>) -> Result<(), LoadError> {
    let got = match from.u32()? {
        1 => return from.end(),
        2 => "a PLONK key".to_owned(),
        10 => "an fflonk key".to_owned(),
        other => format!("protocol {other}"),
    };
    from.at = 0;
    let hint = "zk.read_zkey and zk.plonk read keys of PLONK; cloakwork setup makes Groth16 keys";
    Err(from.hinted("a Groth16 key", &got, hint))
}

fn sizes(from: &mut Section<'_>, curve: Pairing) -> Result<(u32, u32, u32), LoadError> {
    let start = from.at;
    let (wires, public, domain) = (from.u32()?, from.u32()?, from.u32()?);
    if public >= wires {
        from.at = start + 4;
        let expected = format!("fewer public signals than the {wires} wires");
        return Err(from.wrong(&expected, &public.to_string()));
    }
    let fits = domain.is_power_of_two() && domain.trailing_zeros() <= curve.two_adicity();
    if !fits || domain <= public {
        from.at = start + 8;
        let expected = format!("a domain of a power of two above {public} points");
        return Err(from.wrong(&expected, &domain.to_string()));
    }
    Ok((wires, public, domain))
}

/// Bytes of an entry before its value: matrix, row, wire.
const ENTRY_HEAD_BYTES: usize = 12;

/// One pass checks and counts entries a row, another puts them into their rows in their order.
fn matrices(
    mut from: Section<'_>,
    (curve, wires, domain): (Pairing, u32, u32),
) -> Result<[Rows; 2], LoadError> {
    let entry = ENTRY_HEAD_BYTES + curve.scalar_bytes();
    let count = from.u32()? as usize;
    if from.left() as u64 != count as u64 * entry as u64 {
        let expected = format!("{count} coefficients of {entry} bytes, as the section begins");
        return Err(from.wrong(&expected, &format!("{} bytes", from.left())));
    }
    let start = from.at;
    let entries = from.take(count * entry)?;
    let mut next = [vec![0u64; domain as usize], vec![0u64; domain as usize]];
    for (index, bytes) in entries.chunks_exact(entry).enumerate() {
        let ([matrix, row, wire], value) = parts(bytes);
        let of_row = next
            .get_mut(matrix as usize)
            .and_then(|rows| rows.get_mut(row as usize));
        let fits = wire < wires && number::is_below(value, curve.scalar_prime());
        let Some(of_row) = of_row.filter(|_| fits) else {
            from.at = start + index * entry;
            return Err(fault(from, (curve, wires, domain)));
        };
        *of_row += 1;
    }
    let [a, b] = &mut next;
    let mut matrices = [starts(a, curve), starts(b, curve)];
    for bytes in entries.chunks_exact(entry) {
        let ([matrix, row, wire], value) = parts(bytes);
        let place = next
            .get_mut(matrix as usize)
            .and_then(|rows| rows.get_mut(row as usize));
        if let (Some(rows), Some(place)) = (matrices.get_mut(matrix as usize), place) {
            put(rows, *place as usize, wire, value);
            *place += 1;
        }
    }
    Ok(matrices)
}

/// Matrix, row and wire of an entry, and its value.
fn parts(entry: &[u8]) -> ([u32; 3], &[u8]) {
    let (head, value) = entry.split_at_checked(ENTRY_HEAD_BYTES).unwrap_or_default();
    let mut words = head.chunks_exact(4).map(|word| word.try_into());
    let mut next = || {
        words
            .next()
            .and_then(Result::ok)
            .map_or(0, u32::from_le_bytes)
    };
    ([next(), next(), next()], value)
}

/// The fault of the entry where reading stands.
fn fault(mut from: Section<'_>, (curve, wires, domain): (Pairing, u32, u32)) -> LoadError {
    let read = |from: &mut Section<'_>| {
        from.index(2, "matrix")?;
        from.index(domain, "row")?;
        from.index(wires, "wire")?;
        from.residue(curve.scalar_prime(), "coefficient").map(drop)
    };
    let found = read(&mut from).err();
    found.unwrap_or_else(|| from.wrong("a coefficient", "none"))
}

/// A matrix with room for as many entries a row as are counted; the counts become where rows begin.
fn starts(counts: &mut [u64], curve: Pairing) -> Rows {
    let mut rows = Rows::new();
    let mut total = 0;
    for count in counts {
        let entries = std::mem::replace(count, total);
        total += entries;
        rows.starts.push(total);
    }
    rows.columns = vec![0; total as usize];
    rows.values = vec![0; total as usize * curve.scalar_bytes()];
    rows
}

fn put(rows: &mut Rows, place: usize, wire: u32, value: &[u8]) {
    if let Some(column) = rows.columns.get_mut(place) {
        *column = wire;
    }
    let at = place * value.len();
    if let Some(to) = rows.values.get_mut(at..at + value.len()) {
        to.copy_from_slice(value);
    }
}
