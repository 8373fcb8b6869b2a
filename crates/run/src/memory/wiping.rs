//! Runs of which nothing is left in memory: blocks that are made meanwhile are overwritten before
//! they are released, and so are the arena, and what kernels left on the stacks of threads.

use crate::exec::pool;
use std::cell::Cell;
use std::marker::PhantomData;

/// More than the frames of all kernels and of what calls them.
const STACK_BYTES: usize = 256 << 10;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While it is there, the blocks that its thread makes are wiped when they are released.
pub struct Wiping {
    threads: usize,
    /// It counts for the thread that it is on.
    _here: PhantomData<*const ()>,
}

impl Wiping {
    /// Begins, for calls on so many threads.
    #[must_use]
    pub fn begin(threads: usize) -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self {
            threads,
            _here: PhantomData,
        }
    }
}

impl Drop for Wiping {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
        wipe_stacks(self.threads);
    }
}

/// Whether allocations of this thread are wiped.
#[must_use]
pub fn is_wiping() -> bool {
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Overwrites memory with zeros in a way that is not optimised away.
///
/// # Safety
/// So many bytes from there on may be written.
pub unsafe fn wipe(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. Assembly that may read what the pointer leads to keeps the
    // stores.
    unsafe {
        std::ptr::write_bytes(start, 0, bytes);
        std::arch::asm!("/* {0} */", in(reg) start, options(nostack, preserves_flags));
    }
}

/// Overwrites the dead part of the stacks of this thread and of the workers beside it.
pub fn wipe_stacks(threads: usize) {
    wipe_stack();
    if threads > 1
        && let Ok(pool) = pool::pool(threads)
    {
        pool.broadcast(|_| wipe_stack());
    }
}

#[inline(never)]
fn wipe_stack() {
    let mut room = [0u8; STACK_BYTES];
    // SAFETY: its own room.
    unsafe { wipe(room.as_mut_ptr(), STACK_BYTES) };
}
