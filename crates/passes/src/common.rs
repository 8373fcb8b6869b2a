//! Common subexpressions: equal steps with equal operands run once.

use crate::Draft;
use crate::facts::can_fail;
use crate::memory::affordable;
use crate::numbers::{Number, Numbers};
use crate::uses::{Uses, is_alike};
use cloakwork_verify::{StorageId, ValueId};

/// Facts about the storages.
struct Found {
    /// The number of the final contents of each.
    last: Vec<Number>,
    /// Whether some write of it may fail and was not done before.
    doubtful: Vec<bool>,
    /// Steps that write the contents that are there already.
    idle: Vec<u32>,
    /// Whether an action repeated an earlier one.
    repeats: bool,
    numbers: usize,
}

pub(crate) fn run(draft: &mut Draft<'_>) {
    let found = find(draft);
    if !found.repeats {
        return;
    }
    found.idle.iter().for_each(|&step| draft.drop_step(step));
    let uses = Uses::of(draft);
    let moves = merges(draft, &found, &uses);
    let moves = affordable(draft, &uses, moves);
    draft.move_storages(&moves);
}

fn find(draft: &Draft) -> Found {
    let storages = draft.verified.storages().len();
    let mut numbers = Numbers::new(draft);
    let mut doubtful = vec![false; storages];
    let (mut idle, mut repeats) = (Vec::new(), false);
    for (_, step, action) in draft.kept() {
        let Some(write) = numbers.follow(action) else {
            continue;
        };
        repeats |= write.repeats;
        if write.idle {
            idle.push(step);
        } else if let Some(value) = action.result()
            && !write.repeats
        {
            doubtful[draft.place(value).0.0 as usize] |= can_fail(action);
        }
    }
    let last = (0..storages).map(|id| numbers.held(StorageId(id as u32)));
    Found {
        last: last.collect(),
        doubtful,
        idle,
        repeats,
        numbers: numbers.count(),
    }
}

/// Storages with the same final contents as another one, which settled before they were read.
fn merges(draft: &Draft, found: &Found, uses: &Uses) -> Vec<(StorageId, ValueId)> {
    let mut first = vec![StorageId(u32::MAX); found.numbers];
    let settled = |id: StorageId| uses.get(id).written.last;
    let live = |id: StorageId| draft.place(draft.root(id)).0 == id && uses.get(id).reads > 0;
    let ids = || (0..found.last.len() as u32).map(StorageId);
    let free = |id: &StorageId| live(*id) && !uses.get(*id).pinned;
    for id in ids().filter(free) {
        let best = &mut first[found.last[id.0 as usize] as usize];
        if best.0 == u32::MAX || settled(id) < settled(*best) {
            *best = id;
        }
    }
    let merge = |id: StorageId| {
        let other = first[found.last[id.0 as usize] as usize];
        let used = uses.get(id);
        let late = settled(other) < used.read.first && settled(id) < used.read.first;
        let fits = other != id && late && !found.doubtful[id.0 as usize];
        let fits = fits && is_alike(draft, id, other);
        (fits && uses.comes_before(draft, draft.root(other), id)).then(|| (id, draft.root(other)))
    };
    ids().filter(free).filter_map(merge).collect()
}
