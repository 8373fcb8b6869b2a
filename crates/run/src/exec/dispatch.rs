//! The last kernel launch of a thread's eager calls: the kernel, chosen once for the whole call,
//! and the number of threads.

use super::measured;
use cloakwork_kernels::KernelRow;
use std::cell::Cell;

/// A kernel launch.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    /// The kernel.
    pub kernel: &'static str,
    /// Independent units of the launch: elements, rows or tiles.
    pub units: u64,
    /// Number of threads that could share it.
    pub threads: usize,
    /// Launches of this thread so far.
    pub launches: u64,
}

thread_local! {
    static LAST: Cell<Option<Dispatch>> = const { Cell::new(None) };
}

/// Runs a launch, which is recorded, and measured where this thread's calls are.
#[inline]
pub(crate) fn launched<T>(
    row: &'static KernelRow,
    units: u64,
    threads: usize,
    bytes: impl FnOnce() -> u64,
    run: impl FnOnce() -> T,
) -> T {
    note(row, units, threads);
    match measured::is_measured() {
        true => measured::kernel(row, threads, bytes(), run),
        false => run(),
    }
}

#[inline]
fn note(row: &'static KernelRow, units: u64, threads: usize) {
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
