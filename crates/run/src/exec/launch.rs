//! Runs one prepared launch, on one thread or several. The only module that calls kernels.

use crate::memory::Block;
use crate::share::share;
use cloakwork_kernels::{KernelRow, RawLaunch};
use cloakwork_plan::SPLIT_NS;
use rayon::ThreadPool;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest time between two checks for cancellation, in nanoseconds.
pub(crate) const STRETCH_NS: u64 = 50_000_000;

static SPLIT: AtomicU64 = AtomicU64::new(SPLIT_NS);

/// A launch of at least twice this time on one core is divided between threads.
#[inline]
#[must_use]
pub fn split_ns() -> u64 {
    SPLIT.load(Ordering::Relaxed)
}

/// Sets [`split_ns`] for runs that begin from now on. Results do not depend on it.
pub fn set_split_ns(ns: u64) {
    SPLIT.store(ns.max(1), Ordering::Relaxed);
}

/// Pieces of a launch for each thread, so that slow or late threads compute fewer of them.
pub(crate) const PIECES: u64 = 4;

/// The threads that run launches: the calling thread, alone or with the workers of a pool; and
/// scratch memory for each.
pub struct Workers<'a> {
    pool: Option<&'a ThreadPool>,
    threads: u64,
    scratch: &'a Block,
    scratch_bytes: usize,
    split_ns: u64,
}

impl<'a> Workers<'a> {
    /// Workers with one slot of scratch memory for each thread.
    pub fn new(pool: Option<&'a ThreadPool>, scratch: &'a Block, split_ns: u64) -> Self {
        let threads = pool.map_or(0, ThreadPool::current_num_threads) + 1;
        Self {
            pool,
            threads: threads as u64,
            scratch,
            scratch_bytes: scratch.len() / threads / 64 * 64,
            split_ns: split_ns.max(1),
        }
    }

    /// The scratch memory of a thread; thread 0 is the caller.
    pub fn slot(&self, thread: usize) -> *mut std::ffi::c_void {
        // SAFETY: each worker and the caller have a slot.
        unsafe { self.scratch.as_ptr().add(thread * self.scratch_bytes) }.cast()
    }

    /// Whether this much work is split over threads.
    pub fn share(&self, weight_ns: u64) -> bool {
        self.pool.is_some() && weight_ns >= self.split_ns
    }

    /// Runs all units of a launch. A long launch calls `go_on` between pieces; false stops it.
    ///
    /// # Safety
    /// Every operand of the launch is valid for its geometry, and no other thread touches the
    /// memory that it writes.
    pub unsafe fn run(
        &self,
        row: &KernelRow,
        launch: &RawLaunch,
        units: u64,
        weight_ns: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        // SAFETY: the caller's promise; parts are disjoint units.
        let run = |from, to, scratch| unsafe { row.run(launch, from, to, scratch) };
        self.each(units, weight_ns, &run, go_on)
    }

    /// Runs disjoint ranges of units, each with the scratch memory of its thread.
    pub fn each(
        &self,
        units: u64,
        weight_ns: u64,
        run: &(dyn Fn(u64, u64, *mut std::ffi::c_void) + Sync),
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        if weight_ns < self.split_ns {
            if units > 0 {
                run(0, units, self.scratch.as_ptr().cast());
            }
            return true;
        }
        if units == 0 {
            return true;
        }
        let parts = (weight_ns / self.split_ns)
            .min(self.threads)
            .min(units)
            .max(1);
        let stretches = (weight_ns / (STRETCH_NS * parts)).clamp(1, units);
        for stretch in 0..stretches {
            if stretch > 0 && !go_on() {
                return false;
            }
            let begin = boundary(units, stretch, stretches);
            let end = boundary(units, stretch + 1, stretches);
            match self.pool {
                Some(pool) if parts > 1 => {
                    let pieces = (parts * PIECES).min(end - begin);
                    share(pool, parts - 1, pieces, &|piece, thread| {
                        let from = begin + boundary(end - begin, piece, pieces);
                        let to = begin + boundary(end - begin, piece + 1, pieces);
                        run(from, to, self.slot(thread));
                    });
                }
                _ => run(begin, end, self.scratch.as_ptr().cast()),
            }
        }
        true
    }
}

/// The first unit of part `part` of `parts`: even parts, whose boundaries lie on cache lines of
/// elements if there are many units.
pub(crate) fn boundary(units: u64, part: u64, parts: u64) -> u64 {
    if part == parts {
        return units;
    }
    let exact = (u128::from(units) * u128::from(part) / u128::from(parts)) as u64;
    if units / parts >= 1024 {
        exact / 64 * 64
    } else {
        exact
    }
}

#[cfg(test)]
mod tests {
    use super::boundary;

    #[test]
    fn parts_cover_all_units_once() {
        for units in [1, 2, 3, 63, 1000, 4096, 1_000_003] {
            for parts in 1..=units.min(7) {
                let edges: Vec<u64> = (0..=parts).map(|p| boundary(units, p, parts)).collect();
                assert_eq!((edges[0], edges[parts as usize]), (0, units));
                assert!(edges.windows(2).all(|w| w[0] <= w[1]));
            }
        }
    }
}
