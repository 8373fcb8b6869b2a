//! The events of a queue, and whether it has failed: the part of a queue that other queues and
//! threads see.

use super::api::{Event, Failure, Stream};
use super::gpu::Gpu;
use super::ring::Ring;
use super::state::Slot;
use crate::abi::FailedCheck;
use cloakwork_process::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Why a queue failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The driver's error.
    Failed(Failure),
    /// A check found wrong contents.
    Check(FailedCheck),
}

impl From<Failure> for Why {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// An event that may not have happened yet.
#[derive(Clone, Copy)]
pub struct Pending {
    pub number: u64,
    pub event: Event,
    /// A check that the host has not heard of comes before it.
    pub is_suspect: bool,
}

/// The events of a queue, as far as the host knows them.
#[derive(Default)]
struct Events {
    recorded: u64,
    happened: u64,
    pending: VecDeque<Pending>,
    /// The events that were recorded before the last check.
    checked: Option<u64>,
    /// A failure that the host knows: the first event that tells it.
    failure: Option<(u64, Why)>,
}

// SAFETY: handles, which any thread may give to the driver.
unsafe impl Send for Events {}

impl Events {
    fn is_suspect(&self) -> bool {
        self.checked
            .is_some_and(|recorded| self.happened <= recorded)
    }

    fn happens(&mut self, number: u64, gpu: &Gpu) {
        let count = self
            .pending
            .partition_point(|pending| pending.number <= number);
        let past = self.pending.drain(..count);
        past.for_each(|pending| gpu.give_event_back(pending.event));
        self.happened = self.happened.max(number);
    }
}

/// The events of a queue. The last one who holds it gives up what it has of the GPU.
pub struct Timeline {
    gpu: Arc<Gpu>,
    pub slot: Slot,
    events: Mutex<Events>,
    pub ring: Mutex<Ring>,
}

impl Timeline {
    pub fn new(gpu: Arc<Gpu>, slot: Slot) -> Self {
        Self {
            gpu,
            slot,
            events: Mutex::default(),
            ring: Mutex::default(),
        }
    }

    /// The number of the next event.
    pub fn next(&self) -> u64 {
        self.events.lock().recorded + 1
    }

    /// Records an event in the queue's stream. The context is current.
    pub fn record(&self, stream: Stream) -> Result<u64, Failure> {
        let mut events = self.events.lock();
        // Those that happened meanwhile serve again.
        while let Some(first) = events.pending.front() {
            // SAFETY: the event is this context's.
            if unsafe { self.gpu.api.query_event(first.event) }.is_err() {
                break;
            }
            let number = first.number;
            events.happens(number, &self.gpu);
        }
        let event = self.gpu.event()?;
        let number = events.recorded + 1;
        // SAFETY: the event and the stream are this context's.
        let recorded = unsafe { self.gpu.api.record_event(event, stream) };
        if let Err(failure) = recorded {
            self.gpu.give_event_back(event);
            return Err(failure);
        }
        events.recorded = number;
        let is_suspect = events.is_suspect();
        events.pending.push_back(Pending {
            number,
            event,
            is_suspect,
        });
        Ok(number)
    }

    /// A number for an event where the driver records none any more: it has happened.
    pub fn record_nothing(&self) -> u64 {
        let mut events = self.events.lock();
        events.recorded += 1;
        events.recorded
    }

    /// The event, unless it has happened as far as the host knows.
    pub fn pending(&self, number: u64) -> Option<Pending> {
        let events = self.events.lock();
        let mut found = events.pending.iter();
        found.find(|pending| pending.number == number).copied()
    }

    /// Does something with an event that may not have happened, which cannot be recorded again
    /// meanwhile. None if it has happened.
    pub fn with_pending<T>(&self, number: u64, act: impl FnOnce(Pending) -> T) -> Option<T> {
        let events = self.events.lock();
        let mut found = events.pending.iter();
        let found = found.find(|pending| pending.number == number).copied();
        found.map(act)
    }

    /// The thread that waited says that an event has happened.
    pub fn happens(&self, number: u64) {
        self.events.lock().happens(number, &self.gpu);
    }

    /// From here on work of the queue is done only where its check holds.
    pub fn checks(&self) {
        let mut events = self.events.lock();
        events.checked = Some(events.recorded);
    }

    /// Whether the queue may have failed and the host not have heard of it.
    pub fn is_suspect(&self) -> bool {
        self.events.lock().is_suspect()
    }

    /// From now on the queue does nothing.
    pub fn fail(&self, why: Why) {
        let recorded = self.events.lock().recorded;
        self.fail_before(recorded + 1, why);
    }

    /// As [`Self::fail`], for an error that is found out late: events from this one on tell it.
    pub fn fail_before(&self, event: u64, why: Why) {
        let mut events = self.events.lock();
        let known = events.failure.as_ref().map(|(first, _)| *first);
        if known.is_none_or(|first| event < first) {
            events.failure = Some((event, why));
        }
    }

    /// Why the queue failed before an event, if it did, as far as the host knows: the event has
    /// happened.
    pub fn failed_before(&self, event: u64) -> Option<Why> {
        let mirror = self.slot.mirror();
        let failed = mirror.failed.load(Ordering::Acquire);
        if failed != 0 && failed <= event {
            return Some(Why::Check(FailedCheck {
                check: mirror.check.load(Ordering::Relaxed),
                status: mirror.status.load(Ordering::Relaxed),
            }));
        }
        let events = self.events.lock();
        let found = events.failure.as_ref();
        found
            .filter(|(first, _)| *first <= event)
            .map(|(_, why)| why.clone())
    }

    /// Whether the host knows that the queue failed.
    pub fn has_failed(&self) -> bool {
        self.slot.mirror().failed.load(Ordering::Acquire) != 0
            || self.events.lock().failure.is_some()
    }

    /// The first event behind the queue's failure, and why it failed.
    pub fn first_failed(&self) -> Option<(u64, Why)> {
        let failed = self.slot.mirror().failed.load(Ordering::Acquire);
        let known = self.events.lock().failure.clone();
        match known {
            Some(known) if failed == 0 || known.0 < failed => Some(known),
            _ if failed == 0 => None,
            _ => self.failed_before(failed).map(|why| (failed, why)),
        }
    }

    /// Lands downloads by a method of the ring. The context is current.
    pub fn land(
        &self,
        retire: impl FnOnce(&mut Ring, &Gpu, &dyn Fn(u64) -> bool) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let failed = |next| self.failed_before(next).is_some();
        let mut ring = self.ring.lock();
        let done = retire(&mut ring, &self.gpu, &failed);
        let lost = ring.take_lost();
        drop(ring);
        if let (Err(failure), Some(next)) = (&done, lost) {
            self.fail_before(next, failure.clone().into());
        }
        done
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        let Ok(_current) = self.gpu.enter() else {
            return;
        };
        self.ring.lock().close(&self.gpu);
        let pending = std::mem::take(&mut self.events.lock().pending);
        let pending = pending.into_iter();
        pending.for_each(|pending| self.gpu.give_event_back(pending.event));
        self.gpu.slots.give_back(self.slot);
    }
}
