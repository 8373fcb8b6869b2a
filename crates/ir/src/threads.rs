//! Programs of several threads: their facts beside the steps. Nothing here is checked.
//!
//! Steps of all threads stand one after another in [`crate::Program::steps`], those of the main
//! thread first. Names stand for registers: a register is defined once in a lifetime, and whoever
//! allocated must free.

use crate::{Repr, Symbol, Text};
use std::ops::Range;

/// A step that only programs of several threads have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threaded {
    /// A thread begins.
    Fork(Text),
    /// Waits for a thread's end.
    Join(Text),
    /// An event happens: here, or when the stream gets here.
    Record {
        /// The event.
        event: Text,
        /// The stream.
        stream: Option<Text>,
    },
    /// The thread, or the stream, goes on after the event.
    Wait {
        /// The event.
        event: Text,
        /// The stream.
        stream: Option<Text>,
    },
    /// A register takes over the contents of another, which is empty then.
    Move {
        /// The other.
        from: Symbol,
        /// The register.
        to: Symbol,
    },
    /// A register of a view is given up; the memory stays.
    Forget(Symbol),
    /// The contents of this register are unknown from here on: its definition cannot be read.
    Unknown(Symbol),
    /// The effect on this register and its memory is unknown: the entry that names it cannot
    /// be read.
    Doubt(Symbol),
}

impl Threaded {
    /// The word that the text form begins with.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fork(_) => "fork",
            Self::Join(_) => "join",
            Self::Record { .. } => "record",
            Self::Wait { .. } => "wait",
            Self::Move { .. } => "move",
            Self::Forget(_) => "forget",
            Self::Unknown(_) => "unknown",
            Self::Doubt(_) => "doubt",
        }
    }
}

/// A thread: its name and its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its name.
    pub name: Text,
    /// Its steps.
    pub steps: Range<u32>,
}

/// An event, which happens once a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: Text,
    /// The device whose streams record it; none for an event of threads.
    pub device: Option<Text>,
}

/// A queue of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Its name.
    pub name: Text,
    /// Its device.
    pub device: Text,
}

/// A place in a pool, of a program that plans its memory itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The pool.
    pub pool: Text,
    /// Bytes from its start.
    pub offset: u64,
}

/// Notes on a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The stream that it is queued on.
    pub stream: Option<Text>,
    /// The device on which it allocates.
    pub device: Option<Text>,
    /// The place that the program itself gives to its allocation.
    pub place: Option<Place>,
    /// The form of the polynomial that it makes, or that it demands of its operand.
    pub repr: Option<Repr>,
    /// The instruction that it comes from, as messages name it.
    pub label: Option<Text>,
    /// The instruction as its program writes it; none where steps are the program.
    pub op: Option<Text>,
    /// Where the instruction was written: a file and a line.
    pub written: Option<Text>,
    /// The message where the assertion of the step does not hold.
    pub message: Option<Text>,
}

/// The notes on each step; steps behind the last one with a note have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// The notes on a step.
    #[must_use]
    pub fn of(&self, step: u32) -> Note {
        self.0.get(step as usize).copied().unwrap_or_default()
    }

    /// Says something of a step.
    pub fn say(&mut self, step: u32, note: Note) {
        let place = step as usize;
        if note == Note::default() && place >= self.0.len() {
            return;
        }
        if place >= self.0.len() {
            self.0.resize(place + 1, Note::default());
        }
        if let Some(known) = self.0.get_mut(place) {
            *known = note;
        }
    }
}

/// Threads, events, streams, and where steps stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// The main thread, then the others, in the order of their steps.
    pub threads: Vec<Thread>,
    /// All events.
    pub events: Vec<Event>,
    /// All streams.
    pub streams: Vec<Stream>,
    /// Notes, by step.
    pub notes: Notes,
    /// The memory limit of each device, in bytes.
    pub budgets: Vec<(Text, u64)>,
    /// Inputs whose memory the program may write and must free.
    pub consumed: Vec<String>,
    /// Whether some entry about threads, events or streams could not be read, so that nobody knows
    /// what happens before what.
    pub unsure: bool,
}

impl Threads {
    /// The notes on a step.
    #[must_use]
    pub fn note(&self, step: u32) -> Note {
        self.notes.of(step)
    }

    /// The index of the thread that a step belongs to; 0 where none says.
    #[must_use]
    pub fn thread_of(&self, step: u32) -> usize {
        let behind = self.threads.partition_point(|t| t.steps.start <= step);
        behind.saturating_sub(1)
    }
}
