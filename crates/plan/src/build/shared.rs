//! Blocks that a run has prepared, for later launches that need the same: a step prepares a block
//! again only where a step between may have changed what it was prepared from.

use super::{Builder, ConstantKey};
use crate::plan::{Address, HostCall, Space, Work};
use rustc_hash::FxHashMap;

/// What steps have prepared, and which memories they have written since.
#[derive(Default)]
pub(super) struct Shared {
    /// Blocks by what they are prepared from, each with the step that did it.
    blocks: FxHashMap<ConstantKey, (u32, Address)>,
    /// One more than the last step that wrote each buffer and each result; 0 where none did.
    buffers: Vec<u32>,
    outputs: Vec<u32>,
    /// The same of calls of the caller's functions, which may write inputs.
    function: u32,
}

impl Shared {
    /// Notes what a step writes, if it does: its first operand.
    pub(super) fn note(&mut self, step: u32, work: Work, first: &Address) {
        match work {
            Work::Host(HostCall::Check(_)) => return,
            Work::Host(HostCall::Function(_)) => self.function = step + 1,
            Work::Launch { .. } | Work::Prepare { .. } | Work::Transfer(_) => {}
        }
        let written = match first.space {
            Space::Buffer => &mut self.buffers,
            Space::Output => &mut self.outputs,
            Space::Host | Space::Constant | Space::Pool | Space::Slot | Space::Null => return,
        };
        let index = first.index as usize;
        if written.len() <= index {
            written.resize(index + 1, 0);
        }
        written[index] = step + 1;
    }

    /// Whether an operand holds what it held before a step.
    pub(super) fn is_as_before(&self, step: u32, operand: &Address) -> bool {
        let index = operand.index as usize;
        let last = match operand.space {
            Space::Buffer => self.buffers.get(index).copied().unwrap_or(0),
            Space::Output => self.outputs.get(index).copied().unwrap_or(0),
            Space::Host => self.function,
            Space::Constant | Space::Pool | Space::Slot | Space::Null => 0,
        };
        last <= step
    }
}

impl Builder<'_> {
    /// The block that an earlier step prepared from the same. A block in use again stays in memory
    /// meanwhile: under a budget each launch has its own, and what the run needs does not rise.
    pub(super) fn prepared_before(&self, key: &ConstantKey) -> Option<Address> {
        if self.is_bounded() {
            return None;
        }
        let &(step, block) = self.shared.blocks.get(key)?;
        let operands = &key.3;
        let same = operands.iter().all(|at| self.shared.is_as_before(step, at));
        same.then_some(block)
    }

    /// Whether what the run needs must not rise.
    pub(super) fn is_bounded(&self) -> bool {
        let options = &self.plan.options;
        options.memory_budget_bytes.is_some() || !options.device_budgets.is_empty()
    }

    /// Notes the block that the step to come prepares.
    pub(super) fn will_prepare(&mut self, key: ConstantKey, block: Address) {
        let step = self.plan.steps.len() as u32;
        self.shared.blocks.insert(key, (step, block));
    }
}
