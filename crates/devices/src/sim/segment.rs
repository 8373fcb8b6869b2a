//! Segments: copied nodes that a queue's thread runs.
//!
//! They prove what plans say of segments. Each run takes one of the orders that the nodes allow, at
//! random. An operand must lie in a range that is in use at its node, and ranges in use at one node
//! must not overlap. Bytes whose contents mean nothing before a run, or after it, are overwritten.

use super::queue::{Kind, Shared, Why, lock};
use super::table::{At, Device, Launch, REFUSED, Scratch, copied, device, found, holds, queue};
use crate::abi::{Opaque, RawNode, RawParts, RawRange, RawSegmentFunctions, node, range};
use crate::memory::Memory;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub static FUNCTIONS: RawSegmentFunctions = RawSegmentFunctions {
    build,
    run,
    release,
};

/// The byte that overwrites undefined bytes.
const NOISE: u8 = 0xA5;
/// The most bytes that are overwritten of one undefined range.
const MOST_NOISE: usize = 1 << 16;

/// The work of a node, over pointers of the process.
enum Work {
    Launch(Launch, u64),
    Prepare(Launch, At),
    /// The status word, and the number of the check.
    Check(At, u64),
    Join,
}

struct Node {
    work: Work,
    /// The number of nodes that must be done before it.
    after: u32,
    /// The nodes that are after it.
    next: Vec<u32>,
}

/// Nodes with all that a run needs.
struct Segment {
    nodes: Vec<Node>,
    scratch_bytes: u64,
    /// The allocations that nodes access: their addresses, and where their bytes are.
    rooms: Vec<(usize, At)>,
    /// Stretches of bytes that are undefined before a run, and after it.
    undefined: [Vec<(At, usize)>; 2],
    runs: AtomicU64,
}

// SAFETY: plain data and pointers to the device's memory; queues decide who writes when.
unsafe impl Sync for Segment {}

fn address(at: At) -> usize {
    at.0 as usize
}

fn bytes_of(range: &RawRange) -> Range<usize> {
    let start = address(At(range.at));
    start..start + range.bytes as usize
}

/// Ranges in use while nodes are looked at one after another.
struct InUse<'a> {
    /// Those to come, the first at the end.
    later: Vec<&'a RawRange>,
    /// The ranges in use, by their start: their end, and the last node that uses them. None
    /// overlap.
    now: BTreeMap<usize, (usize, u32)>,
    /// The places of operands without elements.
    empty: BTreeSet<usize>,
}

impl<'a> InUse<'a> {
    fn of(ranges: &'a [RawRange]) -> Self {
        let mut later: Vec<&RawRange> = ranges.iter().filter(|range| range.bytes > 0).collect();
        later.sort_by_key(|range| std::cmp::Reverse(range.first));
        let empty = ranges.iter().filter(|range| range.bytes == 0);
        Self {
            later,
            now: BTreeMap::new(),
            empty: empty.map(|range| range.at as usize).collect(),
        }
    }

    /// Goes on to a node.
    fn reach(&mut self, node: u32) -> Result<(), String> {
        while let Some(range) = self.later.pop_if(|range| range.first <= node) {
            let bytes = bytes_of(range);
            let before = self.now.range(..bytes.end).rev();
            let over = before.take_while(|(_, (end, _))| *end > bytes.start);
            let over: Vec<(usize, u32)> = over.map(|(&at, &(_, last))| (at, last)).collect();
            for (at, last) in over {
                if last >= node {
                    return Err(format!("two ranges at {at:#x} are in use at node {node}"));
                }
                self.now.remove(&at);
            }
            self.now.insert(bytes.start, (bytes.end, range.last));
        }
        Ok(())
    }

    /// Whether a range in use holds an address.
    fn holds(&self, at: At, node: u32) -> bool {
        let before = self.now.range(..=address(at)).next_back();
        before.is_some_and(|(_, &(end, last))| address(at) < end && node <= last)
            || self.empty.contains(&address(at))
    }

    /// Checks the addresses of a launch.
    fn check(&self, launch: &Launch, node: u32) -> Result<(), String> {
        let all = launch.data.iter().chain(&launch.prepared);
        let mut unknown = all.filter(|at| !at.0.is_null() && !self.holds(**at, node));
        match unknown.next() {
            Some(at) => Err(format!(
                "node {node} accesses {:#x}, in no range that is in use there",
                address(*at)
            )),
            None => Ok(()),
        }
    }
}

/// The bytes of some ranges that lie in none of others.
fn without(
    ranges: impl Iterator<Item = Range<usize>>,
    others: &[Range<usize>],
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = ranges.collect();
    ranges.sort_by_key(|range| range.start);
    let mut others = others.iter().peekable();
    let mut left = Vec::new();
    let mut at = 0;
    for range in ranges {
        at = at.max(range.start);
        while let Some(other) = others.next_if(|other| other.start < range.end) {
            if at < other.start {
                left.push(at..other.start);
            }
            at = at.max(other.end);
        }
        if at < range.end {
            left.push(at..range.end);
            at = range.end;
        }
    }
    left
}

/// The bytes that ranges without a flag contain, and ranges with the flag do not.
fn undefined(memory: &Memory, ranges: &[RawRange], flag: u64) -> Result<Vec<(At, usize)>, String> {
    let flagged = |is: bool| {
        let found = ranges
            .iter()
            .filter(move |range| (range.flags & flag != 0) == is);
        found.map(bytes_of)
    };
    let mut defined: Vec<Range<usize>> = flagged(true).collect();
    defined.sort_by_key(|range| range.start);
    let stretch = |bytes: Range<usize>| {
        let at = std::ptr::without_provenance_mut(bytes.start);
        let there = memory.find(at, bytes.len() as u64)?;
        Ok((At(there), bytes.len().min(MOST_NOISE)))
    };
    without(flagged(false), &defined)
        .into_iter()
        .map(stretch)
        .collect()
}

impl Segment {
    /// Copies nodes and checks all addresses.
    ///
    /// # Safety
    /// The contract of `device.h`.
    unsafe fn of(memory: &Memory, nodes: &[RawNode], ranges: &[RawRange]) -> Result<Self, String> {
        let mut in_use = InUse::of(ranges);
        let mut own: Vec<Node> = Vec::with_capacity(nodes.len());
        let mut scratch_bytes = 0;
        for (number, raw) in (0u32..).zip(nodes) {
            in_use.reach(number)?;
            // SAFETY: the caller's promise.
            let (work, after) =
                unsafe { (work_of(raw)?, copied(raw.after, raw.after_count as usize)) };
            let work = match work {
                Work::Launch(launch, units) => {
                    in_use.check(&launch, number)?;
                    scratch_bytes = scratch_bytes.max(launch.scratch_bytes());
                    Work::Launch(launch.found(memory)?, units)
                }
                Work::Prepare(launch, into) => {
                    in_use.check(&launch, number)?;
                    if !in_use.holds(into, number) {
                        return Err(format!("node {number} prepares no block of a range"));
                    }
                    Work::Prepare(launch.found(memory)?, found(memory, into)?)
                }
                Work::Check(status, check) => {
                    if !in_use.holds(status, number) {
                        return Err(format!("node {number} checks no status word of a range"));
                    }
                    Work::Check(found(memory, status)?, check)
                }
                Work::Join => Work::Join,
            };
            for &before in &after {
                let other = own.get_mut(before as usize);
                let other = other.ok_or_else(|| format!("node {number} is after node {before}"))?;
                other.next.push(number);
            }
            own.push(Node {
                work,
                after: after.len() as u32,
                next: Vec::new(),
            });
        }
        Ok(Self {
            nodes: own,
            scratch_bytes,
            rooms: rooms(memory, ranges)?,
            undefined: [
                undefined(memory, ranges, range::INPUT)?,
                undefined(memory, ranges, range::OUTPUT)?,
            ],
            runs: AtomicU64::new(0),
        })
    }

    /// Its launches, and the elements that they visit.
    fn launches(&self) -> Kind {
        let launches = self.nodes.iter().filter_map(|node| match &node.work {
            Work::Launch(launch, _) => Some(launch.elements()),
            _ => None,
        });
        let add = |(count, sum): (u32, u64), elements| (count + 1, sum.saturating_add(elements));
        let (count, elements) = launches.fold((0, 0), add);
        Kind::Launches(count, elements)
    }

    fn run(&self, shared: &Shared) -> Result<(), Why> {
        let is_there = |(at, there): &(usize, At)| {
            let now = lock(&shared.memory).find(std::ptr::without_provenance_mut(*at), 0);
            now == Ok(there.0)
        };
        if !self.rooms.iter().all(is_there) {
            return Err("memory of a segment was released before it"
                .to_owned()
                .into());
        }
        let scratch = Scratch::new(self.scratch_bytes)?;
        self.overwrite(0);
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let mut random = run.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut after: Vec<u32> = self.nodes.iter().map(|node| node.after).collect();
        let free = (0u32..).zip(&after).filter(|(_, after)| **after == 0);
        let mut ready: Vec<u32> = free.map(|(number, _)| number).collect();
        while !ready.is_empty() {
            random = super::queue::next(random);
            let number = ready.swap_remove((random >> 32) as usize % ready.len());
            let node = &self.nodes[number as usize];
            // SAFETY: the contract of `device.h`; addresses were found, and their memory is there.
            match &node.work {
                Work::Launch(launch, units) => unsafe { launch.run(*units, None, &scratch) },
                Work::Prepare(launch, into) => unsafe { launch.run(0, Some(*into), &scratch) },
                // SAFETY: as above; launches that it is after are done.
                Work::Check(status, check) => unsafe { holds(*status, *check) }?,
                Work::Join => {}
            }
            for &next in &node.next {
                after[next as usize] -= 1;
                if after[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        self.overwrite(1);
        Ok(())
    }

    /// Overwrites bytes that are undefined before a run, or after it.
    fn overwrite(&self, when: usize) {
        for (at, bytes) in &self.undefined[when] {
            // SAFETY: bytes of the device's memory, as `find` says, which this segment alone
            // accesses now.
            unsafe { at.0.cast::<u8>().write_bytes(NOISE, *bytes) };
        }
    }
}

/// The allocations that ranges are in.
fn rooms(memory: &Memory, ranges: &[RawRange]) -> Result<Vec<(usize, At)>, String> {
    let mut all = BTreeSet::new();
    for range in ranges {
        memory.find(range.at, range.bytes)?;
        all.extend(memory.room(range.at));
    }
    let place = |at: usize| {
        let there = memory.find(std::ptr::without_provenance_mut(at), 0)?;
        Ok((at, At(there)))
    };
    all.into_iter().map(place).collect()
}

/// A copy of the work of a node.
///
/// # Safety
/// The contract of `device.h`.
unsafe fn work_of(raw: &RawNode) -> Result<Work, String> {
    // SAFETY: the caller's promise.
    let launch = || unsafe { Launch::of(raw.row, &*raw.launch, raw.params) };
    match raw.kind {
        node::LAUNCH => Ok(Work::Launch(launch(), raw.units)),
        node::PREPARE => Ok(Work::Prepare(launch(), At(raw.block))),
        node::CHECK => Ok(Work::Check(At(raw.block), raw.units)),
        node::JOIN => Ok(Work::Join),
        other => Err(format!("nodes of kind {other} are unknown")),
    }
}

unsafe extern "C" fn build(raw: Opaque, parts: *const RawParts, to: *mut Opaque) -> i32 {
    // SAFETY: the device is open; the caller has so many nodes and ranges there.
    let built = unsafe {
        let parts = &*parts;
        let nodes = copied(parts.nodes, parts.node_count as usize);
        let ranges = copied(parts.ranges, parts.range_count as usize);
        Segment::of(&lock(&device(raw).memory), &nodes, &ranges)
    };
    match built {
        Ok(segment) => {
            // SAFETY: the caller has a pointer there.
            unsafe { *to = Box::into_raw(Box::new(Arc::new(segment))).cast() };
            0
        }
        Err(words) => {
            // SAFETY: the device is open.
            let device: &Device = unsafe { device(raw) };
            lock(&device.state).words = words;
            REFUSED
        }
    }
}

unsafe extern "C" fn run(raw: Opaque, segment: Opaque) -> i32 {
    // SAFETY: `build` made it.
    let segment = Arc::clone(unsafe { &*segment.cast::<Arc<Segment>>() });
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.push(
        segment.launches(),
        Box::new(move |shared| segment.run(shared)),
    );
    0
}

unsafe extern "C" fn release(_device: Opaque, segment: Opaque) {
    // SAFETY: `build` made it, and it is released once.
    drop(unsafe { Box::from_raw(segment.cast::<Arc<Segment>>()) });
}
