//! Files of ceremonies, powers of tau and proving keys: where their sections lie.

use super::sections::{Kind, Sections};
use super::zkey;
use crate::LoadError;
use cloakwork_ir::Bytes;

static KIND: Kind = Kind {
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
