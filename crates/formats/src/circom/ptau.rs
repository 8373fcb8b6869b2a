//! Files of ceremonies: powers of tau as snarkjs writes them, and where sections lie.

use super::sections::{Kind, Sections};
use super::{Pairing, zkey};
use crate::{LoadError, files};
use cloakwork_ir::Bytes;
use std::path::Path;

pub(super) static KIND: Kind = Kind {
    magic: "ptau",
    newest: 1,
    sections: &[
        "",
        "header",
        "powers of tau in G1",
        "powers of tau in G2",
        "powers of tau times alpha",
        "powers of tau times beta",
        "beta in G2",
        "contributions",
        "",
        "",
        "",
        "",
        "Lagrange points in G1",
        "Lagrange points in G2",
        "Lagrange points times alpha",
        "Lagrange points times beta",
    ],
};

/// Powers of tau. Points are in Montgomery form, as [`super::Zkey`] has them.
#[derive(Clone)]
pub struct Ptau {
    /// The curve.
    pub curve: Pairing,
    /// Binary logarithm of the number of powers in G2; in G1 there are twice as many but one.
    pub power: u32,
    /// G1: the generator, and it times tau, tau^2, ...
    pub g1: Bytes,
    /// G2: the generator, and it times tau.
    pub g2: Bytes,
}

impl Ptau {
    /// Maps a file and checks its sections.
    ///
    /// # Errors
    /// The file cannot be read, or is none of powers of tau.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::parse(&files::read(path)?)
    }

    /// Reads a file's contents; points share them, and are not judged.
    ///
    /// # Errors
    /// They are no powers of tau over a known curve, or are damaged.
    pub fn parse(bytes: &Bytes) -> Result<Self, LoadError> {
        let file = Sections::parse(bytes, &KIND)?;
        let mut header = file.section(1)?;
        let curve = header.base_prime()?;
        let power = header.u32()?;
        let _of_ceremony = header.u32()?;
        header.end()?;
        if power > curve.two_adicity() {
            header.at -= 8;
            let expected = format!("a power up to {}", curve.two_adicity());
            return Err(header.wrong(&expected, &power.to_string()));
        }
        let (many, few) = ((2u64 << power) - 1, 1u64 << power);
        let whole = |id: u32, count: u64, size: usize| {
            file.whole(id, count * size as u64, &format!("{count} points"))
        };
        let g1 = whole(2, many, curve.g1_bytes())?;
        let g2 = whole(3, few, curve.g2_bytes())?;
        let first = g2.slice(0..2.min(few as usize) * curve.g2_bytes());
        let g2 = first.unwrap_or(g2);
        Ok(Self {
            curve,
            power,
            g1,
            g2,
        })
    }
}

/// A section: its number, where its bytes begin, and how many there are.
pub type Placed = (u32, usize, usize);

/// The sections of a powers-of-tau file, or of a proving key, in their order.
///
/// # Errors
/// The file is of another kind, or is damaged.
pub fn ceremony_sections(bytes: &Bytes, powers: bool) -> Result<Vec<Placed>, LoadError> {
    let kind = if powers { &KIND } else { &zkey::KIND };
    Ok(Sections::parse(bytes, kind)?.placed())
}
