//! What steps read and write: ranges of bytes of the memories that steps write.

use crate::plan::{Plan, Space};
use cloakwork_ir::View;
use smallvec::SmallVec;
use std::ops::Range;

/// The bytes that a step may touch of an operand, counted from the operand's first element.
///
/// They are those of the tensor that the program names, whatever a kernel makes of them: where it
/// looks along an axis that its launch does not tell of stays inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The first byte.
    low: i64,
    /// One past the last.
    high: i64,
}

impl Reach {
    /// All bytes of a view of elements of so many bytes, for an operand whose first element is
    /// the view's element of this place in the storage.
    pub(crate) fn of(view: &View, first: i64, size_bytes: usize) -> Self {
        let (low, high) = view.bounds();
        let size = size_bytes as i64;
        Self {
            low: (low - first) * size,
            high: (high - first) * size,
        }
    }

    /// The first byte, from the operand's first element on.
    pub(crate) fn low(&self) -> i64 {
        self.low
    }

    /// How many bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.high - self.low).max(0) as u64
    }

    /// The same bytes, counted from so many behind the first element.
    pub(crate) fn from(self, bytes: i64) -> Self {
        Self {
            low: self.low - bytes,
            high: self.high - bytes,
        }
    }

    /// So many bytes of memory in which the operand begins at an offset.
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
    /// No memory: what a check holds for the other steps of its op, a byte for each step of the
    /// program.
    Guard,
}

/// A range of bytes that a step reads or writes.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub room: Room,
    pub bytes: Range<u64>,
    pub writes: bool,
}

pub(crate) type Accesses = SmallVec<[Access; 8]>;

/// Adds what one step reads and writes: its operands and what its launch finds prepared.
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
            // No step writes these; a slot's memory is its thread's.
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
