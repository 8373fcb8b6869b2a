//! Worker threads beside the one that calls, for a run.

use crate::RunError;
use rayon::ThreadPool;
use std::sync::Arc;

/// The workers that make so many threads together with the calling one; at least one.
///
/// # Errors
/// The system refuses to start them.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>, RunError> {
    cloakwork_process::pool(threads).map_err(|error| RunError::Threads {
        threads,
        reason: error.to_string(),
    })
}
