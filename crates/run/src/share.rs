//! Sharing pieces of work between the calling thread and the workers of a pool.
//!
//! The caller begins at once and takes pieces until none is left; a worker that wakes up in time
//! takes some of them. Nobody waits for a worker that has not begun, so that on a machine whose
//! cores are busy elsewhere the caller loses nothing but the calls that wake workers.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, Thread, ThreadPool, current, looks, nap, spin, worker};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::time::Duration;

/// What runs a piece: its number, and the number of the thread, 0 for the caller.
pub type Piece<'a> = &'a (dyn Fn(u64, usize) + Sync);

/// Looks at the count of finished pieces before the caller goes to sleep: about a microsecond.
const LOOKS: u32 = 64;

/// A sleeping caller looks now and then, in case a piece ended in a panic.
const NAP: Duration = Duration::from_millis(1);

struct Job {
    run: *const (dyn Fn(u64, usize) + Sync),
    pieces: u64,
    next: AtomicU64,
    done: AtomicU64,
    caller: Thread,
    /// A worker's panic, for the caller.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `run` may be called from any thread, and only for a piece that was taken; the caller
// stays until all of those are done.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// Counts a piece as done, also if it ends in a panic.
struct Taken<'a>(&'a Job);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let before = self.0.done.fetch_add(1, Ordering::AcqRel);
        if before + 1 == self.0.pieces {
            self.0.caller.unpark();
        }
    }
}

/// Waits for the pieces that were taken.
struct Caller<'a>(&'a Job);

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let job = self.0;
        let taken = job.next.swap(job.pieces, Ordering::AcqRel).min(job.pieces);
        let done = || job.done.load(Ordering::Acquire) == taken;
        for _ in 0..looks(LOOKS) {
            if done() {
                return;
            }
            spin();
        }
        while !done() {
            nap(NAP);
        }
    }
}

impl Job {
    /// Takes pieces until none is left.
    fn work(&self, thread: usize) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::AcqRel);
            if piece >= self.pieces {
                return;
            }
            let taken = Taken(self);
            // SAFETY: the piece was there to take, so that the caller waits for it.
            let run = || unsafe { (*self.run)(piece, thread) };
            if thread == 0 {
                run();
            } else if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
                // A worker lives on after a panic: that is the caller's.
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
            }
            drop(taken);
        }
    }
}

/// Runs pieces `0 .. pieces`, each once, on the calling thread and on those of up to `helpers`
/// workers that are there in time. Worker i of the pool is thread i + 1. A worker's panic becomes
/// the caller's.
pub fn share(pool: &ThreadPool, helpers: u64, pieces: u64, run: Piece<'_>) {
    // SAFETY: the lifetime is left out, and kept by `Caller`: it ends after the last call.
    let run: Piece<'static> = unsafe { std::mem::transmute::<Piece<'_>, Piece<'static>>(run) };
    let job = Arc::new(Job {
        run: std::ptr::from_ref(run),
        pieces,
        next: AtomicU64::new(0),
        done: AtomicU64::new(0),
        caller: current(),
        panic: Mutex::new(None),
    });
    for _ in 0..helpers.min(pieces.saturating_sub(1)) {
        let job = Arc::clone(&job);
        pool.spawn(move || job.work(worker() + 1));
    }
    let caller = Caller(&job);
    caller.0.work(0);
    drop(caller);
    let panic = job
        .panic
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}
