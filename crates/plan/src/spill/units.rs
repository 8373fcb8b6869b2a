//! What runs at a time, and which buffers it touches.

use crate::arena;
use crate::plan::{Buffer, Plan, Prepared, Space};
use cloakwork_ir::Device;
use std::ops::Range;

/// That a unit touches a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touch {
    pub buffer: u32,
    pub writes: bool,
}

/// A step or a fusion, or what is checked at the end: no step.
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
        let mut checks = plan.checks.iter().peekable();
        let mut first = 0;
        while first <= plan.steps.len() {
            let fusion = fusions.next_if(|fusion| fusion.first as usize == first);
            let end = fusion.map_or(first + 1, |fusion| fusion.end as usize);
            let steps = first..end.min(plan.steps.len());
            let mut found = Vec::new();
            while let Some(check) = checks.next_if(|check| check.before as usize == first) {
                if check.address.space == Space::Buffer {
                    let buffer = check.address.index;
                    let writes = false;
                    found.push(Touch { buffer, writes });
                }
            }
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
        // The touch that writes comes last of a buffer's.
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

    /// Bytes of the buffers that must be there at the same time, at least.
    pub fn most_at_once(&self, buffers: &[Buffer]) -> u64 {
        let at_once = |unit| {
            let sizes = self.touches(unit).iter();
            let sizes = sizes.map(|touch| padded(&buffers[touch.buffer as usize]));
            sizes.fold(0, u64::saturating_add)
        };
        self.all.iter().map(at_once).max().unwrap_or(0)
    }
}

/// What a buffer takes of memory: nothing, where the program itself puts it on disk.
pub(super) fn padded(buffer: &Buffer) -> u64 {
    if matches!(buffer.device, Device::Disk(_)) {
        return 0;
    }
    let bytes = buffer
        .bytes
        .checked_next_multiple_of(arena::ALIGNMENT_BYTES);
    bytes.unwrap_or(u64::MAX)
}

fn of_step(plan: &Plan, index: usize, found: &mut Vec<Touch>) {
    let step = &plan.steps[index];
    let operands = plan.geometries[step.geometry as usize].operands();
    let first = step.first_address as usize;
    let addresses = plan.addresses[first..first + operands].iter().enumerate();
    for (operand, address) in addresses.filter(|(_, address)| address.space == Space::Buffer) {
        found.push(Touch {
            buffer: address.index,
            writes: operand == 0,
        });
    }
    if let Prepared::Dynamic(buffer) | Prepared::Dynamics { buffer, .. } = step.prepared {
        let writes = true;
        found.push(Touch { buffer, writes });
    }
}

#[cfg(test)]
impl Units {
    /// Units without steps that touch such buffers and write the first of them.
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
