//! The synchronisation primitives of the sources, by loom.

pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};

use loom::thread::JoinHandle;
use std::cell::{Cell, RefCell};
use std::time::Duration;

loom::thread_local! {
    static WORKER: Cell<usize> = Cell::new(0);
    static OWN: Thread = Thread(Arc::new((Mutex::new(false), Condvar::new())));
}

/// A thread that can be woken. Loom's own `unpark` also wakes a thread that waits for a lock or a
/// join, and then fails; this one only ends `nap`.
#[derive(Clone)]
pub struct Thread(Arc<(Mutex<bool>, Condvar)>);

impl Thread {
    /// Ends this thread's nap, or the next one.
    pub fn unpark(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_one();
    }
}

/// This thread.
pub fn current() -> Thread {
    OWN.with(Clone::clone)
}

/// Index of this thread in its pool.
pub fn worker() -> usize {
    WORKER.with(Cell::get)
}

/// Each further poll doubles the number of interleavings.
pub const fn looks(_: u32) -> u32 {
    1
}

/// Called between two polls.
pub fn spin() {
    loom::thread::yield_now();
}

/// Sleeps until another thread unparks this one: time does not pass in a model.
pub fn nap(_: Duration) {
    let Thread(own) = current();
    let mut woken = own.0.lock().unwrap();
    while !*woken {
        woken = own.1.wait(woken).unwrap();
    }
    *woken = false;
}

/// A pool with a worker for each job.
pub struct ThreadPool(RefCell<Vec<JoinHandle<()>>>);

impl ThreadPool {
    pub fn new() -> Self {
        Self(RefCell::default())
    }

    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        let mut workers = self.0.borrow_mut();
        let number = workers.len();
        workers.push(loom::thread::spawn(move || {
            WORKER.with(|own| own.set(number));
            job();
        }));
    }

    /// Waits for all workers, so that no thread of a run is left.
    pub fn join(self) {
        for worker in self.0.into_inner() {
            worker.join().unwrap();
        }
    }
}
