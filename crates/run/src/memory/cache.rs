//! Released memory that waits for reuse, and the count of all memory in use.
//!
//! Small blocks wait in lists of the thread that released them, the others in lists of the
//! process. Loops over tensors often produce large results of the same size, and their cost is the
//! system's zeroing of fresh pages.

use crate::memory::medium;
use crate::memory::pages::{Pages, Waiting};
use cloakwork_process::Mutex;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The smallest class is a cache line, each further one is twice as large.
pub(super) const LINE_BYTES: usize = 64;
const CLASSES: usize = 11;
/// The most cached bytes of one class in one thread.
const CLASS_LIMIT_BYTES: usize = 256 << 10;
/// The most cached bytes of large blocks.
const LARGE_LIMIT_BYTES: usize = 1 << 30;

static LIVE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static WAITING: AtomicU64 = AtomicU64::new(0);
static LARGE: Mutex<Waiting> = Mutex::new(Waiting::new());

/// Bytes of tensors, arenas and scratch memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStats {
    /// In use.
    pub live_bytes: u64,
    /// The most that were in use at a time.
    pub peak_bytes: u64,
    /// Released, and cached for the next blocks that are not small.
    pub cached_bytes: u64,
}

/// The current counts.
#[must_use]
pub fn memory_stats() -> MemoryStats {
    MemoryStats {
        live_bytes: LIVE.load(Ordering::Relaxed),
        peak_bytes: PEAK.load(Ordering::Relaxed),
        cached_bytes: WAITING.load(Ordering::Relaxed) + medium::waiting_bytes(),
    }
}

/// Returns cached blocks to the system, and resets the peak.
pub fn release_cached() {
    release_waiting();
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Returns cached blocks that are not small to the system.
pub(crate) fn release_waiting() {
    medium::release_waiting();
    let mut waiting = LARGE.lock();
    let pages = std::mem::replace(&mut *waiting, Waiting::new());
    WAITING.store(0, Ordering::Relaxed);
    drop(waiting);
    drop(pages);
}

pub(crate) fn count_made(bytes: usize) {
    let now = LIVE.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    if now > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
}

pub(crate) fn count_released(bytes: usize) {
    LIVE.fetch_sub(bytes as u64, Ordering::Relaxed);
}

/// Cached small blocks of a thread, by class. Freed when the thread ends.
struct Lists([Vec<NonNull<u8>>; CLASSES]);

impl Drop for Lists {
    fn drop(&mut self) {
        for (class, list) in self.0.iter_mut().enumerate() {
            for start in list.drain(..) {
                free(class, start);
            }
        }
    }
}

thread_local! {
    static LISTS: RefCell<Lists> = const { RefCell::new(Lists([const { Vec::new() }; CLASSES])) };
}

const fn class_bytes(class: usize) -> usize {
    LINE_BYTES << class
}

fn layout(class: usize) -> Option<Layout> {
    Layout::from_size_align(class_bytes(class), LINE_BYTES).ok()
}

fn free(class: usize, start: NonNull<u8>) {
    if let Some(layout) = layout(class) {
        // SAFETY: blocks of a class are allocated with its layout.
        unsafe { dealloc(start.as_ptr(), layout) };
    }
}

/// A block of the smallest class with this many bytes; `None` if the largest class is too small.
pub(crate) fn small(bytes: usize) -> Option<(usize, NonNull<u8>)> {
    let lines = bytes.div_ceil(LINE_BYTES).max(1);
    let class = lines.next_power_of_two().trailing_zeros() as usize;
    if class >= CLASSES {
        return None;
    }
    // While a thread ends, its lists are gone: then the system allocates.
    let waiting = LISTS.try_with(|lists| lists.borrow_mut().0[class].pop());
    if let Ok(Some(start)) = waiting {
        return Some((class, start));
    }
    // SAFETY: the layout of a class has a size above zero.
    let start = NonNull::new(unsafe { alloc(layout(class)?) })?;
    Some((class, start))
}

pub(crate) fn release_small(class: usize, start: NonNull<u8>) {
    let kept = LISTS.try_with(|lists| {
        let list = &mut lists.borrow_mut().0[class];
        let room = list.len() < (CLASS_LIMIT_BYTES / class_bytes(class)).clamp(2, 64);
        if room {
            list.push(start);
        }
        room
    });
    if !kept.unwrap_or(false) {
        free(class, start);
    }
}

/// Released pages with room for this many bytes.
pub(crate) fn take_large(bytes: usize) -> Option<Pages> {
    let mut waiting = LARGE.lock();
    let pages = waiting.take(bytes)?;
    WAITING.store(waiting.bytes() as u64, Ordering::Relaxed);
    Some(pages)
}

pub(crate) fn release_large(pages: Pages) {
    let mut waiting = LARGE.lock();
    let returned = waiting.keep(pages, LARGE_LIMIT_BYTES);
    WAITING.store(waiting.bytes() as u64, Ordering::Relaxed);
    drop(waiting);
    // Outside of the lock: the system takes milliseconds.
    drop(returned);
}
