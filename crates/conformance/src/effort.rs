//! The effort of a case: processor time, so that a seed tries the same calls on a busy machine.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A device may compute elsewhere: there a case counts as long after so many times the limit.
const ELSEWHERE: u32 = 8;

/// The effort since a moment.
pub struct Effort {
    begun: Instant,
    used: Duration,
}

impl Effort {
    pub fn begin() -> Self {
        Self {
            begun: Instant::now(),
            used: used(),
        }
    }

    /// Whether the process computed longer, or the case took a multiple of the limit.
    pub fn exceeds(&self, limit: Duration) -> bool {
        used().saturating_sub(self.used) > limit || self.begun.elapsed() > limit * ELSEWHERE
    }
}

/// The processor time of all threads of the process.
fn used() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
