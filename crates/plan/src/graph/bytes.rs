//! The last writer of each byte range of a memory, and its readers since.

use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;

/// A task by its number.
pub type TaskId = u32;

/// No task has written these bytes.
const NOBODY: TaskId = TaskId::MAX;

/// More readers than this are replaced by one empty task that waits for all of them. So an access
/// has few dependencies, however many tasks have read the bytes.
const MOST_READERS: usize = 64;
/// More intervals than this under a reader are merged into one.
const MOST_INTERVALS: usize = 64;

/// Tasks that an access has to wait for.
pub type Demands = SmallVec<[TaskId; 8]>;

/// Makes an empty task that waits for other tasks.
pub type Join<'a> = &'a mut dyn FnMut(Demands) -> TaskId;

#[derive(Clone, Debug)]
struct Interval {
    end: u64,
    writer: TaskId,
    readers: SmallVec<[TaskId; 4]>,
}

impl Interval {
    fn everyone(&self, found: &mut Demands) {
        found.extend(self.readers.iter().copied());
        if self.writer != NOBODY {
            found.push(self.writer);
        }
    }

    /// Records a reader.
    fn read(&mut self, task: TaskId, join: Join<'_>) {
        if self.readers.last() == Some(&task) {
            return;
        }
        if self.readers.len() >= MOST_READERS {
            let all = std::mem::take(&mut self.readers);
            self.readers.push(join(all.into_iter().collect()));
        }
        self.readers.push(task);
    }
}

/// The bytes of one memory, as disjoint intervals in order.
#[derive(Debug, Default)]
pub struct Bytes {
    intervals: BTreeMap<u64, Interval>,
}

impl Bytes {
    /// Adds the tasks that a read or a write of some bytes has to wait for: their writers and, for
    /// a write, the readers since. A writer whose bytes were read is waited for through its
    /// readers.
    pub fn demands(&self, range: &Range<u64>, writes: bool, found: &mut Demands) {
        let mut add = |interval: &Interval| {
            if writes && !interval.readers.is_empty() {
                found.extend(interval.readers.iter().copied());
            } else if interval.writer != NOBODY {
                found.push(interval.writer);
            }
        };
        // Most accesses are to the bytes of earlier ones: one lookup finds their interval.
        match self.intervals.get(&range.start) {
            Some(interval) if interval.end == range.end => add(interval),
            _ => self.over(range).for_each(add),
        }
    }

    /// Records that a task reads or writes some bytes.
    pub fn note(&mut self, range: &Range<u64>, task: TaskId, writes: bool, join: Join<'_>) {
        if range.is_empty() {
            return;
        }
        match self.intervals.get_mut(&range.start) {
            Some(interval) if interval.end == range.end => {
                if writes {
                    (interval.writer, interval.readers) = (task, SmallVec::new());
                } else {
                    interval.read(task, join);
                }
            }
            _ => self.note_parts(range, task, writes, join),
        }
    }

    /// Records an access whose bytes are not those of one interval.
    fn note_parts(&mut self, range: &Range<u64>, task: TaskId, writes: bool, join: Join<'_>) {
        self.cut(range.start);
        self.cut(range.end);
        if writes {
            self.put(range, task);
            return;
        }
        if self.over(range).nth(MOST_INTERVALS).is_some() {
            let mut all = Demands::new();
            self.over(range)
                .for_each(|interval| interval.everyone(&mut all));
            self.put(range, join(all));
        }
        self.fill(range);
        for (_, interval) in self.intervals.range_mut(range.clone()) {
            interval.read(task, join);
        }
    }

    /// The intervals that overlap some bytes.
    fn over(&self, range: &Range<u64>) -> impl Iterator<Item = &Interval> {
        let before = self.intervals.range(..range.start).next_back();
        let before = before.filter(|(_, interval)| interval.end > range.start && !range.is_empty());
        let inside = self
            .intervals
            .range(range.start..range.end.max(range.start));
        before
            .into_iter()
            .chain(inside)
            .map(|(_, interval)| interval)
    }

    /// Splits the interval that contains this position, if any.
    fn cut(&mut self, at: u64) {
        let Some((_, before)) = self.intervals.range_mut(..at).next_back() else {
            return;
        };
        if before.end > at {
            let after = before.clone();
            before.end = at;
            self.intervals.insert(at, after);
        }
    }

    /// Replaces all intervals of a range by one with this writer. The range's ends are interval
    /// ends.
    fn put(&mut self, range: &Range<u64>, writer: TaskId) {
        while let Some((&start, _)) = self.intervals.range(range.clone()).next() {
            self.intervals.remove(&start);
        }
        let readers = SmallVec::new();
        let end = range.end;
        let interval = Interval {
            end,
            writer,
            readers,
        };
        self.intervals.insert(range.start, interval);
    }

    /// Fills the gaps of a range with unwritten intervals. The range's ends are interval ends.
    fn fill(&mut self, range: &Range<u64>) {
        let mut gaps: SmallVec<[Range<u64>; 4]> = SmallVec::new();
        let mut at = range.start;
        for (&start, interval) in self.intervals.range(range.clone()) {
            if start > at {
                gaps.push(at..start);
            }
            at = interval.end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        for gap in gaps {
            self.put(&gap, NOBODY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Demands, MOST_READERS, TaskId};
    use std::collections::BTreeSet;
    use std::ops::Range;

    /// The model for the map: every byte has a writer and a set of readers.
    #[derive(Clone, Default)]
    struct Byte {
        writer: Option<TaskId>,
        readers: BTreeSet<TaskId>,
    }

    fn demands(bytes: &Bytes, range: Range<u64>, writes: bool) -> BTreeSet<TaskId> {
        let mut found = Demands::new();
        bytes.demands(&range, writes, &mut found);
        found.into_iter().collect()
    }

    #[test]
    fn each_byte_knows_its_writer_and_its_readers_since() {
        let mut state = 11u64;
        let mut next = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let mut bytes = Bytes::default();
            let mut plain = vec![Byte::default(); 40];
            for task in 0..40 {
                let start = next(40);
                let range = start..start + next(41 - start);
                let writes = next(3) == 0;
                let place = range.start as usize..range.end as usize;
                let mut expected = BTreeSet::new();
                for byte in &plain[place.clone()] {
                    if writes && !byte.readers.is_empty() {
                        expected.extend(&byte.readers);
                    } else {
                        expected.extend(byte.writer);
                    }
                }
                assert_eq!(demands(&bytes, range.clone(), writes), expected);
                bytes.note(&range, task, writes, &mut |_| unreachable!("few intervals"));
                for byte in &mut plain[place] {
                    if writes {
                        byte.writer = Some(task);
                        byte.readers.clear();
                    } else {
                        byte.readers.insert(task);
                    }
                }
            }
        }
    }

    #[test]
    fn many_readers_are_waited_for_through_few_tasks() {
        let mut bytes = Bytes::default();
        let mut joined: Vec<Demands> = Vec::new();
        let readers = 10 * MOST_READERS as u32;
        for reader in 0..readers {
            let mut join = |all| {
                joined.push(all);
                readers + joined.len() as u32 - 1
            };
            bytes.note(&(0..8), reader, false, &mut join);
        }
        let mut open: Vec<TaskId> = demands(&bytes, 0..8, true).into_iter().collect();
        assert!(open.len() <= MOST_READERS);
        let mut reached = BTreeSet::new();
        while let Some(task) = open.pop() {
            match task.checked_sub(readers) {
                Some(join) => open.extend(&joined[join as usize]),
                None => drop(reached.insert(task)),
            }
        }
        assert!(reached.into_iter().eq(0..readers));
    }

    #[test]
    fn many_small_writes_are_waited_for_through_one_task() {
        let mut bytes = Bytes::default();
        for byte in 0..1000 {
            bytes.note(
                &(byte..byte + 1),
                byte as u32,
                true,
                &mut |_| unreachable!(),
            );
        }
        assert_eq!(demands(&bytes, 0..1000, false).len(), 1000);
        let mut joined = Demands::new();
        let mut join = |all| {
            joined = all;
            5000
        };
        bytes.note(&(0..1000), 4000, false, &mut join);
        assert!(joined.into_iter().eq(0..1000));
        assert_eq!(demands(&bytes, 10..20, false), [5000].into());
        assert_eq!(demands(&bytes, 10..20, true), [4000].into());
    }
}
