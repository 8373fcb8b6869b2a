//! Storages that become results of a run without a copy: they lie in the result's memory from the
//! first step on.

use crate::layout::Layout;
use cloakwork_ir::Device;
use cloakwork_verify::{Action, StorageId, StorageOrigin, ValueId, Verified};
use rustc_hash::FxHashMap;

/// For each such storage, the download that returns it: the first one after which no step writes
/// the storage.
pub(super) fn results(
    verified: &Verified,
    layout: &Layout,
    (home, keeper): (impl Fn(StorageId) -> Device, Option<Device>),
) -> FxHashMap<StorageId, u32> {
    let mut found = FxHashMap::default();
    let mut downloads = 0;
    for (step, action) in verified.actions() {
        if let Action::Download { value, .. } = action {
            if let Some(storage) = whole(verified, layout, *value, *step)
                // Results are in the host's memory, or in that of the device that keeps them; the
                // storages of other devices count for these.
                && home(storage) == keeper.unwrap_or(Device::Cpu)
            {
                found.entry(storage).or_insert(downloads);
            }
            downloads += 1;
        }
    }
    found
}

/// The storage of a value that covers all of it, is row-major in memory, is not a host tensor, and
/// has no use after this step.
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
