//! Copies of memories on another side: a step that reads what was brought there before finds it.

use super::Builder;
use crate::plan::{Address, Home, Space};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// Some bytes of a memory on another side.
struct Copied {
    side: Home,
    bytes: Range<i64>,
    /// The buffer that holds them.
    buffer: u32,
    /// The first step before which they are there.
    step: u32,
}

/// The copies that steps have made.
#[derive(Default)]
pub(super) struct Copies {
    by_memory: FxHashMap<(Space, u32), SmallVec<[Copied; 1]>>,
}

impl Builder<'_> {
    /// Where the bytes of a memory are on a side, and which byte of it the buffer begins with. A
    /// copy in use again stays in memory meanwhile: under a budget only inputs do.
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

    /// Whether neither a memory nor its copy was written since.
    fn is_copy(&self, at: &Address, copy: &Copied) -> bool {
        let buffer = Address::of_buffer(copy.buffer);
        let as_before = |at| self.shared.is_as_before(copy.step, at);
        as_before(at) && as_before(&buffer)
    }

    /// Notes that the last step has made a copy, or made the memory the same as a buffer.
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
