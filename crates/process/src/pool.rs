//! Worker threads beside the calling thread: one pool for each size. The child of a fork has none
//! of its parent's threads and would wait for them forever, so it creates its own pools.

use crate::fork::generation;
use crate::lock::Mutex;
use crate::reading::reads_for_others;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The pools of a process, by number of threads including the calling one.
struct Pools {
    generation: u64,
    by_threads: HashMap<usize, Arc<ThreadPool>>,
}

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// The system did not start the threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolError(String);

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PoolError {}

/// A pool that has `threads` threads together with the calling one; at least one worker.
///
/// # Errors
/// The system does not start them.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>, PoolError> {
    let mut guard = POOLS.lock();
    let now = generation();
    if guard.as_ref().is_some_and(|pools| pools.generation != now) {
        // Dropping a parent's pool would wait for threads that do not exist here.
        std::mem::forget(guard.take());
    }
    let pools = guard.get_or_insert_with(|| Pools {
        generation: now,
        by_threads: HashMap::new(),
    });
    if let Some(pool) = pools.by_threads.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.saturating_sub(1).max(1))
        .thread_name(|i| format!("cloakwork-{}", i + 1))
        .start_handler(|_| reads_for_others())
        .build()
        .map_err(|error| PoolError(error.to_string()))?;
    let pool = Arc::new(pool);
    pools.by_threads.insert(threads, Arc::clone(&pool));
    Ok(pool)
}

/// The default number of threads: one for each core that this process may use.
#[must_use]
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A pool with one worker for each core. Code inside its `install` runs rayon's work on these
/// workers, and not on rayon's own pool, for which a forked child would wait.
///
/// # Errors
/// As [`pool`].
pub fn workers() -> Result<Arc<ThreadPool>, PoolError> {
    pool(default_threads() + 1)
}

/// Applies a function to each item on all cores; the results keep the items' order.
pub fn map<T: Send, R: Send>(items: Vec<T>, make: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    match workers() {
        Ok(workers) if items.len() > 1 => {
            workers.install(|| items.into_par_iter().map(make).collect())
        }
        // If the system starts no threads, the caller does the work.
        _ => items.into_iter().map(make).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{map, pool};
    use std::sync::Arc;

    #[test]
    fn items_keep_their_order() {
        let squares = map((0..1000u64).collect(), |x| x * x);
        assert!((0u64..).zip(squares).all(|(x, square)| square == x * x));
        assert!(map(Vec::<u8>::new(), |x| x).is_empty());
    }

    #[test]
    fn a_size_has_one_pool() {
        let (one, same) = (pool(3), pool(3));
        assert!(matches!((one, same), (Ok(a), Ok(b)) if Arc::ptr_eq(&a, &b)));
        assert!(pool(3).is_ok_and(|pool| pool.current_num_threads() == 2));
    }
}
