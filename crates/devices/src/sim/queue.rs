//! Queues: a thread each, which does in order what it is given.

use super::delays::{Delays, asked};
use crate::abi::FailedCheck;
use crate::memory::Memory;
use std::collections::HashMap;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// One command in so many is late.
const LATE: u64 = 4;
/// More than the stack frames of any kernel and its callers.
const STACK_BYTES: usize = 256 << 10;
/// The longest delay.
const MOST_LATE_US: u64 = 200;

/// State that a queue and its device share with their threads.
#[derive(Default)]
pub struct Shared {
    pub memory: Mutex<Memory>,
    pub state: Mutex<State>,
    pub changed: Condvar,
}

/// Events and errors of a device so far.
#[derive(Default)]
pub struct State {
    /// Queues so far.
    pub queues: u64,
    /// The last event of each queue that has happened.
    pub happened: HashMap<u64, u64>,
    /// The error of each queue that failed.
    pub failed: HashMap<u64, Failure>,
    /// The last words for `reason`.
    pub words: String,
}

/// The error of a queue.
#[derive(Clone)]
pub struct Failure {
    /// Events up to this one happened before.
    after: u64,
    pub why: Why,
}

/// Why a queue failed.
#[derive(Clone)]
pub enum Why {
    Words(String),
    Check(FailedCheck),
}

impl From<String> for Why {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl State {
    fn happened(&self, queue: u64) -> u64 {
        self.happened.get(&queue).copied().unwrap_or(0)
    }

    /// Why a queue failed before an event, if it did.
    fn failed_before(&self, queue: u64, event: u64) -> Option<&Why> {
        let failure = self.failed.get(&queue)?;
        (failure.after < event).then_some(&failure.why)
    }

    /// From now on a queue does nothing.
    fn fail(&mut self, queue: u64, why: Why) {
        let after = self.happened(queue);
        self.failed.entry(queue).or_insert(Failure { after, why });
    }
}

/// Locks what no holder can leave half done.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The work of a command, which decides its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The number of launches, and of elements that they visit.
    Launches(u32, u64),
    Transfer,
    Other,
}

/// A command of a queue.
pub type Command = Box<dyn FnOnce(&Shared) -> Result<(), Why> + Send>;

/// A message to the thread of a queue.
enum Message {
    Do(Kind, Command),
    Happens(u64),
    WaitFor(u64, u64),
}

/// A queue: its number, and the way to its thread.
pub struct Queue {
    pub shared: Arc<Shared>,
    number: u64,
    recorded: u64,
    sender: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
}

/// Events are numbers of a queue and of its events.
const EVENT_BITS: u32 = 40;

impl Queue {
    pub fn new(shared: Arc<Shared>) -> Self {
        let number = {
            let mut state = lock(&shared.state);
            state.queues += 1;
            state.queues
        };
        let (sender, receiver) = channel();
        let own = Arc::clone(&shared);
        let thread = spawn(move || serve(&own, number, &receiver));
        Self {
            shared,
            number,
            recorded: 0,
            sender: Some(sender),
            thread: Some(thread),
        }
    }

    fn send(&self, message: Message) {
        if let Some(sender) = &self.sender {
            // The thread ends when the sender is gone, not before.
            let _ = sender.send(message);
        }
    }

    pub fn push(&self, kind: Kind, command: Command) {
        self.send(Message::Do(kind, command));
    }

    pub fn record(&mut self) -> u64 {
        self.recorded += 1;
        self.send(Message::Happens(self.recorded));
        (self.number << EVENT_BITS) | self.recorded
    }

    pub fn wait(&self, event: u64) {
        let mask = (1 << EVENT_BITS) - 1;
        self.send(Message::WaitFor(event >> EVENT_BITS, event & mask));
    }

    /// Waits for an own event.
    ///
    /// # Errors
    /// What failed before it.
    pub fn finish(&self, event: u64) -> Result<(), Why> {
        let wanted = event & ((1 << EVENT_BITS) - 1);
        let mut state = lock(&self.shared.state);
        while state.happened(self.number) < wanted {
            let waited = self.shared.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match state.failed_before(self.number, wanted).cloned() {
            Some(why) => {
                if let Why::Words(words) = &why {
                    state.words.clone_from(words);
                }
                Err(why)
            }
            None => Ok(()),
        }
    }

    /// The check at which it failed, if it did at one.
    pub fn failed_check(&self) -> Option<FailedCheck> {
        match &lock(&self.shared.state).failed.get(&self.number)?.why {
            Why::Check(failed) => Some(*failed),
            Why::Words(_) => None,
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do.
            let _ = thread.join();
        }
    }
}

/// The number after one in a random sequence.
pub fn next(mut random: u64) -> u64 {
    random ^= random << 13;
    random ^= random >> 7;
    random ^ (random << 17)
}

impl Kind {
    fn takes(self, delays: &Delays) -> Duration {
        match self {
            Self::Launches(count, elements) => delays.of_launches(count, elements),
            Self::Transfer => delays.transfer,
            Self::Other => Duration::ZERO,
        }
    }
}

/// Overwrites what commands left on the stack of this thread.
#[inline(never)]
fn wipe_stack() {
    black_box(&mut [0u8; STACK_BYTES]);
}

fn serve(shared: &Shared, number: u64, receiver: &Receiver<Message>) {
    // A device whose delays cannot be read does not open.
    let delays = asked().ok().and_then(|asked| asked.delays);
    let mut random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    while let Ok(message) = receiver.recv() {
        random = next(random);
        if delays.is_none() && random.is_multiple_of(LATE) {
            sleep(Duration::from_micros((random >> 32) % MOST_LATE_US));
        }
        match message {
            Message::Do(kind, command) => {
                if lock(&shared.state).failed.contains_key(&number) {
                    continue;
                }
                let begun = Instant::now();
                let done = catch_unwind(AssertUnwindSafe(|| command(shared)));
                let done = done.unwrap_or_else(|_| Err("a kernel panicked".to_owned().into()));
                let takes = delays.map_or(Duration::ZERO, |delays| kind.takes(&delays));
                sleep(takes.saturating_sub(begun.elapsed()));
                if let Err(why) = done {
                    lock(&shared.state).fail(number, why);
                }
            }
            Message::Happens(event) => {
                // Before the host goes on: keys and random elements may be among it.
                wipe_stack();
                lock(&shared.state).happened.insert(number, event);
                shared.changed.notify_all();
            }
            Message::WaitFor(queue, event) => {
                let mut state = lock(&shared.state);
                while state.happened(queue) < event {
                    let waited = shared.changed.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
                // The step was not computed: no later step may run.
                if let Some(why) = state.failed_before(queue, event).cloned() {
                    state.fail(number, why);
                }
            }
        }
    }
    wipe_stack();
}
