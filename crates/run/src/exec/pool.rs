//! Worker threads of a run, beside the calling thread.

use crate::RunError;
use rayon::ThreadPool;
use std::sync::Arc;

/// A pool that has `threads` threads together with the calling one; at least one worker.
///
/// # Errors
/// The system does not start them.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>, RunError> {
    cloakwork_process::pool(threads).map_err(|error| RunError::Threads {
        threads,
        reason: error.to_string(),
    })
}
