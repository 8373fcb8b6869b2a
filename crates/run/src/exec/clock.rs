//! Asking the caller at a steady pace whether to continue, independent of the length of steps.

use crate::report::outcome::Progress;
use std::time::{Duration, Instant};

/// Steps between two looks at the clock, where steps are short.
const STEPS_PER_LOOK: u32 = 4096;
/// So much work counts as a step more.
pub const STEP_NS: u64 = 1024;

/// Tells the caller of a run how far it is.
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

    /// Before a step: looks at the clock only now and then. False if the caller wants to stop.
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

    /// Asks the caller, if it is time. False if the caller wants to stop.
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

    /// How long the caller can wait before it must be asked again.
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
