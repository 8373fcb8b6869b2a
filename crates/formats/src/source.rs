//! The bytes of a file: mapped where that saves a copy, read where it does not. The one place of
//! this crate with `unsafe`.
#![allow(unsafe_code)]

use crate::LoadError;
use cloakwork_ir::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Below this a read is cheaper than a mapping.
const MAPPED_FROM_BYTES: u64 = 64 * 1024;

/// The contents of a file. Pipes and devices, which cannot be mapped, are read to their end.
pub(crate) fn open(path: &Path) -> Result<Bytes, LoadError> {
    contents(path).map_err(|source| LoadError::Read {
        path: path.to_owned(),
        source,
    })
}

fn contents(path: &Path) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() >= MAPPED_FROM_BYTES {
        // SAFETY: the mapping is private and only read. What `Mmap::map` asks for, that nobody
        // changes the file meanwhile, no program can enforce; files are replaced by rename (see
        // `atomic`), never written in place, and every parser takes each byte as untrusted.
        let mapping = unsafe { memmap2::Mmap::map(&file)? };
        return Ok(Bytes::new(Arc::new(mapping)));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.into())
}
