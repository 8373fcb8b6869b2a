//! Which threads may read mapped files: those of a call that asks at its end whether all that it
//! read was there, and worker threads, whose work is always such a call's.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// While it lives, reads of its thread are asked about. It stays with its thread.
#[must_use]
#[derive(Debug)]
pub struct Reading(PhantomData<*const ()>);

impl Reading {
    /// Begins.
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

/// Whether this thread's reads are watched. A signal handler may call it.
#[must_use]
#[inline]
pub fn is_reading() -> bool {
    DEPTH.get() > 0
}

/// For a thread that only works for calls of others, which ask.
pub(crate) fn reads_for_others() {
    DEPTH.set(1);
}
