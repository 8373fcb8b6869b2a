//! Memory of kernels' operands: aligned, owned by Rust, never resized.

use crate::RunError;
use crate::memory::cache;
use crate::memory::medium::{self, Medium};
use crate::memory::pages::{HUGE_PAGE_BYTES, Pages};
use crate::memory::wiping::{is_wiping, wipe};
use cloakwork_ir::Bytes;
use memmap2::MmapMut;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Large buffers are mapped, so that the system zeroes them on first touch, and start on a huge
/// page: touching fresh pages of 4 KiB costs more than most kernels.
const LARGE_BYTES: usize = HUGE_PAGE_BYTES;

/// A zeroed block of memory. Written through pointers by kernels, one step at a time.
pub struct Block {
    start: NonNull<u8>,
    len: usize,
    source: Source,
    /// Overwritten before release.
    wiped: bool,
}

/// Source of the memory.
enum Source {
    /// A block of `medium`; there until the drop.
    Medium(Option<Medium>),
    /// A small block of `cache::small`, by size class.
    Small(usize),
    /// Held for its drop, which releases the memory.
    Mapped {
        pages: Option<Pages>,
        /// Whether a later large block may reuse it.
        reusable: bool,
    },
    /// A file, whose pages are in memory while a step uses them.
    File(MmapMut),
}

// SAFETY: a block is plain memory that it owns; the executor decides which thread may write it.
unsafe impl Send for Block {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Block {}

impl Block {
    /// An uninitialized block, for results that are written before they are read. Where they can,
    /// blocks reuse released memory: fresh pages cost more than most kernels.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub fn uninit(bytes: u64) -> Result<Self, RunError> {
        let out_of_memory = || RunError::OutOfMemory { bytes };
        let len = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        if let Some((class, start)) = cache::small(len) {
            return Ok(Self::counted(start, len, Source::Small(class)));
        }
        if len >= LARGE_BYTES {
            return match cache::take_large(len) {
                Some(pages) => Ok(Self::mapped(pages, len, true)),
                None => Self::map(len, true),
            };
        }
        let medium = medium::take_or_make(len).or_else(|| {
            cache::release_waiting();
            medium::take_or_make(len)
        });
        let medium = medium.ok_or_else(out_of_memory)?;
        Ok(Self::counted(
            medium.start,
            len,
            Source::Medium(Some(medium)),
        ))
    }

    fn counted(start: NonNull<u8>, len: usize, source: Source) -> Self {
        cache::count_made(len);
        Self {
            start,
            len,
            source,
            wiped: is_wiping(),
        }
    }

    /// A block of zeros that is soon released: a large one reuses released memory, and is itself
    /// reused. Overwriting costs a third of what fresh pages do.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub fn zeroed_reusable(bytes: u64) -> Result<Self, RunError> {
        let len = usize::try_from(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
        if len < LARGE_BYTES {
            return Self::zeroed(bytes);
        }
        let Some(pages) = cache::take_large(len) else {
            return Self::map(len, true);
        };
        let block = Self::mapped(pages, len, true);
        // SAFETY: the block's own bytes, which nobody else knows yet.
        unsafe { block.start.write_bytes(0, len) };
        Ok(block)
    }

    /// A block of zeros. Those of large blocks are the system's: what is not touched costs nothing.
    ///
    /// # Errors
    /// The size exceeds the limit of a process, or the system is out of memory.
    pub fn zeroed(bytes: u64) -> Result<Self, RunError> {
        let out_of_memory = || RunError::OutOfMemory { bytes };
        let len = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        if len >= LARGE_BYTES {
            return Self::map(len, false);
        }
        let block = Self::uninit(bytes)?;
        // SAFETY: the block's own bytes, which nobody else knows yet.
        unsafe { block.start.write_bytes(0, len) };
        Ok(block)
    }

    /// A block of this many bytes in a private file.
    ///
    /// # Errors
    /// The system's error: the disk is full.
    pub fn on_disk(file: &File, bytes: u64) -> io::Result<Self> {
        static CHUNK: [u8; 1 << 16] = [0; 1 << 16];
        // Written now, so that a full disk is reported here and not when a kernel writes.
        for start in (0..bytes).step_by(CHUNK.len()) {
            let len = (bytes - start).min(CHUNK.len() as u64) as usize;
            file.write_all_at(&CHUNK[..len], start)?;
        }
        // SAFETY: the file has no name, so that no other process writes or truncates it.
        let mut map = unsafe { MmapMut::map_mut(file)? };
        let start = NonNull::new(map.as_mut_ptr()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self::counted(start, map.len(), Source::File(map)))
    }

    /// Removes the pages of a block in a file from memory; they are read again when touched.
    pub fn leave_memory(&self) {
        #[cfg(target_os = "linux")]
        if let Source::File(map) = &self.source {
            // SAFETY: the mapping is shared with its file, which keeps the written bytes.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Fresh pages. Released ones go to the system if it has none left.
    fn map(len: usize, reusable: bool) -> Result<Self, RunError> {
        let pages = Pages::map(len).or_else(|| {
            cache::release_waiting();
            Pages::map(len)
        });
        let bytes = len as u64;
        let pages = pages.ok_or(RunError::OutOfMemory { bytes })?;
        Ok(Self::mapped(pages, len, reusable))
    }

    fn mapped(pages: Pages, len: usize, reusable: bool) -> Self {
        let start = pages.start();
        let pages = Some(pages);
        Self::counted(start, len, Source::Mapped { pages, reusable })
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Pointer to the first byte, for kernels.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The bytes. No kernel may write them during the borrow.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes are allocated and initialised; the executor returns slices only
        // between steps, so no kernel writes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Overwrites with zeros in a way that is not optimised away.
    pub fn zeroize(&self) {
        // SAFETY: the block's own bytes.
        unsafe { wipe(self.start.as_ptr(), self.len) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        cache::count_released(self.len);
        if self.wiped {
            self.zeroize();
        }
        match &mut self.source {
            Source::Medium(own) => {
                if let Some(own) = own.take() {
                    medium::release(own);
                }
            }
            Source::Small(class) => cache::release_small(*class, self.start),
            Source::Mapped { pages, reusable } => {
                if let (Some(pages), true) = (pages.take(), *reusable) {
                    cache::release_large(pages);
                }
            }
            // The mapping is released with the block, and the file with its last mapping.
            Source::File(_) => {}
        }
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// A block's bytes as shared, read-only host bytes.
#[must_use]
pub fn into_bytes(block: Block) -> Bytes {
    Bytes::new(Arc::new(block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_sizes_are_aligned_zeros() {
        for bytes in [
            0,
            1,
            63,
            4096,
            HUGE_PAGE_BYTES - 1,
            HUGE_PAGE_BYTES,
            3 * HUGE_PAGE_BYTES + 5,
        ] {
            let block = Block::zeroed(bytes as u64).unwrap();
            let alignment = if bytes < HUGE_PAGE_BYTES {
                cache::LINE_BYTES
            } else {
                HUGE_PAGE_BYTES
            };
            assert_eq!(block.as_ptr().align_offset(alignment), 0, "{bytes}");
            assert_eq!(block.len(), bytes);
            assert!(block.as_slice().iter().all(|&byte| byte == 0), "{bytes}");
        }
    }

    #[test]
    fn zeros_in_released_memory_are_zeros() {
        let bytes = 3 * HUGE_PAGE_BYTES as u64;
        for len in [bytes, bytes - 5, bytes / 2, 100] {
            let block = Block::uninit(bytes).unwrap();
            // SAFETY: the block's own bytes.
            unsafe { block.start.write_bytes(7, block.len()) };
            drop(block);
            let block = Block::zeroed_reusable(len).unwrap();
            assert_eq!(block.len() as u64, len);
            assert!(block.as_slice().iter().all(|&byte| byte == 0), "{len}");
        }
        assert!(Block::zeroed_reusable(u64::MAX).is_err());
        assert!(Block::zeroed_reusable(1 << 60).is_err());
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        assert!(matches!(
            Block::zeroed(u64::MAX),
            Err(RunError::OutOfMemory { .. })
        ));
        assert!(matches!(
            Block::zeroed(1 << 60),
            Err(RunError::OutOfMemory { .. })
        ));
    }
}
