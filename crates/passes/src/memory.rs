//! About how much memory storages take at the same time.

use crate::Draft;
use crate::facts::{for_reads, written};
use crate::uses::Uses;
use cloakwork_ir::{Lifetime, peak_bytes};
use cloakwork_verify::{StorageId, StorageOrigin, ValueId};

/// A value that is to stand for the first one of a storage.
pub(crate) type Move = (StorageId, ValueId);

/// Those moves that take no more room: a storage that stands for another may live longer. Where the
/// peak would rise, only those stay whose storage lives as long in any case.
pub(crate) fn affordable(draft: &Draft, uses: &Uses, moves: Vec<Move>) -> Vec<Move> {
    if moves.is_empty() || peak_of(draft, uses, &moves) <= peak_of(draft, uses, &[]) {
        return moves;
    }
    let lives = |(storage, value): &Move| {
        let (other, _) = draft.place(*value);
        uses.get(other).named.last >= uses.get(*storage).named.last
    };
    moves.into_iter().filter(lives).collect()
}

/// Bytes that live at once at most, each storage from its first touch to its last, if values also
/// stood for the storages of `moves`. What is read in place from the host counts nothing.
fn peak_of(draft: &Draft, uses: &Uses, moves: &[Move]) -> u64 {
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
    let mut lives = vec![Lifetime::NONE; stands.len()];
    let mut touch = |value, index, is_write: bool| {
        let (storage, _) = draft.place(value);
        let other = stands[storage.0 as usize];
        // The writes of what goes go with it.
        if !(is_write && other != storage.0) {
            lives[other as usize].extend(index);
        }
    };
    for (index, _, action) in draft.kept() {
        for_reads(action, |value| touch(value, index, false));
        if let Some(value) = written(action) {
            touch(value, index, true);
        }
    }
    let sized = (0u32..).zip(lives).filter_map(|(id, life)| {
        let info = draft.verified.storage(StorageId(id))?;
        let in_place =
            matches!(info.origin, StorageOrigin::Upload(_)) && uses.get(StorageId(id)).writes <= 1;
        let bytes = info.root.shape.elements() * info.dtype.size_bytes() as u64;
        (!in_place).then_some((life, bytes))
    });
    peak_bytes(draft.verified.actions().len(), sized)
}
