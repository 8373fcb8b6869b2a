//! Copies: what only holds elements of another tensor, in the same order, is that tensor, where
//! nothing writes either of them afterwards.
//!
//! Copies of parts count together: a rotation is two of them, and a rotation back is the whole
//! tensor again. A copy that brings elements into another order stays: its author may want
//! them side by side.

use crate::Draft;
use crate::facts::{for_demanded, written};
use crate::memory::affordable;
use crate::uses::{Uses, is_alike};
use cloakwork_verify::{Action, StorageId, StorageOrigin, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A storage of more parts is not a rotation.
const MOST_PARTS: usize = 16;

/// Elements of a storage that lie one after the other, and where they came from.
#[derive(Clone, Copy, Debug)]
struct Part {
    at: i64,
    count: i64,
    from: StorageId,
    from_at: i64,
}

type Parts = SmallVec<[Part; 2]>;

struct Copies<'d, 'v> {
    draft: &'d Draft<'v>,
    uses: &'d Uses,
    /// The parts of storages that copies wrote.
    parts: FxHashMap<StorageId, Parts>,
    /// How many copies did.
    copies: FxHashMap<StorageId, u32>,
    moves: Vec<(StorageId, ValueId)>,
}

pub(crate) fn run(draft: &mut Draft<'_>) {
    if !draft.kept().any(|(_, _, action)| moved(action).is_some()) {
        return;
    }
    let uses = Uses::of(draft);
    let mut copies = Copies {
        draft,
        uses: &uses,
        parts: FxHashMap::default(),
        copies: FxHashMap::default(),
        moves: Vec::new(),
    };
    for (index, _, action) in draft.kept() {
        if let (Some(out), Some(source)) = (written(action), moved(action)) {
            copies.follow(index, source, out);
        }
    }
    let mut moves = copies.moves;
    leave_to_the_run(draft, &mut moves);
    let moves = affordable(draft, &uses, moves);
    draft.move_storages(&moves);
}

/// Drops moves onto the program's own data of what some call demands to hold something: a run that
/// refuses it is to refuse it as a run does, not as the verifier refuses data.
fn leave_to_the_run(draft: &Draft, moves: &mut Vec<(StorageId, ValueId)>) {
    let origin = |value| {
        let info = draft.verified.storage(draft.place(value).0);
        info.map(|info| info.origin)
    };
    let is_data = |value| matches!(origin(value), Some(StorageOrigin::Upload(_)));
    if !moves.iter().any(|(_, value)| is_data(*value)) {
        return;
    }
    let mut demanded = FxHashSet::default();
    for (_, _, action) in draft.kept() {
        for_demanded(action, |value| {
            demanded.insert(draft.place(value).0);
        });
    }
    moves.retain(|(target, value)| !(demanded.contains(target) && is_data(*value)));
}

/// The value that an action copies, elements in row-major order.
fn moved(action: &Action) -> Option<ValueId> {
    match action {
        Action::Copy { source, .. } => Some(*source),
        Action::Kernel { call, .. } if call.def.is_transfer() => call.value(0),
        _ => None,
    }
}

impl Copies<'_, '_> {
    /// A copy from one value to another.
    fn follow(&mut self, index: u32, source: ValueId, out: ValueId) {
        let (target, _) = self.draft.place(out);
        let parts = self.parts_of(index, source, out);
        *self.copies.entry(target).or_default() += 1;
        let known = self.parts.entry(target).or_default();
        known.extend(parts);
        known.sort_unstable_by_key(|part| part.at);
        let used = self.uses.get(target);
        if used.written.last != index || used.read.first < index {
            return;
        }
        if !self.is_copied(target) {
            self.parts.remove(&target);
            return;
        }
        let stands = match used.writes {
            1 if self.lie_alike(source, target) => Some(source),
            _ => self.whole(target),
        };
        let fits = |value: &ValueId| self.uses.comes_before(self.draft, *value, target);
        self.moves
            .extend(stands.filter(fits).map(|value| (target, value)));
    }

    /// The parts that a copy writes; where they cannot be told one that nothing continues.
    fn parts_of(&self, index: u32, source: ValueId, out: ValueId) -> Parts {
        let (draft, mut parts) = (self.draft, Parts::new());
        let ((_, shift), (from, from_shift)) = (draft.place(out), draft.place(source));
        let (to, own) = (draft.view(out), draft.view(source));
        let dense = to.is_contiguous() && own.is_contiguous();
        let counts = [to, own].map(|view| view.shape.elements());
        // Where a tensor lies is the program's word: a copy to a device and back stays.
        let device = |value| {
            let info = draft.verified.storage(draft.place(value).0);
            info.map(|info| info.device)
        };
        let here = dense && device(source) == device(out);
        if !here || counts[0] != counts[1] || !self.uses.is_settled(from, index) {
            parts.push(Part {
                at: -1,
                count: 0,
                from,
                from_at: 0,
            });
            return parts;
        }
        let count = counts[0] as i64;
        let (at, first) = (to.offset + shift, own.offset + from_shift);
        let moved = |part: &Part| {
            let begin = part.at.max(first);
            let end = (part.at + part.count).min(first + count);
            (begin < end).then(|| Part {
                at: at + begin - first,
                count: end - begin,
                from: part.from,
                from_at: part.from_at + begin - part.at,
            })
        };
        match self.parts.get(&from).filter(|_| self.is_copied(from)) {
            Some(known) => parts.extend(known.iter().filter_map(moved)),
            None => parts.push(Part {
                at,
                count,
                from,
                from_at: first,
            }),
        }
        parts
    }

    /// Whether nothing but copies writes a storage, and they write all of it, each part once.
    fn is_copied(&self, storage: StorageId) -> bool {
        let copies = self.copies.get(&storage);
        copies == Some(&self.uses.get(storage).writes) && self.is_tiled(storage)
    }

    /// Whether the parts of a storage are all of it, each once.
    fn is_tiled(&self, storage: StorageId) -> bool {
        let Some(parts) = self.parts.get(&storage).filter(|p| p.len() <= MOST_PARTS) else {
            return false;
        };
        let mut end = 0;
        let follows = |part: &Part| {
            let follows = part.at == end;
            end += part.count;
            follows
        };
        let all = parts.iter().all(follows);
        let info = self.draft.verified.storage(storage);
        all && info.is_some_and(|info| info.root.shape.elements() as i64 == end)
    }

    /// Whether a value's elements lie as those of a storage do.
    fn lie_alike(&self, value: ValueId, storage: StorageId) -> bool {
        let verified = self.draft.verified;
        let (from, _) = self.draft.place(value);
        let (Some(info), Some(from)) = (verified.storage(storage), verified.storage(from)) else {
            return false;
        };
        let view = self.draft.view(value);
        let geometry = view.shape == info.root.shape && view.strides == info.root.strides;
        geometry && from.dtype == info.dtype && from.device == info.device
    }

    /// The storage that all parts of another are, each in its own place.
    fn whole(&self, storage: StorageId) -> Option<ValueId> {
        let parts = self.parts.get(&storage)?;
        let from = parts.first()?.from;
        let own = |part: &Part| part.from == from && part.from_at == part.at;
        let same = parts.iter().all(own) && is_alike(self.draft, from, storage);
        same.then(|| self.draft.root(from))
    }
}
