//! Released blocks between small and large ones, which wait for reuse in one list of the process:
//! memory that the system takes back after each call costs as much in fresh pages as the call.

use crate::memory::cache::LINE_BYTES;
use cloakwork_process::Mutex;
use std::alloc::{Layout, alloc, dealloc};
use std::mem::take;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes that wait.
const LIMIT_BYTES: usize = 32 << 20;
/// Sizes are multiples of this.
const STEP_BYTES: usize = 4096;

static WAITING: Mutex<Released> = Mutex::new(Released {
    blocks: Vec::new(),
    bytes: 0,
});
static WAITING_BYTES: AtomicU64 = AtomicU64::new(0);

/// Memory with one owner, who gives it back by [`release`].
#[derive(Debug)]
pub(crate) struct Medium {
    pub start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain memory with one owner.
unsafe impl Send for Medium {}

/// The one released last is at the end: its contents may still be in a cache.
struct Released {
    blocks: Vec<Medium>,
    bytes: usize,
}

/// Bytes that wait for reuse.
pub(crate) fn waiting_bytes() -> u64 {
    WAITING_BYTES.load(Ordering::Relaxed)
}

/// Memory of this many bytes, whose contents are anything; `None` if the system has no more.
pub(crate) fn take_or_make(bytes: usize) -> Option<Medium> {
    let mut waiting = WAITING.lock();
    if let Some(found) = waiting.take(bytes) {
        WAITING_BYTES.store(waiting.bytes as u64, Ordering::Relaxed);
        return Some(found);
    }
    drop(waiting);
    let bytes = bytes.max(1).checked_next_multiple_of(STEP_BYTES)?;
    // SAFETY: the layout has a size above zero.
    let start = NonNull::new(unsafe { alloc(layout(bytes)?) })?;
    Some(Medium { start, bytes })
}

/// Keeps memory for reuse. Of too many bytes the ones released longest ago go to the system.
pub(crate) fn release(medium: Medium) {
    let mut waiting = WAITING.lock();
    waiting.bytes += medium.bytes;
    waiting.blocks.push(medium);
    let mut returned = Vec::new();
    while waiting.bytes > LIMIT_BYTES {
        let oldest = waiting.blocks.remove(0);
        waiting.bytes -= oldest.bytes;
        returned.push(oldest);
    }
    WAITING_BYTES.store(waiting.bytes as u64, Ordering::Relaxed);
    drop(waiting);
    returned.into_iter().for_each(free);
}

/// Returns all memory that waits to the system.
pub(crate) fn release_waiting() {
    let mut waiting = WAITING.lock();
    let blocks = take(&mut waiting.blocks);
    waiting.bytes = 0;
    WAITING_BYTES.store(0, Ordering::Relaxed);
    drop(waiting);
    blocks.into_iter().for_each(free);
}

impl Released {
    /// One of this many bytes, and at most a quarter more.
    fn take(&mut self, bytes: usize) -> Option<Medium> {
        let most = bytes.saturating_add(bytes / 4 + STEP_BYTES);
        let fits = |block: &Medium| (bytes..most).contains(&block.bytes);
        let place = self.blocks.iter().rposition(fits)?;
        let found = self.blocks.remove(place);
        self.bytes -= found.bytes;
        Some(found)
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, LINE_BYTES).ok()
}

fn free(medium: Medium) {
    if let Some(layout) = layout(medium.bytes) {
        // SAFETY: allocated with this layout, and nobody has a pointer to it.
        unsafe { dealloc(medium.start.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn released(sizes: &[usize]) -> Released {
        let blocks: Vec<Medium> = sizes
            .iter()
            .map(|&bytes| Medium {
                start: NonNull::dangling(),
                bytes,
            })
            .collect();
        let bytes = sizes.iter().sum();
        Released { blocks, bytes }
    }

    #[test]
    fn the_last_released_block_that_is_not_much_too_large_is_taken() {
        let mut waiting = released(&[200 << 10, 110 << 10, 100 << 10, 90 << 10]);
        let mut take = |bytes| waiting.take(bytes).map(|medium| medium.bytes);
        assert_eq!(take(96 << 10), Some(100 << 10));
        assert_eq!(take(96 << 10), Some(110 << 10));
        assert_eq!(take(96 << 10), None, "more than a quarter would be wasted");
        assert_eq!(take(90 << 10), Some(90 << 10));
        assert_eq!(waiting.bytes, 200 << 10);
    }

    #[test]
    fn no_more_than_the_limit_waits() {
        let size = 1 << 20;
        let made: Vec<Medium> = (0..40).map(|_| take_or_make(size).unwrap()).collect();
        made.into_iter().for_each(release);
        assert!(waiting_bytes() as usize <= LIMIT_BYTES);
        assert!(take_or_make(usize::MAX).is_none() && take_or_make(1 << 60).is_none());
    }
}
