//! An open device: its GPU, and the queues that are open on it.

use super::api::Failure;
use super::gpu::Gpu;
use super::timeline::{Timeline, Why};
use cloakwork_process::Mutex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Events are numbers of a queue and of its events.
const EVENT_BITS: u32 = 40;

/// The number of an event outside of its queue.
pub fn event_of(queue: u64, number: u64) -> u64 {
    (queue << EVENT_BITS) | number
}

/// The queue of an event, and its number there.
pub fn parts_of(event: u64) -> (u64, u64) {
    (event >> EVENT_BITS, event & ((1 << EVENT_BITS) - 1))
}

/// An open device.
pub struct Device {
    pub gpu: Arc<Gpu>,
    queues: Mutex<BTreeMap<u64, Arc<Timeline>>>,
    /// The first event behind the failure of each queue that is closed and had failed, and why.
    closed: Mutex<BTreeMap<u64, (u64, Why)>>,
    last: AtomicU64,
}

impl Device {
    /// # Errors
    /// Why the GPU cannot be used.
    pub fn open(index: u32) -> Result<Self, String> {
        Ok(Self {
            gpu: Gpu::open(index)?,
            queues: Mutex::default(),
            closed: Mutex::default(),
            last: AtomicU64::new(0),
        })
    }

    /// Gives a queue its number.
    pub fn add(&self, timeline: &Arc<Timeline>) -> u64 {
        let number = 1 + self.last.fetch_add(1, Ordering::Relaxed);
        self.queues.lock().insert(number, Arc::clone(timeline));
        number
    }

    /// A queue goes. Everything in it has happened.
    pub fn remove(&self, number: u64) {
        let Some(timeline) = self.queues.lock().remove(&number) else {
            return;
        };
        if let Some(failed) = timeline.first_failed() {
            self.closed.lock().insert(number, failed);
        }
    }

    /// An open queue.
    pub fn timeline(&self, number: u64) -> Option<Arc<Timeline>> {
        self.queues.lock().get(&number).cloned()
    }

    /// Why a closed queue failed before an event, if it did.
    pub fn closed(&self, (queue, event): (u64, u64)) -> Option<Why> {
        let closed = self.closed.lock();
        let failed = closed.get(&queue).filter(|(first, _)| *first <= event);
        failed.map(|(_, why)| why.clone())
    }

    fn all(&self) -> Vec<Arc<Timeline>> {
        self.queues.lock().values().cloned().collect()
    }

    /// Lands what GPUs are past, of all queues: an event of one may say that of another. The
    /// context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn land_done(&self) -> Result<(), Failure> {
        let mut all = self.all().into_iter();
        all.try_for_each(|timeline| {
            timeline.land(|ring, gpu, failed| ring.retire_done(gpu, failed))
        })
    }

    /// Waits for what lands in these bytes of the host, and lands it. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn land_over(&self, host: &Range<usize>) -> Result<(), Failure> {
        let mut all = self.all().into_iter();
        all.try_for_each(|timeline| {
            timeline.land(|ring, gpu, failed| ring.retire_over(gpu, host, failed))
        })
    }
}

thread_local! {
    /// The words of the last error that a call of this thread had.
    static WORDS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps words for `reason`.
pub fn say(words: String) {
    WORDS.with(|last| *last.borrow_mut() = words);
}

/// The words of this thread's last error.
pub fn said() -> String {
    WORDS.with(|last| last.borrow().clone())
}
