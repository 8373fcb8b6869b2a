//! Start and end of each unit and its worker, recorded by workers during the run.

use crate::report::outcome::{Help, Profile, Span};
use cloakwork_plan::Plan;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

#[derive(Default)]
struct Noted {
    begun_ns: AtomicU64,
    ended_ns: AtomicU64,
    worker: AtomicU32,
}

/// The records of a run, one entry for each step; a fusion uses the entry of its first step.
pub struct Record {
    start: Instant,
    noted: Vec<Noted>,
    helps: Mutex<Vec<Help>>,
}

impl Record {
    pub fn new(start: Instant, steps: usize) -> Self {
        let noted = std::iter::repeat_with(Noted::default).take(steps).collect();
        Self {
            start,
            noted,
            helps: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    pub fn begin(&self, unit: u32, worker: usize) {
        if let Some(noted) = self.noted.get(unit as usize) {
            noted.begun_ns.store(self.now(), Ordering::Relaxed);
            noted.worker.store(worker as u32, Ordering::Relaxed);
        }
    }

    pub fn end(&self, unit: u32) {
        if let Some(noted) = self.noted.get(unit as usize) {
            noted.ended_ns.store(self.now(), Ordering::Relaxed);
        }
    }

    /// Records that a worker begins to help with a unit of another worker.
    pub fn helps(&self) -> u64 {
        self.now()
    }

    pub fn helped(&self, unit: u32, worker: usize, begun_ns: u64) {
        let help = Help {
            step: unit,
            worker: worker as u32,
            begun_ns,
            ended_ns: self.now(),
        };
        let mut helps = self.helps.lock().unwrap_or_else(PoisonError::into_inner);
        helps.push(help);
    }

    /// The complete profile.
    pub fn profile(self, plan: &Plan) -> Profile {
        let span = |noted: Noted| Span {
            begun_ns: noted.begun_ns.into_inner(),
            ended_ns: noted.ended_ns.into_inner(),
            worker: noted.worker.into_inner(),
        };
        let spans = self.noted.into_iter().map(span).collect();
        let helps = self
            .helps
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        Profile::apart(plan, spans, helps)
    }
}
