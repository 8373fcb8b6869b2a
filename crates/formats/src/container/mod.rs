//! Cloakwork's own file (`.cwk`): a checked header, then tensors that are used where they lie.
//!
//! ```text
//!  0  magic               8 bytes; like PNG's, it breaks when a transfer changes line ends
//!  8  version             u32, 1
//! 12  flags               u32; bit 0: the header ends with notes
//! 16  header_bytes        u64
//! 24  file_bytes          u64
//! 32  checksum            BLAKE3 of bytes 0 to 31 and the header
//! 64  header              generation, symbols, texts, blobs, hosts, steps; notes: name, text
//!     padding to 64
//!     blobs               each at the next multiple of 64, contents never repeated
//! ```
//! Integers are little-endian; strings and lists stand behind their u32 length. The header is
//! checked at each load. Blobs are checked when they are used first ([`Seal::check`]), so that
//! loading takes time in proportion to the header alone.

mod blobs;
mod check;
mod codec;
mod read;
mod write;

pub use write::{container_bytes, save_container};

use crate::{LoadError, files};
use cloakwork_ir::{Bytes, Program};
use std::ops::Range;
use std::path::Path;

/// The first bytes of every container.
pub(crate) const MAGIC: &[u8; 8] = b"\x89CWK\r\n\x1a\n";
/// The version written, and the only one read.
const VERSION: u32 = 1;
/// The header ends with notes: names in ascending order, each with its text.
const HAS_NOTES: u32 = 1;
/// Bytes before the header.
const PREFIX_BYTES: usize = 64;
/// The part of the prefix that the checksum covers.
const CHECKED_PREFIX_BYTES: usize = 32;
/// Where blobs may begin.
const ALIGNMENT: usize = 64;

/// Contents that one or more host tensors lie in.
#[derive(Clone, Debug)]
struct Blob {
    /// In the file.
    range: Range<usize>,
    hash: [u8; 32],
}

/// A container that is open: its program, and what can still be checked.
pub struct Container {
    program: Program,
    seal: Seal,
}

/// The contents of a container's tensors, and the checksums that its header has of them.
pub struct Seal {
    bytes: Bytes,
    blobs: Vec<Blob>,
}

impl Container {
    /// Maps a file and reads its header.
    ///
    /// # Errors
    /// The file cannot be read, is not a container, is of another version, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::parse(&files::read(path)?)
    }

    /// Reads a container in memory. Its tensors share these bytes.
    ///
    /// # Errors
    /// No container, one of another version, or a damaged one.
    pub fn parse(bytes: &Bytes) -> Result<Self, LoadError> {
        read::container(bytes)
    }

    /// The program; its host tensors lie in the file.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program, and what its tensors can be checked by.
    #[must_use]
    pub fn into_parts(self) -> (Program, Seal) {
        (self.program, self.seal)
    }

    /// Compares all tensor bytes with the checksums of the header.
    ///
    /// # Errors
    /// Some tensor's bytes have changed since they were written.
    pub fn verify_tensors(&self) -> Result<(), LoadError> {
        self.seal.check()
    }
}

impl Seal {
    /// Compares all tensor bytes with the checksums of the header.
    ///
    /// # Errors
    /// Some tensor's bytes have changed since they were written.
    pub fn check(&self) -> Result<(), LoadError> {
        for blob in &self.blobs {
            let bytes = self.bytes.as_slice().get(blob.range.clone()).unwrap_or(&[]);
            let hash = hash(bytes);
            if *hash.as_bytes() != blob.hash {
                return Err(LoadError::Container {
                    offset: blob.range.start as u64,
                    expected: format!("a tensor with hash {}", short(&blob.hash)).into(),
                    got: format!("{} bytes with hash {}", bytes.len(), short(hash.as_bytes()))
                        .into(),
                    hint: "the file is damaged: fetch or write it again".into(),
                });
            }
        }
        Ok(())
    }
}

fn hash(bytes: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    match cloakwork_process::workers() {
        Ok(workers) => workers.install(|| hasher.update_rayon(bytes)),
        Err(_) => hasher.update(bytes),
    };
    hasher.finalize()
}

/// The beginning of a hash, for people.
fn short(hash: &[u8; 32]) -> String {
    hash.iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
