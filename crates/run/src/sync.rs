//! What threads share work by: the standard library's parts and Rayon's pool. `share` and
//! `schedule` take them from here alone, so that `tests/models` can put loom's in their place and
//! try every order in which threads may run.

pub use rayon::ThreadPool;
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
pub use std::thread::{Thread, current};

use std::time::Duration;

/// Where this thread stands among the workers of its pool.
pub fn worker() -> usize {
    rayon::current_thread_index().unwrap_or(0)
}

/// How often to look before going to sleep.
pub const fn looks(count: u32) -> u32 {
    count
}

/// Between two looks.
pub fn spin() {
    std::hint::spin_loop();
}

/// Sleeps until this thread is unparked, or for so long.
pub fn nap(most: Duration) {
    std::thread::park_timeout(most);
}
