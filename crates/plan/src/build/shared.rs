//! Blocks that a run has prepared, for later launches that need the same blocks: a step prepares a
//! block again only if a step in between may have changed the operands.

use super::{Builder, ConstantKey};
use crate::plan::{Address, Space, Work};
use rustc_hash::FxHashMap;

/// The blocks that steps have prepared, and the memories that steps have written since.
#[derive(Default)]
pub(super) struct Shared {
    /// Blocks by their identity, each with the step that prepared it.
    blocks: FxHashMap<ConstantKey, (u32, Address)>,
    /// One more than the last step that wrote each buffer and each result; 0 if no step did.
    buffers: Vec<u32>,
    outputs: Vec<u32>,
    /// One more than the last call of the caller's functions, which may write inputs.
    function: u32,
}

impl Shared {
    /// Records the memory that a step writes, if any: its first operand.
    pub(super) fn note(&mut self, step: u32, work: Work, first: &Address) {
        match work {
            Work::Check(_) => return,
            Work::Function(_) => self.function = step + 1,
            Work::Launch { .. } | Work::Prepare { .. } | Work::Transfer(_) => {}
        }
        let written = match first.space {
            Space::Buffer => &mut self.buffers,
            Space::Output => &mut self.outputs,
            Space::Host
            | Space::Constant
            | Space::Pool
            | Space::Status
            | Space::Slot
            | Space::Null => return,
        };
        let index = first.index as usize;
        if written.len() <= index {
            written.resize(index + 1, 0);
        }
        written[index] = step + 1;
    }

    /// Whether an operand is unchanged since a step.
    pub(super) fn is_as_before(&self, step: u32, operand: &Address) -> bool {
        let index = operand.index as usize;
        let last = match operand.space {
            Space::Buffer => self.buffers.get(index).copied().unwrap_or(0),
            Space::Output => self.outputs.get(index).copied().unwrap_or(0),
            Space::Host => self.function,
            Space::Constant | Space::Pool | Space::Status | Space::Slot | Space::Null => 0,
        };
        last <= step
    }
}

impl Builder<'_> {
    /// The block that an earlier step prepared from the same operands. Reusing a block keeps it in
    /// memory longer, so under a budget each launch has its own block and peak memory does not
    /// rise.
    pub(super) fn prepared_before(&self, key: &ConstantKey) -> Option<Address> {
        if self.is_bounded() {
            return None;
        }
        let &(step, block) = self.shared.blocks.get(key)?;
        let operands = &key.3;
        let same = operands.iter().all(|at| self.shared.is_as_before(step, at));
        same.then_some(block)
    }

    /// Whether a budget limits peak memory.
    pub(super) fn is_bounded(&self) -> bool {
        let options = &self.plan.options;
        options.memory_budget_bytes.is_some() || !options.device_budgets.is_empty()
    }

    /// Records the block that the next step prepares.
    pub(super) fn will_prepare(&mut self, key: ConstantKey, block: Address) {
        let step = self.plan.steps.len() as u32;
        self.shared.blocks.insert(key, (step, block));
    }
}
