//! Worker threads beside the one that calls: one pool per size, rebuilt after a fork (a child has
//! none of its parent's threads, and would wait for them forever).

use crate::RunError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

type Pools = HashMap<usize, Arc<ThreadPool>>;

static POOLS: Mutex<Option<(u32, Pools)>> = Mutex::new(None);

/// The workers that make so many threads together with the calling one; at least one.
///
/// # Errors
/// The system refuses to start them.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>, RunError> {
    let mut guard = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    let stale = guard.as_ref().is_some_and(|(owner, _)| *owner != process);
    if stale {
        // Dropping a parent's pool would join threads that do not exist here.
        std::mem::forget(guard.take());
    }
    let (_, pools) = guard.get_or_insert_with(|| (process, HashMap::new()));
    if let Some(pool) = pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.saturating_sub(1).max(1))
        .thread_name(|i| format!("cloakwork-{}", i + 1))
        .build()
        .map_err(|error| RunError::Threads {
            threads,
            reason: error.to_string(),
        })?;
    let pool = Arc::new(pool);
    pools.insert(threads, Arc::clone(&pool));
    Ok(pool)
}

/// How many threads to use where the caller does not say: one a core that this process may use.
#[must_use]
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
