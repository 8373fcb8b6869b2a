//! Offsets from lifetimes: buffers that live at the same time never overlap, and the arena is
//! small. Two heuristics run and the smaller arena wins; the exact problem is NP-hard.

use crate::{Arena, Buffer, Home};
use std::collections::{BTreeMap, BTreeSet};

/// Every buffer starts on a cache line.
pub const ALIGNMENT_BYTES: u64 = 64;

/// With more buffers than this, only the sweep runs: the other heuristic takes quadratic time.
const MAX_BY_SIZE: usize = 2048;

fn padded(buffer: &Buffer) -> u64 {
    buffer.bytes.next_multiple_of(ALIGNMENT_BYTES)
}

/// The index of the arena of this home; adds one if it is missing.
pub fn of(arenas: &mut Vec<Arena>, home: Home) -> u16 {
    let found = arenas.iter().position(|arena| arena.home == home);
    let index = found.unwrap_or(arenas.len());
    if index == arenas.len() {
        arenas.push(Arena::new(home));
    }
    index as u16
}

/// Sets each buffer's offset in its arena, and the arenas' sizes. Buffers of zero bytes take no
/// space.
///
/// If the buffers together have more than 2^63 bytes, they get no offsets: the first arena's size
/// is `u64::MAX`, which no allocator grants, and sums of offsets cannot overflow.
pub fn assign(arenas: &mut [Arena], buffers: &mut [Buffer]) {
    let total: u128 = buffers
        .iter()
        .map(|buffer| u128::from(padded(buffer)))
        .sum();
    if i64::try_from(total).is_err() {
        arenas[0].bytes = u64::MAX;
        return;
    }
    if let [arena] = arenas {
        arena.bytes = assign_one(buffers);
        return;
    }
    for (index, arena) in arenas.iter_mut().enumerate() {
        let own = |&i: &usize| usize::from(buffers[i].arena) == index;
        let places: Vec<usize> = (0..buffers.len()).filter(own).collect();
        let mut part: Vec<Buffer> = places.iter().map(|&i| buffers[i]).collect();
        arena.bytes = assign_one(&mut part);
        for (place, buffer) in places.into_iter().zip(part) {
            buffers[place].offset = buffer.offset;
        }
    }
}

/// The offsets of one arena's buffers.
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
    order.sort_by_key(|&i| {
        (
            buffers[i].life.first,
            std::cmp::Reverse(buffers[i].bytes),
            i,
        )
    });
    let mut offsets = vec![0; buffers.len()];
    let mut holes = Holes::default();
    let mut live: BTreeSet<(u32, usize)> = BTreeSet::new();
    for i in order {
        while let Some(&(last, done)) = live.first() {
            if last >= buffers[i].life.first {
                break;
            }
            live.pop_first();
            holes.give(offsets[done], padded(&buffers[done]));
        }
        offsets[i] = holes.take(padded(&buffers[i]));
        live.insert((buffers[i].life.last, i));
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

/// Large buffers first, each at the lowest offset that is free during its lifetime.
fn largest_first(buffers: &[Buffer]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..buffers.len())
        .filter(|&i| buffers[i].bytes > 0)
        .collect();
    order.sort_by_key(|&i| {
        (
            std::cmp::Reverse(buffers[i].bytes),
            buffers[i].life.first,
            i,
        )
    });
    let mut offsets = vec![0; buffers.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(order.len());
    let mut end = 0;
    for i in order {
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|&&j| buffers[i].life.meets(buffers[j].life))
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
    use cloakwork_ir::{Device, Lifetime};

    fn buffer(bytes: u64, first: u32, last: u32) -> Buffer {
        Buffer {
            bytes,
            offset: 0,
            life: Lifetime { first, last },
            arena: 0,
        }
    }

    /// The size of a single arena that holds all buffers.
    fn assign_all(buffers: &mut [Buffer]) -> u64 {
        let mut arenas = [Arena::new(Home::HOST)];
        assign(&mut arenas, buffers);
        arenas[0].bytes
    }

    #[test]
    fn each_arena_has_places_of_its_own() {
        let on = |arena, bytes, first, last| Buffer {
            arena,
            ..buffer(bytes, first, last)
        };
        let mut arenas = [
            Arena::new(Home::HOST),
            Arena::new(Home::Device(Device::Gpu(0))),
            Arena::new(Home::Spill),
        ];
        let mut buffers = [
            on(1, 100, 0, 0),
            on(0, 64, 0, 0),
            on(1, 100, 1, 1),
            on(0, 64, 1, 1),
            on(0, 64, 1, 1),
        ];
        assign(&mut arenas, &mut buffers);
        assert_eq!(arenas.map(|arena| arena.bytes), [128, 128, 0]);
        assert_eq!(buffers.map(|buffer| buffer.offset), [0, 0, 0, 0, 64]);
    }

    fn assert_apart(buffers: &[Buffer], end: u64) {
        for (i, a) in buffers.iter().enumerate() {
            assert!(a.offset % ALIGNMENT_BYTES == 0 && a.offset + a.bytes <= end.max(a.bytes));
            for b in buffers.iter().skip(i + 1) {
                let meet_in_time = a.life.meets(b.life);
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
        let end = assign_all(&mut buffers);
        assert_apart(&buffers, end);
        assert_eq!(end, 256);
    }

    #[test]
    fn more_than_an_address_space_has_no_offsets() {
        let mut buffers = vec![buffer(1 << 47, 0, 1); 1 << 17];
        assert_eq!(assign_all(&mut buffers), u64::MAX);
        let mut few = vec![buffer(1 << 47, 0, 1); 1 << 10];
        assert_eq!(assign_all(&mut few), 1 << 57);
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
            let end = assign_all(&mut buffers);
            let live = (0..60u32)
                .map(|t| {
                    let now = buffers.iter().filter(|b| b.life.meets(Lifetime::at(t)));
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
