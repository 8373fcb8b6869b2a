//! Memory that kernels compute in: aligned, owned by Rust, never resized.

use crate::RunError;
use cloakwork_ir::Bytes;
use memmap2::MmapMut;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

/// Small buffers start on a cache line.
const LINE_BYTES: usize = 64;

/// Large ones are mapped, so that the system zeroes them when they are first touched, and start on
/// a huge page: touching fresh pages of 4 KiB costs more than most kernels do.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A zeroed block of memory. Written through pointers by kernels, one step at a time.
pub struct Block {
    start: NonNull<u8>,
    len: usize,
    source: Source,
}

/// Where the memory is from.
enum Source {
    Heap(Layout),
    /// Held for its drop, which gives the memory back.
    Mapped {
        _map: MmapMut,
    },
}

// SAFETY: a block is plain memory that it owns; who may write when is decided by the executor.
unsafe impl Send for Block {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Block {}

impl Block {
    /// A block of zeros.
    ///
    /// # Errors
    /// The size is beyond what a process may ask for, or the system has not so much.
    pub fn zeroed(bytes: u64) -> Result<Self, RunError> {
        let out_of_memory = || RunError::OutOfMemory { bytes };
        let len = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        if len >= HUGE_PAGE_BYTES {
            return Self::mapped(len).ok_or_else(out_of_memory);
        }
        let layout = Layout::from_size_align(len.max(1), LINE_BYTES);
        let layout = layout.map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        Ok(Self {
            start,
            len,
            source: Source::Heap(layout),
        })
    }

    fn mapped(len: usize) -> Option<Self> {
        let mut map = MmapMut::map_anon(len.checked_add(HUGE_PAGE_BYTES)?).ok()?;
        // Only a wish: without huge pages everything is the same, but slower.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let base = map.as_mut_ptr();
        let start = NonNull::new(base.wrapping_add(base.align_offset(HUGE_PAGE_BYTES)))?;
        Some(Self {
            start,
            len,
            source: Source::Mapped { _map: map },
        })
    }

    /// Bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first byte, for kernels.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The bytes. No kernel may be writing them meanwhile.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes are allocated and initialised; writers are excluded by the caller's
        // turn in the executor, which hands out slices only between steps.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Overwrites with zeros in a way that is not optimised away.
    pub fn zeroize(&self) {
        for i in 0..self.len {
            // SAFETY: inside the block.
            unsafe { self.start.as_ptr().add(i).write_volatile(0) };
        }
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Source::Heap(layout) = self.source {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout) };
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
                LINE_BYTES
            } else {
                HUGE_PAGE_BYTES
            };
            assert_eq!(block.as_ptr().align_offset(alignment), 0, "{bytes}");
            assert_eq!(block.len(), bytes);
            assert!(block.as_slice().iter().all(|&byte| byte == 0), "{bytes}");
        }
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
