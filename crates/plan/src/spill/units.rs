//! Steps that run together, and the buffers that they touch.

use crate::arena;
use crate::plan::{Home, Plan, Space};
use std::ops::Range;

/// An access of a unit to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touch {
    pub buffer: u32,
    pub writes: bool,
}

/// A step or a fusion.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub steps: Range<usize>,
    touches: Range<usize>,
}

/// The units of a plan.
#[derive(Debug, Default)]
pub(super) struct Units {
    pub all: Vec<Unit>,
    touches: Vec<Touch>,
}

impl Units {
    pub fn of(plan: &Plan) -> Self {
        let mut units = Self::default();
        let mut fusions = plan.fusions.iter().peekable();
        let mut first = 0;
        while first < plan.steps.len() {
            let fusion = fusions.next_if(|fusion| fusion.first as usize == first);
            let end = fusion.map_or(first + 1, |fusion| fusion.end as usize);
            let steps = first..end;
            let mut found = Vec::new();
            steps
                .clone()
                .for_each(|step| of_step(plan, step, &mut found));
            units.push(steps, found);
            first = end;
        }
        units
    }

    /// Adds a unit; a buffer that it touches several times counts once.
    fn push(&mut self, steps: Range<usize>, mut found: Vec<Touch>) {
        // Of a buffer's touches, the one that writes comes last.
        found.sort_unstable();
        let begin = self.touches.len();
        for touch in found {
            match self.touches[begin..].last_mut() {
                Some(last) if last.buffer == touch.buffer => *last = touch,
                _ => self.touches.push(touch),
            }
        }
        let touches = begin..self.touches.len();
        self.all.push(Unit { steps, touches });
    }

    /// The buffers that a unit touches.
    pub fn touches(&self, unit: &Unit) -> &[Touch] {
        &self.touches[unit.touches.clone()]
    }
}

/// Memory that buffers take.
pub(super) struct Sizes {
    /// Bytes with padding; 0 if the program itself puts the buffer on disk.
    pub bytes: Vec<u64>,
    /// Whether it lies in the host's memory, so that it can be spilled.
    pub may_wait: Vec<bool>,
}

impl Sizes {
    pub fn of(plan: &Plan) -> Self {
        let homes = || plan.buffers.iter().map(|buffer| plan.home(buffer));
        let padded = |bytes: u64| bytes.checked_next_multiple_of(arena::ALIGNMENT_BYTES);
        let sizes = plan.buffers.iter().zip(homes());
        let sizes = sizes.map(|(buffer, home)| match home.is_file() {
            true => 0,
            false => padded(buffer.bytes).unwrap_or(u64::MAX),
        });
        Self {
            bytes: sizes.collect(),
            may_wait: homes().map(|home| home == Home::HOST).collect(),
        }
    }
}

fn of_step(plan: &Plan, index: usize, found: &mut Vec<Touch>) {
    let step = &plan.steps[index];
    let addresses = plan.addresses[plan.addresses_of(step)].iter().enumerate();
    for (operand, address) in addresses.filter(|(_, address)| address.space == Space::Buffer) {
        found.push(Touch {
            buffer: address.index,
            writes: operand == 0 && step.writes(),
        });
    }
}

#[cfg(test)]
impl Units {
    /// Units without steps that touch these buffers and write the first of each list.
    pub fn of_lists(lists: &[&[u32]]) -> Self {
        let mut units = Self::default();
        for list in lists {
            let touch = |(place, &buffer): (usize, &u32)| Touch {
                buffer,
                writes: place == 0,
            };
            units.push(0..0, list.iter().enumerate().map(touch).collect());
        }
        units
    }
}
