//! When each storage is written and read.

use crate::Draft;
use crate::facts::{effect, for_named, for_reads, written};
use cloakwork_ir::{DType, Device, Lifetime, View};
use cloakwork_verify::{Action, StorageId, ValueId};

/// The writes and reads of one storage, by the indices of a program's actions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// How many actions write it.
    pub writes: u32,
    /// From the first that does to the last.
    pub written: Lifetime,
    /// How many actions that do not write it read it.
    pub reads: u32,
    /// From the first of them to the last.
    pub read: Lifetime,
    /// From the first action that names any part of it, but for the one that makes it, to the last.
    pub named: Lifetime,
    /// A write of it is more than a function of operands.
    pub pinned: bool,
}

/// The same of all storages.
pub(crate) struct Uses(Vec<Use>);

impl Uses {
    pub fn of(draft: &Draft) -> Self {
        let unused = Use {
            writes: 0,
            written: Lifetime::NONE,
            reads: 0,
            read: Lifetime::NONE,
            named: Lifetime::NONE,
            pinned: false,
        };
        let mut uses = Self(vec![unused; draft.verified.storages().len()]);
        for (index, _, action) in draft.kept() {
            uses.note(draft, index, action);
        }
        uses
    }

    fn note(&mut self, draft: &Draft, index: u32, action: &Action) {
        let target = written(action).map(|value| draft.place(value).0);
        for_reads(action, |value| {
            let (storage, _) = draft.place(value);
            if Some(storage) != target {
                let used = &mut self.0[storage.0 as usize];
                used.reads += 1;
                used.read.extend(index);
            }
        });
        for_named(action, |value| {
            self.0[draft.place(value).0.0 as usize].named.extend(index);
        });
        if let Some(storage) = target {
            let used = &mut self.0[storage.0 as usize];
            used.writes += 1;
            used.written.extend(index);
            used.pinned |= effect(action).is_some();
        }
    }

    pub fn get(&self, storage: StorageId) -> &Use {
        &self.0[storage.0 as usize]
    }

    /// Whether a value is there before any step names another storage but the one that makes it.
    pub fn comes_before(&self, draft: &Draft, value: ValueId, storage: StorageId) -> bool {
        let made = draft.verified.value(value).map(|info| info.step);
        let named = draft
            .verified
            .actions()
            .get(self.get(storage).named.first as usize);
        named.is_none_or(|(step, _)| made.is_some_and(|made| made < *step))
    }

    /// Whether a storage holds one thing from an action on: nothing writes it from there.
    pub fn is_settled(&self, storage: StorageId, from: u32) -> bool {
        let written = self.get(storage).written;
        written.is_none() || written.last < from
    }
}

/// Whether elements of two storages have equal places: one type, one order, one memory.
pub(crate) fn is_alike(draft: &Draft, a: StorageId, b: StorageId) -> bool {
    let facts = |id| -> Option<(DType, Device, &View)> {
        let info = draft.verified.storage(id)?;
        Some((info.dtype, info.device, &info.root))
    };
    facts(a).is_some() && facts(a) == facts(b)
}
