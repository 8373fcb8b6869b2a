//! Offsets from lifetimes: buffers that live at the same time never overlap, and the arena is
//! small. Two heuristics run and the smaller arena wins; the exact problem is NP-hard.

use crate::Buffer;
use cloakwork_ir::Device;
use std::collections::{BTreeMap, BTreeSet};

/// Every buffer starts on a cache line.
pub const ALIGNMENT_BYTES: u64 = 64;

/// Above this many buffers, only the sweep runs: the other is quadratic.
const MAX_BY_SIZE: usize = 2048;

fn padded(buffer: &Buffer) -> u64 {
    buffer.bytes.next_multiple_of(ALIGNMENT_BYTES)
}

/// Sets each buffer's offset and returns the arena's size. Buffers of zero bytes take no place.
/// Each device has a part of the arena for itself, behind that of the device before.
///
/// Buffers that come to more than 2^63 bytes together get no offsets: the size is `u64::MAX`, which
/// no allocation gives, and sums of offsets cannot overflow.
pub fn assign(buffers: &mut [Buffer]) -> u64 {
    let total: u128 = buffers
        .iter()
        .map(|buffer| u128::from(padded(buffer)))
        .sum();
    if i64::try_from(total).is_err() {
        return u64::MAX;
    }
    let devices: BTreeSet<Device> = buffers.iter().map(|buffer| buffer.device).collect();
    if devices.len() < 2 {
        return assign_one(buffers);
    }
    let mut end = 0;
    for device in devices {
        let own = |&i: &usize| buffers[i].device == device;
        let places: Vec<usize> = (0..buffers.len()).filter(own).collect();
        let mut part: Vec<Buffer> = places.iter().map(|&i| buffers[i]).collect();
        let bytes = assign_one(&mut part);
        for (place, buffer) in places.into_iter().zip(part) {
            buffers[place].offset = end + buffer.offset;
        }
        end += bytes;
    }
    end
}

/// How much of an arena with offsets, which ends there, lies in memory: disks have the last parts.
pub fn in_memory(buffers: &[Buffer], end: u64) -> u64 {
    if end == u64::MAX {
        return end;
    }
    let on_disk = buffers
        .iter()
        .filter(|buffer| buffer.bytes > 0 && matches!(buffer.device, Device::Disk(_)));
    on_disk.map(|buffer| buffer.offset).min().unwrap_or(end)
}

/// How much each device's part of an arena with offsets takes, in their order.
pub fn parts(buffers: &[Buffer]) -> Vec<(Device, u64)> {
    let mut ends: BTreeMap<Device, u64> = BTreeMap::new();
    for buffer in buffers.iter().filter(|buffer| buffer.bytes > 0) {
        let end = ends.entry(buffer.device).or_default();
        *end = (*end).max(buffer.offset + padded(buffer));
    }
    let mut begin = 0;
    let part = |(device, end)| {
        (
            device,
            u64::saturating_sub(end, std::mem::replace(&mut begin, end)),
        )
    };
    ends.into_iter().map(part).collect()
}

/// The offsets of one device's buffers.
fn assign_one(buffers: &mut [Buffer]) -> u64 {
    let (swept, sweep_bytes) = sweep(buffers);
    let (offsets, bytes) = if buffers.len() <= MAX_BY_SIZE {
        let (sized, size_bytes) = largest_first(buffers);
        if size_bytes < sweep_bytes {
            (sized, size_bytes)
        } else {
            (swept, sweep_bytes)
        }
    } else {
        (swept, sweep_bytes)
    };
    for (buffer, offset) in buffers.iter_mut().zip(offsets) {
        buffer.offset = offset;
    }
    bytes
}

/// In order of time, each buffer takes the smallest hole that fits.
fn sweep(buffers: &[Buffer]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..buffers.len())
        .filter(|&i| buffers[i].bytes > 0)
        .collect();
    order.sort_by_key(|&i| (buffers[i].first, std::cmp::Reverse(buffers[i].bytes), i));
    let mut offsets = vec![0; buffers.len()];
    let mut holes = Holes::default();
    let mut live: BTreeSet<(u32, usize)> = BTreeSet::new();
    for i in order {
        while let Some(&(last, done)) = live.first() {
            if last >= buffers[i].first {
                break;
            }
            live.pop_first();
            holes.give(offsets[done], padded(&buffers[done]));
        }
        offsets[i] = holes.take(padded(&buffers[i]));
        live.insert((buffers[i].last, i));
    }
    (offsets, holes.end)
}

/// Free ranges below `end`, by offset and by size.
#[derive(Default)]
struct Holes {
    by_offset: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
    end: u64,
}

impl Holes {
    fn take(&mut self, bytes: u64) -> u64 {
        if let Some(&(size, offset)) = self.by_size.range((bytes, 0)..).next() {
            self.remove(offset, size);
            if size > bytes {
                self.insert(offset + bytes, size - bytes);
            }
            return offset;
        }
        // No hole fits: grow, from the last hole if it touches the end.
        let last = self
            .by_offset
            .last_key_value()
            .map(|(&offset, &size)| (offset, size));
        let start = match last {
            Some((offset, size)) if offset + size == self.end => {
                self.remove(offset, size);
                offset
            }
            _ => self.end,
        };
        self.end = start + bytes;
        start
    }

    fn give(&mut self, mut offset: u64, mut bytes: u64) {
        let before = self
            .by_offset
            .range(..offset)
            .next_back()
            .map(|(&o, &s)| (o, s));
        if let Some((o, s)) = before
            && o + s == offset
        {
            self.remove(o, s);
            offset = o;
            bytes += s;
        }
        if let Some(&s) = self.by_offset.get(&(offset + bytes)) {
            self.remove(offset + bytes, s);
            bytes += s;
        }
        self.insert(offset, bytes);
    }

    fn insert(&mut self, offset: u64, bytes: u64) {
        self.by_offset.insert(offset, bytes);
        self.by_size.insert((bytes, offset));
    }

    fn remove(&mut self, offset: u64, bytes: u64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(bytes, offset));
    }
}

/// Large buffers first, each at the lowest offset that no overlapping lifetime holds.
fn largest_first(buffers: &[Buffer]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..buffers.len())
        .filter(|&i| buffers[i].bytes > 0)
        .collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(buffers[i].bytes), buffers[i].first, i));
    let mut offsets = vec![0; buffers.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(order.len());
    let mut end = 0;
    for i in order {
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|&&j| {
                buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last
            })
            .map(|&j| (offsets[j], offsets[j] + padded(&buffers[j])))
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (low, high) in taken {
            if offset + padded(&buffers[i]) <= low {
                break;
            }
            offset = offset.max(high);
        }
        offsets[i] = offset;
        end = end.max(offset + padded(&buffers[i]));
        placed.push(i);
    }
    (offsets, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(bytes: u64, first: u32, last: u32) -> Buffer {
        Buffer {
            bytes,
            offset: 0,
            first,
            last,
            device: Device::Cpu,
        }
    }

    #[test]
    fn no_two_devices_share_a_place() {
        let on = |device, bytes, first, last| Buffer {
            device,
            ..buffer(bytes, first, last)
        };
        let (cpu, gpu) = (Device::Cpu, Device::Gpu(0));
        let mut buffers = [
            on(gpu, 100, 0, 0),
            on(cpu, 64, 0, 0),
            on(gpu, 100, 1, 1),
            on(cpu, 64, 1, 1),
            on(cpu, 64, 1, 1),
        ];
        let end = assign(&mut buffers);
        assert_apart(&buffers, end);
        assert_eq!(end, 256);
        assert_eq!(parts(&buffers), [(cpu, 128), (gpu, 128)]);
        assert!(
            buffers
                .iter()
                .all(|b| (b.device == gpu) == (b.offset >= 128))
        );
    }

    fn assert_apart(buffers: &[Buffer], end: u64) {
        for (i, a) in buffers.iter().enumerate() {
            assert!(a.offset % ALIGNMENT_BYTES == 0 && a.offset + a.bytes <= end.max(a.bytes));
            for b in buffers.iter().skip(i + 1) {
                let meet_in_time = a.first <= b.last && b.first <= a.last;
                let apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
                assert!(
                    !meet_in_time || apart || a.bytes == 0 || b.bytes == 0,
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn a_dead_buffer_gives_its_place_to_the_next() {
        let mut buffers = [buffer(100, 0, 1), buffer(100, 1, 2), buffer(100, 2, 3)];
        let end = assign(&mut buffers);
        assert_apart(&buffers, end);
        assert_eq!(end, 256);
    }

    #[test]
    fn more_than_an_address_space_has_no_offsets() {
        let mut buffers = vec![buffer(1 << 47, 0, 1); 1 << 17];
        assert_eq!(assign(&mut buffers), u64::MAX);
        let mut few = vec![buffer(1 << 47, 0, 1); 1 << 10];
        assert_eq!(assign(&mut few), 1 << 57);
    }

    #[test]
    fn random_lifetimes_never_overlap_in_place_and_time() {
        let mut state = 7u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..200 {
            let count = 1 + next(60);
            let mut buffers: Vec<Buffer> = (0..count)
                .map(|_| {
                    let first = next(40) as u32;
                    buffer(next(5000), first, first + next(12) as u32)
                })
                .collect();
            for placed in [sweep(&buffers), largest_first(&buffers)] {
                for (b, &offset) in buffers.iter_mut().zip(&placed.0) {
                    b.offset = offset;
                }
                assert_apart(&buffers, placed.1);
            }
            let end = assign(&mut buffers);
            let live = (0..60u32)
                .map(|t| {
                    let now = buffers.iter().filter(|b| b.first <= t && t <= b.last);
                    now.map(padded).sum::<u64>()
                })
                .max();
            assert!(
                end >= live.unwrap_or(0),
                "round {round}: below the sum of live buffers"
            );
        }
    }
}
