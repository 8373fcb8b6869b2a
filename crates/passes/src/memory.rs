//! About how much memory storages take at the same time.

use crate::Draft;
use crate::facts::{for_reads, written};
use crate::uses::Uses;
use cloakwork_verify::{StorageId, StorageOrigin, ValueId};

/// A value that is to stand for the first one of a storage.
pub(crate) type Move = (StorageId, ValueId);

/// Those moves that take no more room: a storage that stands for another may live longer. Where the
/// peak would rise, only those stay whose storage lives as long in any case.
pub(crate) fn affordable(draft: &Draft, uses: &Uses, moves: Vec<Move>) -> Vec<Move> {
    if moves.is_empty() || peak_bytes(draft, uses, &moves) <= peak_bytes(draft, uses, &[]) {
        return moves;
    }
    let lives = |(storage, value): &Move| {
        let (other, _) = draft.place(*value);
        uses.get(other).last_named >= uses.get(*storage).last_named
    };
    moves.into_iter().filter(lives).collect()
}

/// Bytes that live at once at most, each storage from its first touch to its last, if values also
/// stood for the storages of `moves`. What is read in place from the host counts nothing.
fn peak_bytes(draft: &Draft, uses: &Uses, moves: &[Move]) -> u64 {
    let mut stands: Vec<u32> = (0..draft.verified.storages().len() as u32).collect();
    for (storage, value) in moves {
        stands[storage.0 as usize] = draft.place(*value).0.0;
    }
    // A copy of a copy: what stands for a storage may go itself.
    for id in 0..stands.len() {
        while stands[id] != stands[stands[id] as usize] {
            stands[id] = stands[stands[id] as usize];
        }
    }
    let mut lives: Vec<Option<(u32, u32)>> = vec![None; stands.len()];
    let mut touch = |value, index, is_write: bool| {
        let (storage, _) = draft.place(value);
        let other = stands[storage.0 as usize];
        // The writes of what goes go with it.
        if !(is_write && other != storage.0) {
            let life = lives[other as usize].get_or_insert((index, index));
            life.1 = index;
        }
    };
    for (index, _, action) in draft.kept() {
        for_reads(action, |value| touch(value, index, false));
        if let Some(value) = written(action) {
            touch(value, index, true);
        }
    }
    let mut change = vec![0i64; draft.verified.actions().len() + 1];
    for (id, life) in lives.iter().enumerate() {
        let (Some((first, last)), Some(info)) =
            (life, draft.verified.storage(StorageId(id as u32)))
        else {
            continue;
        };
        let in_place = matches!(info.origin, StorageOrigin::Upload(_))
            && uses.get(StorageId(id as u32)).writes <= 1;
        if !in_place {
            let bytes = info.root.shape.elements() as i64 * info.dtype.size_bytes() as i64;
            change[*first as usize] += bytes;
            change[*last as usize + 1] -= bytes;
        }
    }
    let mut now = 0;
    let peak = change.iter().map(|change| {
        now += change;
        now
    });
    peak.max().unwrap_or(0).max(0) as u64
}
