//! Storages that a run hands out as they are: they lie in the result's memory from the first step
//! on, and nothing is copied at the end.

use crate::layout::Layout;
use cloakwork_ir::Device;
use cloakwork_verify::{Action, StorageId, StorageOrigin, ValueId, Verified};
use rustc_hash::FxHashMap;

/// For each such storage, which of the program's downloads hands it out: the first one after which
/// nothing writes it.
pub(super) fn results(
    verified: &Verified,
    layout: &Layout,
    home: impl Fn(StorageId) -> Device,
) -> FxHashMap<StorageId, u32> {
    let mut found = FxHashMap::default();
    let mut downloads = 0;
    for (step, action) in verified.actions() {
        if let Action::Download { value, .. } = action {
            if let Some(storage) = whole(verified, layout, *value, *step)
                // Results are the host's: what a device holds is counted as its own.
                && home(storage) == Device::Cpu
            {
                found.entry(storage).or_insert(downloads);
            }
            downloads += 1;
        }
    }
    found
}

/// The storage of a value that is all of it, row-major in memory, not the host's own, and done with
/// before this step.
fn whole(verified: &Verified, layout: &Layout, value: ValueId, step: u32) -> Option<StorageId> {
    let id = verified.value(value)?.storage;
    let storage = verified.storage(id)?;
    let in_place =
        matches!(storage.origin, StorageOrigin::Upload(_)) && storage.last_write.is_none();
    let (view, root) = (layout.view(verified, value), layout.root(verified, id));
    let same = view.offset == 0 && view.is_contiguous() && root.is_contiguous();
    let all = view.shape.elements() == root.shape.elements();
    let is_final = storage.last_write < Some(step);
    (same && all && is_final && !in_place).then_some(id)
}
