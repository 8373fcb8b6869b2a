//! Shares pieces of work between the calling thread and the workers of a pool.
//!
//! The caller begins at once and takes pieces until all are taken; a worker that wakes up in time
//! takes some of them. The caller never waits for a worker that has not begun. So on a machine with
//! busy cores it loses only the time of the wake-up calls.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, Thread, ThreadPool, current, looks, nap, spin, worker};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::time::Duration;

/// Runs a piece: arguments are its number, and the number of the thread, 0 for the caller.
pub type Piece<'a> = &'a (dyn Fn(u64, usize) + Sync);

/// Number of polls of the finished pieces before the caller sleeps: about a microsecond.
const LOOKS: u32 = 64;

/// A sleeping caller polls at this interval, in case a piece ended in a panic.
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

// SAFETY: any thread may call `run`, and only for a piece that it took; the caller waits until all
// taken pieces are done.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// Counts a piece as done, even if it ends in a panic.
struct Taken<'a>(&'a Job);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let before = self.0.done.fetch_add(1, Ordering::AcqRel);
        if before + 1 == self.0.pieces {
            self.0.caller.unpark();
        }
    }
}

/// Waits for the taken pieces.
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
    /// Runs pieces until all are taken.
    fn work(&self, thread: usize) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::AcqRel);
            if piece >= self.pieces {
                return;
            }
            let taken = Taken(self);
            // SAFETY: this thread has taken the piece, so the caller waits for it.
            let run = || unsafe { (*self.run)(piece, thread) };
            if thread == 0 {
                run();
            } else if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
                // A worker survives a panic: the panic is raised in the caller.
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
            }
            drop(taken);
        }
    }
}

/// Runs pieces `0 .. pieces`, each once, on the calling thread and on up to `helpers` workers that
/// wake up in time. Worker i of the pool is thread i + 1. A worker's panic is raised in the caller.
pub fn share(pool: &ThreadPool, helpers: u64, pieces: u64, run: Piece<'_>) {
    // SAFETY: the lifetime is erased, and enforced by `Caller`: it ends after the last call.
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
