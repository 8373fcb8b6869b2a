//! Asks the caller at regular intervals whether to continue, however long steps take.

use crate::report::outcome::Progress;
use std::time::{Duration, Instant};

/// Short steps between two readings of the clock.
const STEPS_PER_LOOK: u32 = 4096;
/// This much estimated work counts as one more step.
pub const STEP_NS: u64 = 1024;

/// Reports the progress of a run to the caller.
pub struct Clock<'a> {
    total: usize,
    every: Duration,
    tick: &'a mut dyn FnMut(Progress) -> bool,
    last: Instant,
    since_look: u32,
}

impl<'a> Clock<'a> {
    pub fn new(
        total: usize,
        (start, every): (Instant, Duration),
        tick: &'a mut dyn FnMut(Progress) -> bool,
    ) -> Self {
        Self {
            total,
            every,
            tick,
            last: start,
            since_look: 0,
        }
    }

    /// Called before a step; reads the clock only once in many steps. Returns false if the caller
    /// cancels.
    pub fn step(&mut self, done: usize, weight_ns: u32) -> bool {
        self.since_look = self
            .since_look
            .saturating_add(1 + weight_ns / STEP_NS as u32);
        if self.since_look < STEPS_PER_LOOK {
            return true;
        }
        self.since_look = 0;
        self.look(done)
    }

    /// Asks the caller if the interval is over. Returns false if the caller cancels.
    pub fn look(&mut self, done: usize) -> bool {
        if self.last.elapsed() < self.every {
            return true;
        }
        self.last = Instant::now();
        (self.tick)(Progress {
            done,
            total: self.total,
        })
    }

    /// The time left until the caller must be asked again.
    pub fn rest(&self) -> Duration {
        self.every.saturating_sub(self.last.elapsed())
    }

    pub fn finish(&mut self) {
        (self.tick)(Progress {
            done: self.total,
            total: self.total,
        });
    }
}
