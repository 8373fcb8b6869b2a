//! Chooses the buffers that leave and re-enter memory, and when: Belady's rule.

use super::units::{Sizes, Touch, Units};
use std::collections::BTreeSet;

/// A move before a unit, to make room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A buffer is written to disk, and its memory is freed.
    Out(u32),
    /// The disk already holds all of a buffer; its memory is freed.
    Leave(u32),
    /// A buffer is read from disk.
    In(u32),
}

/// No further use.
const NEVER: u32 = u32::MAX;

/// State of a buffer between units.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    here: bool,
    /// Whether it has been written.
    begun: bool,
    /// Whether it differs from its copy on disk.
    dirty: bool,
    /// Index of its next use in the list of uses.
    next_use: usize,
}

struct Memory<'a> {
    sizes: &'a Sizes,
    states: Vec<State>,
    /// For each buffer the units that touch it, terminated by `NEVER`.
    uses: Vec<u32>,
    /// The evictable buffers in memory, by their next use.
    here: BTreeSet<(u32, u32)>,
    bytes: u64,
    moves: Vec<(u32, Move)>,
}

/// The moves that keep at most `most_bytes` of buffers in memory at a time, each with the unit
/// before which it happens. `None` if a single unit touches more.
pub(super) fn choose(units: &Units, sizes: &Sizes, most_bytes: u64) -> Option<Vec<(u32, Move)>> {
    let mut memory = Memory::new(units, sizes);
    for (index, unit) in (0u32..).zip(&units.all) {
        let touches = units.touches(unit);
        memory.make_room(index, touches, most_bytes)?;
        for touch in touches {
            memory.enter(index, touch.buffer);
        }
        for touch in touches {
            memory.used(index, *touch);
        }
    }
    Some(memory.moves)
}

/// The smallest number of bytes with which [`choose`] finds moves: the peak if every buffer that
/// can leave memory does so after each unit.
pub(super) fn least_room(units: &Units, sizes: &Sizes) -> u64 {
    let mut memory = Memory::new(units, sizes);
    let mut least = 0;
    for (index, unit) in (0u32..).zip(&units.all) {
        let touches = units.touches(unit);
        // It evicts all that can leave before it gives up.
        let _ = memory.make_room(index, touches, 0);
        for touch in touches {
            memory.enter(index, touch.buffer);
        }
        least = memory.bytes.max(least);
        for touch in touches {
            memory.used(index, *touch);
        }
    }
    least
}

impl<'a> Memory<'a> {
    fn new(units: &Units, sizes: &'a Sizes) -> Self {
        let buffers = sizes.bytes.len();
        let mut counts = vec![1usize; buffers];
        let all = || (0u32..).zip(&units.all);
        for (_, unit) in all() {
            let touches = units.touches(unit).iter();
            touches.for_each(|touch| counts[touch.buffer as usize] += 1);
        }
        let mut states = vec![State::default(); buffers];
        let mut sum = 0;
        for (state, count) in states.iter_mut().zip(counts) {
            state.next_use = sum;
            sum += count;
        }
        let mut uses = vec![NEVER; sum];
        let mut ends: Vec<usize> = states.iter().map(|state| state.next_use).collect();
        for (index, unit) in all() {
            for touch in units.touches(unit) {
                let end = &mut ends[touch.buffer as usize];
                uses[*end] = index;
                *end += 1;
            }
        }
        Self {
            sizes,
            states,
            uses,
            here: BTreeSet::new(),
            bytes: 0,
            moves: Vec::new(),
        }
    }

    fn size(&self, buffer: u32) -> u64 {
        self.sizes.bytes[buffer as usize]
    }

    fn next_use(&self, buffer: u32) -> u32 {
        self.uses[self.states[buffer as usize].next_use]
    }

    /// Spills buffers until a unit's operands have room.
    fn make_room(&mut self, unit: u32, touches: &[Touch], most_bytes: u64) -> Option<()> {
        let lacking = touches
            .iter()
            .filter(|t| !self.states[t.buffer as usize].here);
        let sizes = lacking.map(|touch| self.size(touch.buffer));
        let wanted = sizes.fold(0, u64::saturating_add);
        while self.bytes.saturating_add(wanted) > most_bytes {
            let &(next, buffer) = self.here.last()?;
            if next <= unit {
                return None;
            }
            self.here.remove(&(next, buffer));
            self.bytes -= self.size(buffer);
            let state = &mut self.states[buffer as usize];
            let leaving = if state.dirty {
                Move::Out(buffer)
            } else {
                Move::Leave(buffer)
            };
            (state.here, state.dirty) = (false, false);
            self.moves.push((unit, leaving));
        }
        Some(())
    }

    fn enter(&mut self, unit: u32, buffer: u32) {
        if self.states[buffer as usize].here {
            return;
        }
        let size = self.size(buffer);
        let next = self.next_use(buffer);
        let state = &mut self.states[buffer as usize];
        state.here = true;
        if state.begun {
            self.moves.push((unit, Move::In(buffer)));
        }
        if size > 0 {
            self.bytes += size;
            self.stays(next, buffer);
        }
    }

    /// Records that a unit has used a buffer.
    fn used(&mut self, unit: u32, touch: Touch) {
        let size = self.size(touch.buffer);
        self.here.remove(&(unit, touch.buffer));
        let state = &mut self.states[touch.buffer as usize];
        state.begun = true;
        state.dirty |= touch.writes;
        state.next_use += 1;
        let next = self.next_use(touch.buffer);
        if next == NEVER {
            self.bytes -= size;
        } else if size > 0 {
            self.stays(next, touch.buffer);
        }
    }

    /// Records that a buffer is in memory and, if it is the host's, can be evicted.
    fn stays(&mut self, next: u32, buffer: u32) {
        if self.sizes.may_wait[buffer as usize] {
            self.here.insert((next, buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::units::{Sizes, Units};
    use super::{Move, choose};

    fn sizes(bytes: &[u64], may_wait: &[bool]) -> Sizes {
        Sizes {
            bytes: bytes.to_vec(),
            may_wait: may_wait.to_vec(),
        }
    }

    /// The moves for units that touch buffers of 64 bytes each; each unit writes its first one.
    fn moves(units: &[&[u32]], most_buffers: u64) -> Option<Vec<(u32, Move)>> {
        let units = Units::of_lists(units);
        choose(&units, &sizes(&[64; 8], &[true; 8]), most_buffers * 64)
    }

    #[test]
    fn nothing_moves_where_all_has_room() {
        assert_eq!(moves(&[&[0], &[1, 0], &[2, 1]], 2), Some(vec![]));
    }

    #[test]
    fn the_one_used_last_goes_and_comes_back() {
        let units: &[&[u32]] = &[&[0], &[1], &[2, 1], &[3, 0]];
        let expected = vec![(2, Move::Out(0)), (3, Move::In(0))];
        assert_eq!(moves(units, 2), Some(expected));
    }

    #[test]
    fn what_lies_on_a_device_stays_there() {
        let units = Units::of_lists(&[&[0], &[1], &[2, 1], &[3, 0]]);
        let found = |bytes: &[u64], may_wait: &[bool]| choose(&units, &sizes(bytes, may_wait), 128);
        assert!(found(&[64; 4], &[true; 4]).is_some());
        let first_elsewhere = [false, true, true, true];
        assert_eq!(found(&[64; 4], &first_elsewhere), None);
        assert_eq!(found(&[0, 64, 64, 64], &first_elsewhere), Some(vec![]));
    }

    #[test]
    fn what_was_not_written_since_is_not_written_again() {
        let units: &[&[u32]] = &[
            &[0],
            &[1, 0],
            &[2, 1],
            &[3, 0],
            &[4, 3],
            &[5, 0],
            &[6, 4, 5],
        ];
        let found = moves(units, 2);
        assert_eq!(found, None, "the last touches three");
        let found = moves(&units[..6], 2).unwrap();
        let outs = found.iter().filter(|(_, one)| *one == Move::Out(0)).count();
        let ins = found.iter().filter(|(_, one)| *one == Move::In(0)).count();
        assert_eq!((outs, ins), (1, 2), "{found:?}");
    }
}
