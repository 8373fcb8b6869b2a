//! The bytes of a file: mapped where that saves a copy, read where it does not. The one place of
//! this crate with `unsafe`.
#![allow(unsafe_code)]

use crate::LoadError;
use cloakwork_ir::Bytes;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Below this a read is cheaper than a mapping.
const MAPPED_FROM_BYTES: u64 = 64 * 1024;

/// The contents of a file. Pipes, which cannot be mapped, are read to their end; devices, which may
/// have none, are refused.
pub(crate) fn open(path: &Path) -> Result<Bytes, LoadError> {
    let failed = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if is_device(metadata.file_type()) {
        return Err(LoadError::Kind {
            got: "a device".into(),
            hint: "name a file or a pipe".into(),
        });
    }
    contents(path, &metadata).map_err(failed)
}

#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

fn contents(path: &Path, metadata: &Metadata) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
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
