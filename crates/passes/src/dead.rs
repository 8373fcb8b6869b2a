//! Dead code: results that are never read are not computed, unless they may fail or are more than a
//! function of its operands.

use crate::Draft;
use crate::draft::{Change, Fate};
use crate::facts::{can_fail, effect, for_named, for_reads, written};
use cloakwork_verify::{Action, Bound, ValueId};

/// Storages and values that the steps behind the current one need.
struct Needed<'d, 'v> {
    draft: &'d Draft<'v>,
    /// By storage: whether its contents are read.
    held: Vec<bool>,
    /// By value: whether a step names it.
    named: Vec<bool>,
}

pub(crate) fn run(draft: &mut Draft<'_>) {
    let mut needed = Needed {
        draft,
        held: vec![false; draft.verified.storages().len()],
        named: vec![false; draft.verified.values().len()],
    };
    let mut dropped = Vec::new();
    let mut done = u32::MAX;
    for (step, action) in draft.verified.actions().iter().rev() {
        match draft.fate(*step) {
            // Of two actions of a step the later one decides.
            _ if *step == done => {}
            Fate::Dropped => {}
            Fate::Replaced => {
                let changes = draft.changes(*step).iter();
                changes.for_each(|change| needed.change(change));
            }
            Fate::Kept if needed.is_needed(*step, action) => needed.keep(action),
            Fate::Kept => dropped.push(*step),
        }
        done = *step;
    }
    dropped.into_iter().for_each(|step| draft.drop_step(step));
}

impl Needed<'_, '_> {
    fn is_needed(&self, step: u32, action: &Action) -> bool {
        match action {
            Action::Download { .. } => true,
            Action::View { value, .. } | Action::Allocate { value } => self.is_named(*value),
            Action::Upload { value, .. } => self.is_named(*value) || self.is_held(*value),
            Action::Copy { value: out, .. }
            | Action::Kernel { out, .. }
            | Action::Composite { result: out, .. } => {
                // A tensor that the step makes may be written over before it is read.
                let info = self.draft.verified.value(*out);
                let is_made = info.is_some_and(|info| info.step == step) && self.is_named(*out);
                is_made || self.is_held(*out) || effect(action).is_some() || can_fail(action)
            }
        }
    }

    fn is_named(&self, value: ValueId) -> bool {
        self.named[value.0 as usize]
    }

    fn is_held(&self, value: ValueId) -> bool {
        self.held[self.draft.place(value).0.0 as usize]
    }

    fn keep(&mut self, action: &Action) {
        if let Some(value) = written(action)
            && self.draft.replaces_all(action)
        {
            self.held[self.draft.place(value).0.0 as usize] = false;
        }
        for_reads(action, |value| self.read(value));
        for_named(action, |value| self.name(value));
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Data { .. } | Change::Run { .. } => {}
            Change::Put { operand, .. } => {
                self.read(*operand);
                self.name(*operand);
            }
            Change::Call { bounds, .. } => {
                for bound in bounds {
                    if let Bound::Value(value) = *bound {
                        self.read(value);
                        self.name(value);
                    }
                }
            }
        }
    }

    fn read(&mut self, value: ValueId) {
        self.held[self.draft.place(value).0.0 as usize] = true;
    }

    fn name(&mut self, value: ValueId) {
        self.named[self.draft.standing(value).0 as usize] = true;
    }
}
