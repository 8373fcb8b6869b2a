//! What steps read and write: ranges of bytes of the memories that steps write.

use crate::plan::{Address, Check, Kind, Plan, Prepared, Space, Spilled};
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
pub(super) enum Room {
    Arena,
    Output(u32),
    /// The file of a run that spills.
    Disk,
}

/// A range of bytes that a step reads or writes.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub room: Room,
    pub bytes: Range<u64>,
    pub writes: bool,
}

pub(super) type Accesses = SmallVec<[Access; 8]>;

/// Adds what one step reads and writes, its operands and what it derives.
pub(super) fn of_step(plan: &Plan, reaches: &[Reach], index: usize, found: &mut Accesses) {
    let step = &plan.steps[index];
    let operands = plan.geometries[step.geometry as usize].operands();
    let first = step.first_address as usize;
    let addresses = plan.addresses[first..first + operands].iter();
    for (operand, (address, reach)) in addresses.zip(&reaches[first..]).enumerate() {
        let writes = operand == 0 && !matches!(step.kind, Kind::ToDisk(_));
        add(plan, address, *reach, writes, found);
    }
    if let Kind::ToDisk(place) | Kind::FromDisk(place) = step.kind {
        let Spilled { offset, bytes } = plan.spilled[place as usize];
        found.push(Access {
            room: Room::Disk,
            bytes: offset..offset + bytes,
            writes: matches!(step.kind, Kind::ToDisk(_)),
        });
    }
    if let Prepared::Dynamic(buffer) | Prepared::Dynamics { buffer, .. } = step.prepared {
        let all = Reach::whole(plan.buffers[buffer as usize].bytes, 0);
        let start = Address {
            space: Space::Buffer,
            index: buffer,
            offset: 0,
        };
        add(plan, &start, all, true, found);
    }
}

/// Adds what a check reads.
pub(super) fn of_check(plan: &Plan, check: &Check, found: &mut Accesses) {
    let reach = Reach::of(&check.view, check.view.offset, check.dtype.size_bytes());
    add(plan, &check.address, reach, false, found);
}

fn add(plan: &Plan, address: &Address, reach: Reach, writes: bool, found: &mut Accesses) {
    let (room, base) = match address.space {
        Space::Buffer => (
            Room::Arena,
            plan.buffers[address.index as usize].offset as i64,
        ),
        Space::Output => (Room::Output(address.index), 0),
        // No step writes these; a slot's memory is its thread's.
        Space::Host | Space::Constant | Space::Pool | Space::Slot | Space::Null => return,
    };
    let at = base + address.offset;
    let bytes = (at + reach.low).max(0) as u64..(at + reach.high).max(0) as u64;
    if !bytes.is_empty() {
        found.push(Access {
            room,
            bytes,
            writes,
        });
    }
}
