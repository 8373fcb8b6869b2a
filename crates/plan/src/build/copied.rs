//! Copies of memory on another side: a later step reuses the copy that an earlier step made.

use super::Builder;
use crate::plan::{Address, Home, Space};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// A byte range of a memory, copied to another side.
struct Copied {
    side: Home,
    bytes: Range<i64>,
    /// The buffer that holds the copy.
    buffer: u32,
    /// The step before which the copy is complete.
    step: u32,
}

/// The copies that steps have made.
#[derive(Default)]
pub(super) struct Copies {
    by_memory: FxHashMap<(Space, u32), SmallVec<[Copied; 1]>>,
}

impl Builder<'_> {
    /// The buffer on a side that holds these bytes of a memory, and the byte of the memory at which
    /// that buffer begins. Reusing a copy keeps it in memory longer, so under a budget only copies
    /// of inputs are reused.
    pub(super) fn copy_of(
        &self,
        at: &Address,
        bytes: &Range<i64>,
        side: Home,
    ) -> Option<(u32, i64)> {
        if self.is_bounded() && at.space != Space::Host {
            return None;
        }
        let copies = self.copies.by_memory.get(&(at.space, at.index))?;
        let found = copies.iter().find(|copy| {
            let holds = copy.bytes.start <= bytes.start && bytes.end <= copy.bytes.end;
            copy.side == side && holds && self.is_copy(at, copy)
        })?;
        Some((found.buffer, found.bytes.start))
    }

    /// Whether neither the memory nor its copy was written since the copy was made.
    fn is_copy(&self, at: &Address, copy: &Copied) -> bool {
        let buffer = Address::of_buffer(copy.buffer);
        let as_before = |at| self.shared.is_as_before(copy.step, at);
        as_before(at) && as_before(&buffer)
    }

    /// Records that the last step made a copy, or made the memory equal to a buffer.
    pub(super) fn note_copy(
        &mut self,
        at: &Address,
        bytes: Range<i64>,
        (side, buffer): (Home, u32),
    ) {
        let copies = self.copies.by_memory.entry((at.space, at.index));
        copies.or_default().push(Copied {
            side,
            bytes,
            buffer,
            step: self.plan.steps.len() as u32,
        });
    }
}
