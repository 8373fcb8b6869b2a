//! The bytes of host tensors that steps read: only those are uploaded to a device.

use super::Builder;
use crate::graph::Reach;
use cloakwork_ir::{Device, HostId};
use cloakwork_verify::{Action, StorageOrigin, ValueId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Bytes of host tensors that steps of each device read in place, as sorted ranges that neither
/// overlap nor touch.
#[derive(Default)]
pub(super) struct Reached {
    ranges: FxHashMap<(HostId, Device), Vec<Range<i64>>>,
}

impl Reached {
    /// The range that contains some bytes and is moved by one transfer; `None` if no step is known
    /// to read them.
    pub(super) fn around(
        &self,
        (host, device): (HostId, Device),
        bytes: &Range<i64>,
    ) -> Option<Range<i64>> {
        let ranges = self.ranges.get(&(host, device))?;
        let after = ranges.partition_point(|range| range.start <= bytes.start);
        let range = ranges.get(after.checked_sub(1)?)?;
        (bytes.end <= range.end).then(|| range.clone())
    }

    fn add(&mut self, host: HostId, device: Device, bytes: Range<i64>) {
        self.ranges.entry((host, device)).or_default().push(bytes);
    }

    /// Merges overlapping ranges.
    fn join(&mut self) {
        for ranges in self.ranges.values_mut() {
            ranges.sort_unstable_by_key(|range| range.start);
            let mut joined: Vec<Range<i64>> = Vec::with_capacity(ranges.len());
            for range in ranges.drain(..) {
                match joined.last_mut() {
                    Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                    _ => joined.push(range),
                }
            }
            *ranges = joined;
        }
    }
}

impl Builder<'_> {
    /// The bytes that the program's steps read of host tensors in place.
    pub(super) fn reached(&self) -> Reached {
        let mut reached = Reached::default();
        for (_, action) in self.verified.actions() {
            match action {
                Action::Kernel { call, out } => {
                    let values = (0..call.values.len()).filter_map(|param| call.value(param));
                    values.for_each(|value| self.note_reached((value, *out), &mut reached));
                }
                Action::Copy { source, value, .. } => {
                    self.note_reached((*source, *value), &mut reached);
                }
                _ => {}
            }
        }
        reached.join();
        reached
    }

    /// Notes a read of a value by a step with this result.
    fn note_reached(&self, (value, result): (ValueId, ValueId), reached: &mut Reached) {
        let (Ok(info), Ok(result)) = (self.value(value), self.value(result)) else {
            return;
        };
        let Ok(storage) = self.storage(info.storage) else {
            return;
        };
        if let StorageOrigin::Upload(host) = storage.origin
            && self.is_in_place(info.storage, storage)
        {
            let view = self.layout.view(self.verified, value);
            let reach = Reach::of(view, 0, info.dtype.size_bytes());
            let start = self.host_start_bytes(host) + reach.low();
            let device = self.device_of(result.storage);
            reached.add(host, device, start..start + reach.bytes() as i64);
        }
    }
}
