//! Runs that leave no data in memory: blocks that they allocate are overwritten before release, and
//! so are the arena and the stacks of threads that ran kernels.

use crate::exec::pool;
use std::cell::Cell;
use std::marker::PhantomData;

/// More than the stack frames of any kernel and its callers.
const STACK_BYTES: usize = 256 << 10;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While a value of this type lives, blocks that its thread allocates are wiped on release.
pub struct Wiping {
    threads: usize,
    /// It applies to one thread, so it is not `Send`.
    _here: PhantomData<*const ()>,
}

impl Wiping {
    /// Begins wiping for calls on this many threads.
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
/// `bytes` bytes from `start` on may be written.
pub unsafe fn wipe(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. The empty assembly may read the memory, so the compiler keeps
    // the stores.
    unsafe {
        std::ptr::write_bytes(start, 0, bytes);
        std::arch::asm!("/* {0} */", in(reg) start, options(nostack, preserves_flags));
    }
}

/// Overwrites the unused part of the stacks of this thread and of the workers beside it.
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
    // SAFETY: the function's own array.
    unsafe { wipe(room.as_mut_ptr(), STACK_BYTES) };
}
