//! The threads that may read mapped files: those of a call that checks at its end whether all reads
//! succeeded, and worker threads, which only work for such calls.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// While a value of this type lives, reads of its thread are checked. It is not `Send`.
#[must_use]
#[derive(Debug)]
pub struct Reading(PhantomData<*const ()>);

impl Reading {
    /// Begins a section of reads.
    #[inline]
    pub fn start() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self(PhantomData)
    }
}

impl Drop for Reading {
    #[inline]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Whether this thread's reads are checked. A signal handler may call it.
#[must_use]
#[inline]
pub fn is_reading() -> bool {
    DEPTH.get() > 0
}

/// Marks a thread that works only for calls that check their reads.
pub(crate) fn reads_for_others() {
    DEPTH.set(1);
}
