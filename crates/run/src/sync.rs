//! Synchronisation primitives: those of the standard library, and Rayon's pool. `share` and
//! `schedule` import them only from here, so that `tests/models` can replace them by loom's and try
//! every interleaving of threads.

pub use rayon::ThreadPool;
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
pub use std::thread::{Thread, current};

use std::time::Duration;

/// Index of this thread in its pool.
pub fn worker() -> usize {
    rayon::current_thread_index().unwrap_or(0)
}

/// Number of polls before a thread sleeps.
pub const fn looks(count: u32) -> u32 {
    count
}

/// Called between two polls.
pub fn spin() {
    std::hint::spin_loop();
}

/// Sleeps until this thread is unparked, or for at most `most`.
pub fn nap(most: Duration) {
    std::thread::park_timeout(most);
}
