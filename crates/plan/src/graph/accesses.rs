//! The byte ranges that steps read and write.

use crate::plan::{Plan, Space, Step, Work};
use cloakwork_ir::View;
use smallvec::SmallVec;
use std::ops::Range;

/// The bytes that a step may touch of an operand, counted from the operand's first element.
///
/// These are the bytes of the tensor that the program names. A kernel that indexes along an axis
/// which its launch does not describe stays inside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The first byte.
    low: i64,
    /// The byte behind the last.
    high: i64,
}

impl Reach {
    /// All bytes of a view with elements of `size_bytes`, for an operand whose first element is
    /// element `first` of the storage.
    pub(crate) fn of(view: &View, first: i64, size_bytes: usize) -> Self {
        let (low, high) = view.bounds();
        let size = size_bytes as i64;
        Self {
            low: (low - first) * size,
            high: (high - first) * size,
        }
    }

    /// The first byte, counted from the operand's first element.
    pub(crate) fn low(&self) -> i64 {
        self.low
    }

    /// The number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.high - self.low).max(0) as u64
    }

    /// The same bytes, counted from `bytes` after the first element.
    pub(crate) fn from(self, bytes: i64) -> Self {
        Self {
            low: self.low - bytes,
            high: self.high - bytes,
        }
    }

    /// All `bytes` of a memory in which the operand begins at `offset`.
    pub(crate) fn whole(bytes: u64, offset: i64) -> Self {
        Self {
            low: -offset,
            high: bytes as i64 - offset,
        }
    }
}

/// A memory that steps write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Room {
    Arena(u16),
    Output(u32),
    /// The status words of checks.
    Status,
    /// No memory: orders the checks of an op before its other steps, with one byte for each step of
    /// the program.
    Guard,
}

/// A range of bytes that a step reads or writes.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub room: Room,
    pub bytes: Range<u64>,
    pub writes: bool,
}

/// Bytes of a status word.
const STATUS_BYTES: i64 = size_of::<u64>() as i64;

pub(crate) type Accesses = SmallVec<[Access; 8]>;

/// Adds the accesses of one step: its operands and the blocks prepared for its launch.
pub(super) fn of_step(plan: &Plan, reaches: &[Reach], index: usize, found: &mut Accesses) {
    let step = &plan.steps[index];
    let all = plan.addresses_of(step);
    let addresses = plan.addresses[all.clone()].iter().zip(&reaches[all]);
    for (operand, (address, reach)) in addresses.enumerate() {
        let (room, base) = match address.space {
            Space::Buffer => {
                let buffer = &plan.buffers[address.index as usize];
                (Room::Arena(buffer.arena), buffer.offset as i64)
            }
            Space::Output => (Room::Output(address.index), 0),
            Space::Status => (Room::Status, i64::from(address.index) * STATUS_BYTES),
            // No step writes these; each thread has its own slots.
            Space::Host | Space::Constant | Space::Pool | Space::Slot | Space::Null => continue,
        };
        let at = base + address.offset;
        let bytes = (at + reach.low).max(0) as u64..(at + reach.high).max(0) as u64;
        if !bytes.is_empty() {
            found.push(Access {
                room,
                bytes,
                writes: operand == 0 && step.writes(),
            });
        }
    }
}

/// An access that makes the steps of an op wait for the checks before them, whatever bytes they
/// touch. `guard` is the op of the last check. Transfers wait for none: they look at no contents.
pub(crate) fn guarded(step: &Step, guard: &mut Option<u32>) -> Option<Access> {
    let writes = matches!(step.work, Work::Check(_));
    if writes {
        *guard = Some(step.origin);
    }
    let is_guarded = *guard == Some(step.origin) && !matches!(step.work, Work::Transfer(_));
    let at = u64::from(step.origin);
    is_guarded.then_some(Access {
        room: Room::Guard,
        bytes: at..at + 1,
        writes,
    })
}
