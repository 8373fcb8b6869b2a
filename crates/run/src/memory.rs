//! Memory that kernels compute in: aligned, owned by Rust, never resized.

use crate::RunError;
use cloakwork_ir::Bytes;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

/// Buffers start on a cache line; large ones on a huge page, which Linux then may give them.
const LINE_BYTES: usize = 64;
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A zeroed block of memory. Written through pointers by kernels, one step at a time.
pub struct Block {
    start: NonNull<u8>,
    layout: Layout,
    len: usize,
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
        let alignment = if len >= HUGE_PAGE_BYTES {
            HUGE_PAGE_BYTES
        } else {
            LINE_BYTES
        };
        let layout = Layout::from_size_align(len.max(1), alignment).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        Ok(Self { start, layout, len })
    }

    /// A small block that must exist, such as the elements of one eager result.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self::zeroed(bytes as u64).unwrap_or_else(|_| {
            handle_alloc_error(
                Layout::from_size_align(bytes, LINE_BYTES).unwrap_or(Layout::new::<u8>()),
            )
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
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
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
