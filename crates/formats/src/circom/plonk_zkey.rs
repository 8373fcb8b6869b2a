//! PLONK proving keys as snarkjs writes them.

use super::Pairing;
use super::sections::{Kind, Section, Sections};
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
        "additions",
        "wires of a",
        "wires of b",
        "wires of c",
        "selector Qm",
        "selector Ql",
        "selector Qr",
        "selector Qo",
        "selector Qc",
        "permutation",
        "Lagrange polynomials",
        "powers of tau",
    ],
};

/// The depth that no setup exceeds: it adds the terms of a sum in pairs, so that 2^64 terms have 64
/// levels.
const MOST_LEVELS: usize = 64;
/// Points of the powers of tau beyond the domain.
const MORE_POWERS: u32 = 6;
/// The quotient has 3 n + 6 coefficients, which must fit into 4 n.
const LEAST_DOMAIN: u32 = 8;

/// A proving key. Scalars and points are in Montgomery form, as in [`super::Zkey`].
///
/// Beyond the witness there are wires of additions. They are numbered by levels: those of a level
/// follow from wires of the levels before alone.
#[derive(Clone)]
pub struct PlonkZkey {
    /// The curve.
    pub curve: Pairing,
    /// Wires of the circuit and of additions.
    pub wires: u32,
    /// Outputs and public inputs.
    pub public: u32,
    /// Points of the evaluation domain: a power of two.
    pub domain: u32,
    /// Gates: the rows of the domain that are used.
    pub gates: u32,
    /// The factors of the permutation's second and third column.
    pub shifts: Bytes,
    /// G1: commitments to Qm, Ql, Qr, Qo, Qc, S1, S2, S3.
    pub commitments: Bytes,
    /// tau in G2.
    pub x2: Bytes,
    /// Additions of each level.
    pub levels: Vec<u64>,
    /// The two wires that each addition adds.
    pub sources: [Vec<u32>; 2],
    /// The factors of these wires.
    pub factors: [Vec<u8>; 2],
    /// The wires of each gate.
    pub maps: [Vec<u32>; 3],
    /// Coefficients of Qm, Ql, Qr, Qo, Qc and S1, S2, S3, one a point of the domain.
    pub polynomials: [Bytes; 8],
    /// G1: the powers of tau, six more than points of the domain.
    pub powers: Bytes,
}

impl PlonkZkey {
    /// Maps a file and checks all but that points are on their curve.
    ///
    /// # Errors
    /// The file cannot be read, or is not a PLONK proving key.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::parse(&files::read(path)?)
    }

    /// Reads a file's contents; points and coefficients share them. The values of polynomials on
    /// the domain of 4 n points and the Lagrange polynomials are not read: they follow from others.
    ///
    /// # Errors
    /// They are not a PLONK proving key over a known curve, or are damaged.
    pub fn parse(bytes: &Bytes) -> Result<Self, LoadError> {
        let file = Sections::parse(bytes, &KIND)?;
        refuse_other_protocols(file.section(1)?)?;
        let mut from = file.section(2)?;
        let curve = from.curve()?;
        let counts = Counts::read(&mut from, curve)?;
        let mut part = |size: usize| {
            let start = from.position();
            from.take(size)?;
            file.part(start..start + size)
        };
        let shifts = part(2 * curve.scalar_bytes())?;
        let commitments = part(8 * curve.g1_bytes())?;
        let x2 = part(curve.g2_bytes())?;
        from.end()?;
        from.at -= x2.as_slice().len() + commitments.as_slice().len() + shifts.as_slice().len();
        check_shifts(&mut from, curve)?;
        // Points come first: a domain that its own cannot fill takes no memory.
        let powers = u64::from(counts.domain + MORE_POWERS) * curve.g1_bytes() as u64;
        let what = format!("{} powers of tau", counts.domain + MORE_POWERS);
        let powers = file.whole(14, powers, &what)?;
        let polynomials = polynomials(&file, &counts)?;
        let added = additions(file.section(3)?, &counts)?;
        let maps = [
            wires(file.section(4)?, &counts, &added.numbers)?,
            wires(file.section(5)?, &counts, &added.numbers)?,
            wires(file.section(6)?, &counts, &added.numbers)?,
        ];
        check_public(file.section(4)?, counts.public)?;
        Ok(Self {
            curve,
            wires: counts.wires,
            public: counts.public,
            domain: counts.domain,
            gates: counts.gates,
            shifts,
            commitments,
            x2,
            levels: added.levels,
            sources: added.sources,
            factors: added.factors,
            maps,
            polynomials,
            powers,
        })
    }
}

fn refuse_other_protocols(mut from: Section<'_>) -> Result<(), LoadError> {
    let got = match from.u32()? {
        2 => return from.end(),
        1 => "a Groth16 key".to_owned(),
        10 => "an fflonk key".to_owned(),
        other => format!("protocol {other}"),
    };
    from.at = 0;
    Err(from.hinted(
        "a PLONK key",
        &got,
        "make a PLONK key: cloakwork setup --ptau",
    ))
}

/// The counts of a key's header.
struct Counts {
    curve: Pairing,
    wires: u32,
    public: u32,
    domain: u32,
    additions: u32,
    gates: u32,
}

impl Counts {
    fn read(from: &mut Section<'_>, curve: Pairing) -> Result<Self, LoadError> {
        let start = from.at;
        let (wires, public, domain) = (from.u32()?, from.u32()?, from.u32()?);
        let (additions, gates) = (from.u32()?, from.u32()?);
        let mut refuse = |place: usize, expected: String, got: u32| {
            from.at = start + 4 * place;
            Err(from.wrong(&expected, &got.to_string()))
        };
        if additions >= wires {
            let expected = format!("fewer additions than the {wires} wires");
            return refuse(3, expected, additions);
        }
        let own = wires - additions;
        if public >= own {
            let expected = format!("fewer public signals than the circuit's {own} wires");
            return refuse(1, expected, public);
        }
        // Quotients are computed on cosets in a domain four times as large.
        let largest = curve.two_adicity() - 2;
        let fits = domain.is_power_of_two() && domain.trailing_zeros() <= largest;
        if !fits || domain < LEAST_DOMAIN {
            let expected = format!("a domain of a power of two from 2^3 to 2^{largest} points");
            return refuse(2, expected, domain);
        }
        if gates > domain || gates < public {
            let expected = format!("gates from {public}, one a public signal, to {domain}");
            return refuse(4, expected, gates);
        }
        Ok(Self {
            curve,
            wires,
            public,
            domain,
            additions,
            gates,
        })
    }
}

/// The factors of columns: not 0, and two of them.
fn check_shifts(from: &mut Section<'_>, curve: Pairing) -> Result<(), LoadError> {
    let prime = curve.scalar_prime();
    let first = from.residue(prime, "factor k1")?;
    let second = from.residue(prime, "factor k2")?;
    let zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    if zero(first) || zero(second) || first == second {
        from.at -= 2 * curve.scalar_bytes();
        return Err(from.wrong("two factors of columns other than 0", "others"));
    }
    Ok(())
}

/// The coefficients of the eight polynomials; their values, which follow, are not read.
fn polynomials(file: &Sections, counts: &Counts) -> Result<[Bytes; 8], LoadError> {
    let size = counts.curve.scalar_bytes();
    let own = counts.domain as usize * size;
    let each = 5 * own as u64;
    let of = |id: u32, count: u64| {
        let what = format!("{count} polynomials of 5 times {} scalars", counts.domain);
        file.whole(id, count * each, &what)
    };
    of(13, u64::from(counts.public.max(1)))?;
    let one = |place: u32| {
        // Section 12 has three.
        let (id, at, count) = match place.checked_sub(5) {
            None => (7 + place, 0, 1),
            Some(at) => (12, at as usize, 3),
        };
        of(id, count)?;
        let mut section = file.section(id)?;
        section.at = 5 * own * at;
        let start = section.position();
        for _ in 0..counts.domain {
            section.residue(counts.curve.scalar_prime(), "coefficient")?;
        }
        file.part(start..start + own)
    };
    Ok([
        one(0)?,
        one(1)?,
        one(2)?,
        one(3)?,
        one(4)?,
        one(5)?,
        one(6)?,
        one(7)?,
    ])
}

/// Additions by levels, and the number that each has there.
struct Additions {
    levels: Vec<u64>,
    sources: [Vec<u32>; 2],
    factors: [Vec<u8>; 2],
    numbers: Vec<u32>,
}

/// One pass checks them and finds levels, another puts them in order.
fn additions(mut from: Section<'_>, counts: &Counts) -> Result<Additions, LoadError> {
    let (size, own) = (counts.curve.scalar_bytes(), counts.wires - counts.additions);
    let entry = 8 + 2 * size;
    let expected = u64::from(counts.additions) * entry as u64;
    if from.left() as u64 != expected {
        let expected = format!("{expected} bytes: {} additions", counts.additions);
        return Err(from.wrong(&expected, &format!("{} bytes", from.left())));
    }
    let mut level_of: Vec<u8> = Vec::with_capacity(counts.additions as usize);
    let mut levels = Vec::new();
    for index in 0..counts.additions {
        let start = from.at;
        let mut level = 0;
        for _ in 0..2 {
            let wire = from.index(own + index, "wire before this addition's")?;
            let before = wire
                .checked_sub(own)
                .and_then(|at| level_of.get(at as usize));
            level = level.max(before.map_or(0, |&before| before + 1));
        }
        for _ in 0..2 {
            from.residue(counts.curve.scalar_prime(), "factor")?;
        }
        if usize::from(level) >= MOST_LEVELS {
            from.at = start;
            let expected = format!("additions of additions, {MOST_LEVELS} deep at most");
            let hint = "setups add terms in pairs: this is none's";
            return Err(from.hinted(&expected, "deeper ones", hint));
        }
        if levels.len() <= usize::from(level) {
            levels.push(0);
        }
        if let Some(count) = levels.get_mut(usize::from(level)) {
            *count += 1;
        }
        level_of.push(level);
    }
    from.at = 0;
    in_order(from, counts, (levels, level_of))
}

fn in_order(
    mut from: Section<'_>,
    counts: &Counts,
    (levels, level_of): (Vec<u64>, Vec<u8>),
) -> Result<Additions, LoadError> {
    let (size, own) = (counts.curve.scalar_bytes(), counts.wires - counts.additions);
    let mut next: Vec<u32> = levels
        .iter()
        .scan(own, |at, &count| {
            let start = *at;
            *at += count as u32;
            Some(start)
        })
        .collect();
    let number = |level: &u8| {
        let place = next.get_mut(usize::from(*level))?;
        *place += 1;
        Some(*place - 1)
    };
    let added: Vec<u32> = level_of.iter().filter_map(number).collect();
    let numbers: Vec<u32> = (0..own).chain(added).collect();
    let count = counts.additions as usize;
    let mut sources = [vec![0; count], vec![0; count]];
    let mut factors = [vec![0; count * size], vec![0; count * size]];
    for index in 0..count {
        let new = numbers.get(own as usize + index).copied().unwrap_or(own) - own;
        for to in &mut sources {
            let wire = from.u32()? as usize;
            if let (Some(to), Some(wire)) = (to.get_mut(new as usize), numbers.get(wire)) {
                *to = *wire;
            }
        }
        for to in &mut factors {
            let bytes = from.take(size)?;
            let start = new as usize * size;
            if let Some(to) = to.get_mut(start..start + size) {
                to.copy_from_slice(bytes);
            }
        }
    }
    Ok(Additions {
        levels,
        sources,
        factors,
        numbers,
    })
}

/// The wire of each gate, by the numbers that wires have here.
fn wires(mut from: Section<'_>, counts: &Counts, numbers: &[u32]) -> Result<Vec<u32>, LoadError> {
    let expected = u64::from(counts.gates) * 4;
    if from.left() as u64 != expected {
        let expected = format!("{expected} bytes: {} gates", counts.gates);
        return Err(from.wrong(&expected, &format!("{} bytes", from.left())));
    }
    let mut found = Vec::with_capacity(counts.gates as usize);
    for _ in 0..counts.gates {
        let wire = from.index(counts.wires, "wire")?;
        found.push(numbers.get(wire as usize).copied().unwrap_or(wire));
    }
    Ok(found)
}

/// The first gates hold the public signals, in order.
fn check_public(mut from: Section<'_>, public: u32) -> Result<(), LoadError> {
    for signal in 1..=public {
        let wire = from.u32()?;
        if wire != signal {
            from.at -= 4;
            let expected = format!("wire {signal}, a public signal");
            return Err(from.wrong(&expected, &wire.to_string()));
        }
    }
    Ok(())
}

/// Which proof system a proving key is for, by its first section.
///
/// # Errors
/// The file is not a proving key, or of a system that is not known here.
pub fn protocol(bytes: &Bytes) -> Result<&'static str, LoadError> {
    let file = Sections::parse(bytes, &KIND)?;
    let mut from = file.section(1)?;
    match from.u32()? {
        1 => Ok("groth16"),
        2 => Ok("plonk"),
        other => {
            from.at = 0;
            let got = match other {
                10 => "an fflonk key".to_owned(),
                other => format!("protocol {other}"),
            };
            let hint = "make another: cloakwork setup";
            Err(from.hinted("a Groth16 or a PLONK key", &got, hint))
        }
    }
}
