//! Witnesses: the values of all wires of a circuit.

use super::Pairing;
use super::sections::{Kind, Sections};
use crate::{LoadError, files};
use cloakwork_ir::Bytes;
use std::path::Path;

pub(super) static KIND: Kind = Kind {
    magic: "wtns",
    newest: 2,
    sections: &["", "header", "values"],
};

/// A witness.
#[derive(Clone)]
pub struct Wtns {
    /// The curve whose scalars the values are.
    pub curve: Pairing,
    /// Canonical little-endian scalars, one a wire; the first is 1. They lie in the file.
    pub values: Bytes,
}

impl Wtns {
    /// Reads a file, into memory that is overwritten when it is released, and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or is not such a witness.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::parse(&files::read_secret(path.as_ref(), &mut || true)?)
    }

    /// Checks a file's contents; the values share them.
    ///
    /// # Errors
    /// They are not a witness over a known prime, are damaged, or some value is not below the
    /// prime.
    pub fn parse(bytes: &Bytes) -> Result<Self, LoadError> {
        let file = Sections::parse(bytes, &KIND)?;
        let mut header = file.section(1)?;
        let curve = header.scalar_prime()?;
        let count = header.u32()?;
        header.end()?;
        let size = u64::from(count) * curve.scalar_bytes() as u64;
        let values = file.whole(2, size, &format!("{count} values, as the header says"))?;
        let mut section = file.section(2)?;
        for wire in 0..count {
            let value = section.residue(curve.scalar_prime(), "value")?;
            let is_one = value.first() == Some(&1) && value.iter().skip(1).all(|&byte| byte == 0);
            if wire == 0 && !is_one {
                section.at = 0;
                return Err(section.wrong("1, the value of wire 0", "another value"));
            }
        }
        if count == 0 {
            return Err(section.wrong("at least wire 0", "no values"));
        }
        Ok(Self { curve, values })
    }

    /// Number of wires.
    #[must_use]
    pub fn wires(&self) -> usize {
        self.values.as_slice().len() / self.curve.scalar_bytes()
    }
}
