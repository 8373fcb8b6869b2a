//! The container of circom's binary files: sections by number, and a cursor in one.

use super::{Pairing, number};
use crate::{LoadError, Mismatch};
use cloakwork_ir::Bytes;
use std::ops::Range;

/// The properties of a kind of file.
pub(super) struct Kind {
    /// `r1cs`, `wtns`, `zkey`: the magic, and the name in errors.
    pub(super) magic: &'static str,
    /// The newest version that is read.
    pub(super) newest: u32,
    /// The names of sections, by number.
    pub(super) sections: &'static [&'static str],
}

/// Bytes before the first section.
const PREFIX_BYTES: usize = 12;
/// Bytes before a section's own.
const HEADER_BYTES: usize = 12;

/// A file taken apart.
pub(super) struct Sections {
    pub(super) kind: &'static Kind,
    bytes: Bytes,
    found: Vec<(u32, Range<usize>)>,
}

impl Sections {
    /// Reads the sizes of all sections. They must fill the file, each number once.
    pub(super) fn parse(bytes: &Bytes, kind: &'static Kind) -> Result<Self, LoadError> {
        let all = bytes.as_slice();
        let mut file = Section::new(kind, None, 0, all);
        let magic = file.take(4)?;
        if magic != kind.magic.as_bytes() {
            file.at = 0;
            let expected = format!("the letters {}", kind.magic);
            return Err(file.hinted(&expected, &seen(magic), other_kind(magic)));
        }
        let version = file.u32()?;
        if version == 0 || version > kind.newest {
            file.at = 4;
            let expected = format!("a version from 1 to {}", kind.newest);
            return Err(file.wrong(&expected, &version.to_string()));
        }
        let count = file.u32()? as usize;
        if count > (all.len() - PREFIX_BYTES) / HEADER_BYTES {
            file.at = 8;
            let expected = format!("sections that fit into {} bytes", all.len());
            return Err(file.wrong(&expected, &format!("{count} of them")));
        }
        let mut found: Vec<(u32, Range<usize>)> = Vec::new();
        for _ in 0..count {
            let start = file.at;
            let (id, size) = (file.u32()?, file.u64()?);
            let left = (all.len() - file.at) as u64;
            if size > left {
                file.at = start;
                let name = section_name(kind, id);
                let expected = format!("at most the {left} bytes that are left for {name}");
                return Err(file.hinted(&expected, &format!("a size of {size}"), TRUNCATED));
            }
            if found.iter().any(|(known, _)| *known == id) {
                file.at = start;
                let name = section_name(kind, id);
                return Err(file.wrong("each section once", &format!("{name} again")));
            }
            let range = file.at..file.at + size as usize;
            file.at = range.end;
            found.push((id, range));
        }
        if file.at != all.len() {
            let got = format!("{} more bytes", all.len() - file.at);
            return Err(file.wrong("the end of the file after its last section", &got));
        }
        let bytes = bytes.clone();
        Ok(Self { kind, bytes, found })
    }

    fn range(&self, id: u32) -> Result<Range<usize>, LoadError> {
        let found = self.found.iter().find(|(known, _)| *known == id);
        found.map(|(_, range)| range.clone()).ok_or_else(|| {
            let file = Section::new(self.kind, None, 0, &[]);
            file.wrong(&section_name(self.kind, id), "a file without it")
        })
    }

    /// A cursor at a section's start.
    pub(super) fn section(&self, id: u32) -> Result<Section<'_>, LoadError> {
        let range = self.range(id)?;
        let bytes = self.bytes.as_slice().get(range.clone()).unwrap_or(&[]);
        Ok(Section::new(self.kind, Some(id), range.start, bytes))
    }

    /// All sections in their order: number, start and size.
    pub(super) fn placed(&self) -> Vec<(u32, usize, usize)> {
        let place = |(id, range): &(u32, Range<usize>)| (*id, range.start, range.len());
        self.found.iter().map(place).collect()
    }

    /// Whether there is such a section.
    pub(super) fn has(&self, id: u32) -> bool {
        self.found.iter().any(|(known, _)| *known == id)
    }

    /// The bytes of a section that must have this many, shared with the file.
    pub(super) fn whole(&self, id: u32, size: u64, what: &str) -> Result<Bytes, LoadError> {
        let range = self.range(id)?;
        if range.len() as u64 != size {
            let section = self.section(id)?;
            let got = format!("{} bytes", range.len());
            return Err(section.wrong(&format!("{size} bytes: {what}"), &got));
        }
        self.part(range)
    }

    /// Some bytes of the file, shared with it.
    pub(super) fn part(&self, range: Range<usize>) -> Result<Bytes, LoadError> {
        self.bytes.slice(range).ok_or_else(|| {
            Section::new(self.kind, None, 0, &[]).wrong("bytes of the file", "others")
        })
    }
}

/// The hint for a file that ends too early.
const TRUNCATED: &str = "the file is truncated or damaged: fetch or make it again";

fn section_name(kind: &Kind, id: u32) -> String {
    match kind.sections.get(id as usize) {
        Some(name) if !name.is_empty() => format!("section {id} ({name})"),
        _ => format!("section {id}"),
    }
}

fn seen(magic: &[u8]) -> String {
    format!("{:?}", magic.escape_ascii().to_string())
}

fn other_kind(magic: &[u8]) -> &'static str {
    match magic {
        b"r1cs" => "this is a circuit: circom wrote it",
        b"wtns" => "this is a witness",
        b"zkey" => "this is a proving key",
        b"ptau" => "this is a powers-of-tau file",
        [b'{' | b'[', ..] => "this looks like JSON",
        _ => "",
    }
}

/// A cursor over a section, or over the file before its sections are known.
pub(super) struct Section<'a> {
    kind: &'static Kind,
    id: Option<u32>,
    base: usize,
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Section<'a> {
    fn new(kind: &'static Kind, id: Option<u32>, base: usize, bytes: &'a [u8]) -> Self {
        let at = 0;
        Self {
            kind,
            id,
            base,
            bytes,
            at,
        }
    }

    /// An error where reading stands.
    pub(super) fn wrong(&self, expected: &str, got: &str) -> LoadError {
        self.hinted(expected, got, "")
    }

    /// An error where reading stands, and what to do.
    pub(super) fn hinted(&self, expected: &str, got: &str, hint: &str) -> LoadError {
        let section = self.id.map(|id| section_name(self.kind, id));
        LoadError::Binary {
            file: self.kind.magic,
            section: section.map(String::into_boxed_str),
            offset: (self.base + self.at) as u64,
            why: Mismatch::new(expected, got, hint),
        }
    }

    /// Where in the file reading stands.
    pub(super) fn position(&self) -> usize {
        self.base + self.at
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next bytes.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], LoadError> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| {
            let got = format!("{} bytes", self.left());
            self.hinted(&format!("{length} more bytes"), &got, TRUNCATED)
        })?;
        self.at += length;
        Ok(taken)
    }

    pub(super) fn u32(&mut self) -> Result<u32, LoadError> {
        let bytes = self.take(4)?;
        let bytes: Result<[u8; 4], _> = bytes.try_into();
        Ok(bytes.map_or(0, u32::from_le_bytes))
    }

    pub(super) fn u64(&mut self) -> Result<u64, LoadError> {
        let (low, high) = (self.u32()?, self.u32()?);
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    /// A number below a bound.
    pub(super) fn index(&mut self, bound: u32, what: &str) -> Result<u32, LoadError> {
        let index = self.u32()?;
        if index < bound {
            return Ok(index);
        }
        self.at -= 4;
        Err(self.wrong(&format!("a {what} below {bound}"), &index.to_string()))
    }

    /// A number below a prime, as its bytes.
    pub(super) fn residue(&mut self, prime: &[u64], what: &str) -> Result<&'a [u8], LoadError> {
        let bytes = self.take(prime.len() * 8)?;
        if number::is_below(bytes, prime) {
            return Ok(bytes);
        }
        self.at -= bytes.len();
        let expected = format!("a {what} below the prime {}", decimal(prime));
        Err(self.wrong(&expected, &number::to_decimal(bytes)))
    }

    /// The width and value of a prime, which says the curve.
    pub(super) fn scalar_prime(&mut self) -> Result<Pairing, LoadError> {
        self.prime("prime of scalars", Pairing::scalar_prime)
    }

    /// The width and value of the prime of coordinates.
    pub(super) fn base_prime(&mut self) -> Result<Pairing, LoadError> {
        self.prime("prime of coordinates", Pairing::base_prime)
    }

    /// Both primes, which must be of one curve.
    pub(super) fn curve(&mut self) -> Result<Pairing, LoadError> {
        let curve = self.base_prime()?;
        let scalars_at = self.at;
        if self.scalar_prime()? != curve {
            self.at = scalars_at;
            let expected = format!("the prime of scalars of {}", curve.snarkjs_name());
            return Err(self.wrong(&expected, "another curve's"));
        }
        Ok(curve)
    }

    fn prime(
        &mut self,
        what: &str,
        of: impl Fn(Pairing) -> &'static [u64],
    ) -> Result<Pairing, LoadError> {
        let start = self.at;
        let size = self.u32()?;
        if size == 0 || size > 256 || !size.is_multiple_of(8) {
            self.at = start;
            return Err(self.wrong("a width of a prime in bytes", &size.to_string()));
        }
        let bytes = self.take(size as usize)?;
        let known = |curve: &Pairing| number::is_prime(bytes, of(*curve));
        Pairing::ALL.into_iter().find(known).ok_or_else(|| {
            self.at = start + 4;
            let names = Pairing::ALL.map(Pairing::snarkjs_name).join(" or ");
            let expected = format!("the {what} of {names}");
            let hint = "compile the circuit with --prime bn128 or --prime bls12381";
            self.hinted(&expected, &number::to_decimal(bytes), hint)
        })
    }

    /// Checks that nothing is left.
    pub(super) fn end(&self) -> Result<(), LoadError> {
        if self.left() == 0 {
            return Ok(());
        }
        Err(self.wrong(
            "the end of the section",
            &format!("{} more bytes", self.left()),
        ))
    }
}

fn decimal(prime: &[u64]) -> String {
    number::to_decimal(&number::prime_bytes(prime))
}
