//! Sharing pieces of work between the calling thread and the workers of a pool.
//!
//! The caller begins at once and takes pieces until none is left; a worker that wakes up in time
//! takes some of them. Nobody waits for a worker that has not begun, so that on a machine whose
//! cores are busy elsewhere the caller loses nothing but the calls that wake workers.

use rayon::ThreadPool;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
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

/// Waits for the pieces that somebody took.
struct Caller<'a>(&'a Job);

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let job = self.0;
        let taken = job.next.swap(job.pieces, Ordering::AcqRel).min(job.pieces);
        let done = || job.done.load(Ordering::Acquire) == taken;
        for _ in 0..LOOKS {
            if done() {
                return;
            }
            std::hint::spin_loop();
        }
        while !done() {
            std::thread::park_timeout(NAP);
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
        caller: std::thread::current(),
        panic: Mutex::default(),
    });
    for _ in 0..helpers.min(pieces.saturating_sub(1)) {
        let job = Arc::clone(&job);
        pool.spawn(move || job.work(rayon::current_thread_index().unwrap_or(0) + 1));
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

#[cfg(test)]
mod tests {
    use super::share;
    use rayon::ThreadPoolBuilder;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[test]
    fn every_piece_is_run_once_whoever_is_awake() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for pieces in [1, 2, 3, 50] {
            for round in 0..200 {
                let counts: Vec<AtomicU32> = (0..pieces).map(|_| AtomicU32::new(0)).collect();
                share(&pool, 3, pieces, &|piece, thread| {
                    assert!(thread <= 3);
                    counts[piece as usize].fetch_add(1, Ordering::Relaxed);
                    if round % 50 == 0 {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                });
                assert!(
                    counts
                        .iter()
                        .all(|count| count.load(Ordering::Relaxed) == 1)
                );
            }
        }
    }

    #[test]
    fn busy_workers_are_not_waited_for() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (release, held) = std::sync::mpsc::channel::<()>();
        pool.spawn(move || {
            let _ = held.recv();
        });
        let threads = Mutex::new(Vec::new());
        share(&pool, 1, 4, &|_, thread| {
            threads.lock().unwrap().push(thread)
        });
        assert_eq!(*threads.lock().unwrap(), [0; 4]);
        release.send(()).unwrap();
    }

    #[test]
    fn a_panic_of_a_worker_is_the_callers_when_all_is_done() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let begun = AtomicU32::new(0);
        let both = || {
            begun.fetch_add(1, Ordering::AcqRel);
            while begun.load(Ordering::Acquire) < 2 {
                std::hint::spin_loop();
            }
        };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            share(&pool, 1, 2, &|_, thread| {
                both();
                assert!(thread == 0, "the worker's mistake");
            });
        }));
        let payload = outcome.unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"the worker's mistake"));
        share(&pool, 1, 4, &|_, _| {});
    }

    #[test]
    fn a_panic_of_the_caller_waits_for_what_others_took() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let ended = AtomicU32::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            share(&pool, 1, 8, &|piece, thread| {
                std::thread::sleep(Duration::from_millis(2));
                ended.fetch_add(1, Ordering::Relaxed);
                assert!(piece < 4 || thread != 0, "the caller's mistake");
            });
        }));
        let before = ended.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(ended.load(Ordering::Relaxed), before, "{outcome:?}");
    }
}
