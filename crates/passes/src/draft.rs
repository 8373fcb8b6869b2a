//! A verified program under rewriting: what is dropped, what stands for what, and what is written
//! otherwise.

use cloakwork_ir::{HostTensor, View};
use cloakwork_ops::OpDef;
use cloakwork_verify::{Action, Bound, StorageId, ValueId, Verified};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The decision about a step of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays; its operands may be others.
    Kept,
    /// It goes.
    Dropped,
    /// Changes take its place.
    Replaced,
}

/// A replacement of a step.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A value that is known.
    Data {
        /// The value.
        value: ValueId,
        /// Its elements.
        tensor: HostTensor,
    },
    /// A call of another op.
    Call {
        /// The op.
        def: &'static OpDef,
        /// The values of its parameters; `out` where it is given.
        bounds: SmallVec<[Bound; 4]>,
        /// The value that it makes or writes.
        result: ValueId,
    },
    /// A copy of an operand into the room of a joined call; the first makes the room.
    Put {
        /// The joined call.
        group: u32,
        /// The operand.
        operand: ValueId,
    },
    /// A joined call; its parts are the results of the steps that it stands for.
    Run {
        /// The joined call.
        group: u32,
    },
}

/// Calls of one op on small tensors that become one call.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The op.
    pub def: &'static OpDef,
    /// The result of each call.
    pub results: Vec<ValueId>,
}

/// A verified program, and the changes of passes so far.
pub struct Draft<'v> {
    pub(crate) verified: &'v Verified,
    /// One a step of the program.
    fates: Vec<Fate>,
    /// The replacements of steps.
    changes: FxHashMap<u32, Vec<Change>>,
    /// For each storage, the value that stands for its first value.
    moved: Vec<Option<ValueId>>,
    has_moves: bool,
    /// The first value of each storage.
    roots: Vec<ValueId>,
    /// Calls that become one.
    pub(crate) groups: Vec<Group>,
    changed: bool,
}

impl<'v> Draft<'v> {
    /// A draft in which nothing is changed yet.
    #[must_use]
    pub fn new(verified: &'v Verified) -> Self {
        let mut roots = vec![ValueId(u32::MAX); verified.storages().len()];
        for (index, info) in verified.values().iter().enumerate().rev() {
            roots[info.storage.0 as usize] = ValueId(index as u32);
        }
        Self {
            verified,
            fates: vec![Fate::Kept; verified.program().steps.len()],
            moved: vec![None; roots.len()],
            has_moves: false,
            roots,
            changes: FxHashMap::default(),
            groups: Vec::new(),
            changed: false,
        }
    }

    /// Whether a pass changed anything.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Actions of steps that stay as they are, each with its index and its step.
    pub(crate) fn kept(&self) -> impl DoubleEndedIterator<Item = (u32, u32, &'v Action)> + '_ {
        let actions = self.verified.actions().iter().enumerate();
        actions
            .filter(|(_, (step, _))| self.keeps(*step))
            .map(|(index, (step, action))| (index as u32, *step, action))
    }

    /// Whether a step stays as it is.
    pub(crate) fn keeps(&self, step: u32) -> bool {
        self.fate(step) == Fate::Kept
    }

    /// The decision about a step.
    pub(crate) fn fate(&self, step: u32) -> Fate {
        self.fates[step as usize]
    }

    /// The replacements of a step.
    pub(crate) fn changes(&self, step: u32) -> &[Change] {
        self.changes.get(&step).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn drop_step(&mut self, step: u32) {
        self.fates[step as usize] = Fate::Dropped;
        self.changed = true;
    }

    pub(crate) fn replace(&mut self, step: u32, change: Change) {
        self.changed = true;
        self.fates[step as usize] = Fate::Replaced;
        self.changes.entry(step).or_default().push(change);
    }

    /// Drops the step of its own that made the storage which another step now makes.
    pub(crate) fn drop_maker(&mut self, value: ValueId, step: u32) {
        let (storage, _) = self.place(value);
        let maker = self
            .verified
            .value(self.root(storage))
            .map(|info| info.step);
        if let Some(maker) = maker.filter(|&maker| maker != step) {
            self.drop_step(maker);
        }
    }

    /// Lets a value stand for the first value of each of these storages, and drops the steps that
    /// make and write them.
    pub(crate) fn move_storages(&mut self, moves: &[(StorageId, ValueId)]) {
        if moves.is_empty() {
            return;
        }
        self.has_moves = true;
        for &(storage, value) in moves {
            self.moved[storage.0 as usize] = Some(value);
        }
        let (verified, mut dropped) = (self.verified, Vec::new());
        for (_, step, action) in self.kept() {
            let made = match action {
                Action::View { .. } => None,
                action => action.result(),
            };
            let storage = made
                .and_then(|value| verified.value(value))
                .map(|i| i.storage);
            if storage.is_some_and(|id| self.moved[id.0 as usize].is_some()) {
                dropped.push(step);
            }
        }
        dropped.into_iter().for_each(|step| self.drop_step(step));
    }

    /// The first value of a storage.
    pub(crate) fn root(&self, storage: StorageId) -> ValueId {
        self.roots[storage.0 as usize]
    }

    /// The value that stands for this one.
    pub(crate) fn standing(&self, mut value: ValueId) -> ValueId {
        while let Some(info) = self.verified.value(value)
            && let Some(other) = self.moved[info.storage.0 as usize]
            && self.root(info.storage) == value
        {
            value = other;
        }
        value
    }

    /// Where a value's elements lie: the storage, and how far its view is moved there.
    pub(crate) fn place(&self, value: ValueId) -> (StorageId, i64) {
        let Some(info) = self.verified.value(value) else {
            return (StorageId(u32::MAX), 0);
        };
        let (mut storage, mut shift) = (info.storage, 0);
        if !self.has_moves {
            return (storage, shift);
        }
        while let Some(other) = self.moved[storage.0 as usize]
            && let Some(info) = self.verified.value(other)
        {
            shift += info.view.offset;
            storage = info.storage;
        }
        (storage, shift)
    }

    /// The view of a value in the storage that [`Draft::place`] tells.
    pub(crate) fn view(&self, value: ValueId) -> &'v View {
        self.verified.view(value)
    }
}
