//! Copies of memories on another side: a step that reads what was brought there before finds it.

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
}

/// The copies that hold what their memory holds.
#[derive(Default)]
pub(super) struct Copies {
    by_memory: FxHashMap<(Space, u32), SmallVec<[Copied; 1]>>,
}

impl Copies {
    /// Where the bytes of a memory are on a side, and which byte of it the buffer begins with.
    pub fn find(&self, at: &Address, bytes: &Range<i64>, side: Home) -> Option<(u32, i64)> {
        let copies = self.by_memory.get(&(at.space, at.index))?;
        let holds = |copy: &&Copied| {
            copy.side == side && copy.bytes.start <= bytes.start && bytes.end <= copy.bytes.end
        };
        let found = copies.iter().find(holds)?;
        Some((found.buffer, found.bytes.start))
    }

    /// Notes a copy.
    pub fn add(&mut self, at: &Address, bytes: Range<i64>, (side, buffer): (Home, u32)) {
        let copies = self.by_memory.entry((at.space, at.index)).or_default();
        copies.push(Copied {
            side,
            bytes,
            buffer,
        });
    }

    /// Forgets the copies of a memory that a step writes.
    pub fn forget(&mut self, at: &Address) {
        if !self.by_memory.is_empty() {
            self.by_memory.remove(&(at.space, at.index));
        }
    }
}
