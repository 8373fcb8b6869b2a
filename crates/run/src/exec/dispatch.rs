//! What the last eager call of a thread ran: which kernel was chosen, once for the whole call, and
//! how many threads it was given.

use cloakwork_kernels::KernelRow;
use std::cell::Cell;

/// A kernel that was called.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    /// The kernel.
    pub kernel: &'static str,
    /// Independent units of the launch: elements, rows or tiles.
    pub units: u64,
    /// Threads that it was given.
    pub threads: usize,
    /// Launches of this thread so far.
    pub launches: u64,
}

thread_local! {
    static LAST: Cell<Option<Dispatch>> = const { Cell::new(None) };
}

/// Notes a launch.
#[inline]
pub(crate) fn note(row: &'static KernelRow, units: u64, threads: usize) {
    LAST.with(|last| {
        let launches = last.get().map_or(0, |before| before.launches) + 1;
        last.set(Some(Dispatch {
            kernel: row.symbol,
            units,
            threads,
            launches,
        }));
    });
}

/// The last launch of this thread, if there was one.
#[must_use]
pub fn last_dispatch() -> Option<Dispatch> {
    LAST.with(Cell::get)
}
