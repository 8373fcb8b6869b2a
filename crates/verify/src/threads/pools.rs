//! Pools of programs that plan their memory themselves: no two tensors that may live at the same
//! time lie over each other (V16).

use super::Walk;
use crate::check::Checker;
use crate::report::Issue;
use crate::{StorageId, ValueId};
use cloakwork_ir::{Device, Text};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The last tensor in a range of bytes that begins at its key.
#[derive(Clone, Copy, Debug)]
struct Tenant {
    end: u64,
    storage: StorageId,
    step: u32,
}

/// All pools, by device and name. The last tenant of each byte is enough: those before it left
/// before it came.
#[derive(Default)]
pub(super) struct Pools(FxHashMap<(Device, Text), BTreeMap<u64, Tenant>>);

impl Pools {
    /// Moves a tenant in; the ones that lay there before.
    fn enter(&mut self, pool: (Device, Text), begin: u64, tenant: Tenant) -> Vec<Tenant> {
        if tenant.end <= begin {
            return Vec::new();
        }
        let ranges = self.0.entry(pool).or_default();
        let before = ranges.range(..begin).next_back();
        let first = before.filter(|(_, old)| old.end > begin).map(|(at, _)| *at);
        let inside = ranges.range(begin..tenant.end).map(|(at, _)| *at);
        let found: Vec<u64> = first.into_iter().chain(inside).collect();
        let mut former = Vec::with_capacity(found.len());
        for at in found {
            let Some(old) = ranges.remove(&at) else {
                continue;
            };
            former.push(old);
            if at < begin {
                ranges.insert(at, Tenant { end: begin, ..old });
            }
            if old.end > tenant.end {
                ranges.insert(tenant.end, old);
            }
        }
        ranges.insert(begin, tenant);
        former
    }
}

impl Checker<'_> {
    /// Checks that the memory under an allocation, at the place that its program chose, was freed
    /// before.
    pub(super) fn placed(&mut self, walk: &mut Walk, value: ValueId) {
        let Some(place) = self.note(self.step).and_then(|note| note.place) else {
            return;
        };
        let Some(info) = self.values.value(value) else {
            return;
        };
        let (storage, name) = (info.storage, info.name);
        let bytes = self.values.storage(storage).map_or(0, |storage| {
            let elements = storage.root.shape.elements();
            elements.saturating_mul(storage.dtype.size_bytes() as u64)
        });
        let tenant = Tenant {
            end: place.offset.saturating_add(bytes),
            storage,
            step: self.step,
        };
        let pool = (self.values.device(value), place.pool);
        for former in walk.pools.enter(pool, place.offset, tenant) {
            let freed = walk.freed.get(&former.storage);
            let gone = freed.is_some_and(|freed| walk.schedule.before(freed.node, walk.node));
            if gone || (freed.is_some() && !self.sound) {
                continue;
            }
            let pool = self.program.text_name(place.pool);
            let expected = format!(
                "free bytes {} to {} of the pool \"{pool}\"",
                place.offset, tenant.end
            );
            let got = format!("memory of {}", self.place(former.step));
            let issue = Issue::error("pool", expected, got).names([name]);
            self.report(issue.hint("choose another offset, or deallocate that memory first"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Pools, Tenant};
    use crate::StorageId;
    use cloakwork_ir::{Device, Program};

    #[test]
    fn the_last_tenants_of_a_range_are_those_of_its_bytes() {
        let pool = (Device::Cpu, Program::new().text("p"));
        let mut pools = Pools::default();
        let mut bytes = vec![None; 64];
        let mut state = 7u64;
        for storage in 0..400 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (begin, length) = ((state >> 33) % 48, (state >> 50) % 17);
            let end = begin + length;
            let tenant = Tenant {
                end,
                storage: StorageId(storage),
                step: 0,
            };
            let found = pools.enter(pool, begin, tenant);
            let mut found: Vec<u32> = found.iter().map(|old| old.storage.0).collect();
            let range = begin as usize..end as usize;
            let lain = bytes.get_mut(range).unwrap();
            let mut expected: Vec<u32> = lain.iter().flatten().copied().collect();
            lain.fill(Some(storage));
            for list in [&mut found, &mut expected] {
                list.sort_unstable();
                list.dedup();
            }
            assert_eq!(found, expected, "{begin}..{end}");
        }
    }
}
