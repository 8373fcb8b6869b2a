//! The directory of a zip file whose entries are stored as they are. No decompression, no
//! encryption, no archives of 4 GiB.

use super::MAGIC;
use crate::TensorError;
use std::ops::Range;

const END_MAGIC: &[u8; 4] = b"PK\x05\x06";
const ENTRY_MAGIC: &[u8; 4] = b"PK\x01\x02";
const END_BYTES: usize = 22;
const ENTRY_BYTES: usize = 46;
const LOCAL_BYTES: usize = 30;
/// One tensor makes six entries or so.
const MAX_ENTRIES: usize = 256;
/// The description of an entry that errors cannot describe more exactly.
const OTHER: &str = "something else";

/// One stored file.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) range: Range<usize>,
}

impl Entry {
    pub(super) fn data<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.range.clone()).unwrap_or(&[])
    }
}

/// The entries of an archive.
#[derive(Debug)]
pub(super) struct Archive {
    entries: Vec<Entry>,
}

impl Archive {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, TensorError> {
        if !bytes.starts_with(MAGIC) {
            let got = format!("`{}`", bytes.get(..4).unwrap_or(bytes).escape_ascii());
            let hint = "torch.save writes zip archives since torch 1.6";
            return Err(wrong(0, "a zip archive", got, hint));
        }
        let end = end_record(bytes)?;
        let field = |at| {
            u16_at(bytes, end + at)
                .map(usize::from)
                .ok_or_else(|| cut(end))
        };
        let (disk, count) = (field(4)?, field(10)?);
        let directory = u32_at(bytes, end + 16).ok_or_else(|| cut(end))? as usize;
        if disk != 0 || count != field(8)? {
            return Err(wrong(end, "an archive in one part", "several parts", ""));
        }
        if count > MAX_ENTRIES {
            let expected = format!("at most {MAX_ENTRIES} entries for one tensor");
            return Err(wrong(end, expected, format!("{count}"), ""));
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(count);
        let mut at = directory;
        for _ in 0..count {
            let (entry, next) = entry(bytes, at, end)?;
            if entries.iter().any(|other| other.name == entry.name) {
                let got = format!("`{}` again", entry.name);
                return Err(wrong(at, "each name once", got, ""));
            }
            entries.push(entry);
            at = next;
        }
        Ok(Self { entries })
    }

    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The one entry whose name ends so.
    pub(super) fn find_suffix(&self, suffix: &str) -> Result<&Entry, TensorError> {
        let mut found = self
            .entries
            .iter()
            .filter(|entry| entry.name.ends_with(suffix));
        match (found.next(), found.next()) {
            (Some(entry), None) => Ok(entry),
            (first, _) => {
                let got = if first.is_some() { "several" } else { "none" };
                Err(wrong(0, format!("one entry */{}", &suffix[1..]), got, ""))
            }
        }
    }
}

/// Where the record at the archive's end begins; a comment may follow it.
fn end_record(bytes: &[u8]) -> Result<usize, TensorError> {
    let searched_from = bytes
        .len()
        .saturating_sub(END_BYTES + usize::from(u16::MAX));
    let tail = bytes.get(searched_from..).unwrap_or(bytes);
    memchr::memmem::rfind_iter(tail, END_MAGIC)
        .map(|at| searched_from + at)
        .find(|&at| {
            u16_at(bytes, at + 20)
                .is_some_and(|comment| at + END_BYTES + usize::from(comment) == bytes.len())
        })
        .ok_or_else(|| wrong(bytes.len(), "the directory of a zip archive", "the end", ""))
}

/// The entry of the directory at `at`, and where the next one stands.
fn entry(bytes: &[u8], at: usize, end: usize) -> Result<(Entry, usize), TensorError> {
    let header = at
        .checked_add(ENTRY_BYTES)
        .filter(|&header_end| header_end <= end)
        .and_then(|header_end| bytes.get(at..header_end))
        .filter(|header| header.starts_with(ENTRY_MAGIC))
        .ok_or_else(|| wrong(at, "an entry of the directory", OTHER, ""))?;
    let short = |field| u16_at(header, field).map_or(0, usize::from);
    let next = at + ENTRY_BYTES + short(28) + short(30) + short(32);
    let name_start = at + ENTRY_BYTES;
    let name = bytes
        .get(name_start..name_start + short(28))
        .filter(|_| next <= end)
        .and_then(|name| std::str::from_utf8(name).ok())
        .ok_or_else(|| wrong(name_start, "a name in UTF-8", OTHER, ""))?;
    let shown: String = name.escape_debug().take(80).collect();
    let (local, size) = stored(header).map_err(|(expected, hint)| {
        wrong(at, expected, format!("`{shown}`, which is not"), hint)
    })?;
    let range = data_range(bytes, local, size)
        .filter(|range| range.end <= end)
        .ok_or_else(|| {
            let got = format!("`{shown}`, {size} bytes from {local}");
            wrong(at, "an entry inside the archive", got, "")
        })?;
    Ok((
        Entry {
            name: name.to_owned(),
            range,
        },
        next,
    ))
}

/// Place of the local header and size of a stored entry, or what was expected and a hint.
fn stored(header: &[u8]) -> Result<(usize, usize), (&'static str, &'static str)> {
    let (flags, method) = (u16_at(header, 8), u16_at(header, 10));
    let (packed, size, local) = (u32_at(header, 20), u32_at(header, 24), u32_at(header, 42));
    if flags.is_none_or(|flags| flags & 1 != 0) {
        return Err(("entries that are not encrypted", ""));
    }
    if method != Some(0) || packed != size {
        return Err((
            "stored entries",
            "compressed archives are not read; torch.save stores",
        ));
    }
    match (local, size) {
        (Some(local), Some(size)) if local.max(size) < u32::MAX => {
            Ok((local as usize, size as usize))
        }
        _ => Err(("entries below 4 GiB", "")),
    }
}

/// Where an entry's bytes lie, behind its local header.
fn data_range(bytes: &[u8], local: usize, size: usize) -> Option<Range<usize>> {
    bytes
        .get(local..local.checked_add(LOCAL_BYTES)?)?
        .starts_with(MAGIC)
        .then_some(())?;
    let name = usize::from(u16_at(bytes, local + 26)?);
    let extra = usize::from(u16_at(bytes, local + 28)?);
    let start = local + LOCAL_BYTES + name + extra;
    Some(start..start.checked_add(size)?)
}

/// An error at a byte of the archive.
fn wrong(
    at: usize,
    expected: impl Into<Box<str>>,
    got: impl Into<Box<str>>,
    hint: &str,
) -> TensorError {
    super::wrong("archive", at, expected, got, hint)
}

fn cut(at: usize) -> TensorError {
    wrong(at, "the rest of the record", "the end", "")
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*field))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}
