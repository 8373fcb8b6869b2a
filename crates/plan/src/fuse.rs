//! Fusion: neighbouring steps that compute element by element over the same dense elements run
//! block by block, all steps on a block before the next, so that what passes between them stays in
//! the first-level cache. What only they see needs no memory of its own: it lives in slots of a
//! thread's scratch memory, a block each.

use crate::plan::{Address, Geometry, Plan, Prepared, Space};
use rustc_hash::FxHashMap;

/// About how many bytes of an operand a block holds: several operands fit the first-level cache.
const BLOCK_BYTES: u64 = 8 << 10;
/// Slots start on a cache line.
const LINE_BYTES: u64 = 64;
/// Bytes of the widest element.
const MAX_ELEMENT_BYTES: u64 = 16;

/// Steps `first .. end` of a plan, run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fusion {
    /// The first step.
    pub first: u32,
    /// One past the last.
    pub end: u32,
    /// The first member's entry in [`Plan::fused`].
    pub first_member: u32,
    /// Elements that each of them computes.
    pub elements: u64,
    /// Elements of a block.
    pub block: u64,
    /// Slots that they need.
    pub slots: u32,
    /// Bytes from a slot to the next.
    pub slot_bytes: u64,
}

/// A step that may be fused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Bytes of an element of each operand, the result first; 0 operands: it may not.
    pub sizes: [u8; 4],
    /// How many operands.
    pub operands: u8,
}

/// How a step meets memory.
#[derive(Clone, Copy)]
struct Use {
    address: Address,
    size: u8,
    moves: bool,
    writes: bool,
}

impl Use {
    /// Whether two uses in one block loop may stand in another order of elements than before.
    fn conflicts(&self, other: &Self) -> bool {
        if !self.writes && !other.writes {
            return false;
        }
        let same = self.address.offset == other.address.offset
            && self.size == other.size
            && self.moves
            && other.moves;
        !same
    }
}

type Uses = FxHashMap<(Space, u32), Vec<Use>>;

/// Finds what can be fused, extends the lifetimes of buffers to the fusions that meet them, and
/// moves what only one fusion sees into slots. `candidates` has an entry a step. Returns the
/// scratch bytes that the largest fusion needs.
pub fn fuse(plan: &mut Plan, candidates: &[Candidate]) -> u64 {
    let mut first = 0;
    let mut scratch = 0;
    while first < plan.steps.len() {
        let (end, uses) = extent(plan, candidates, first);
        if end - first > 1 {
            scratch = scratch.max(settle(plan, candidates, (first, end), &uses));
        }
        first = end.max(first + 1);
    }
    scratch
}

/// The elements of a dense element-wise iteration space.
fn dense(geometry: &Geometry) -> Option<u64> {
    let steps = geometry
        .strides
        .iter()
        .all(|&stride| stride == 0 || stride == 1);
    match *geometry.dims {
        [] => Some(1),
        [dim] if steps && geometry.strides.first() == Some(&1) => Some(dim as u64),
        _ => None,
    }
}

fn uses_of(plan: &Plan, candidates: &[Candidate], step: usize) -> Vec<Use> {
    let candidate = &candidates[step];
    let planned = &plan.steps[step];
    let geometry = &plan.geometries[planned.geometry as usize];
    let start = planned.first_address as usize;
    let count = candidate.operands as usize;
    let addresses = plan.addresses[start..start + count].iter();
    addresses
        .enumerate()
        .map(|(operand, &address)| Use {
            address,
            size: candidate.sizes[operand],
            moves: geometry.dims.is_empty() || geometry.strides[operand] == 1,
            writes: operand == 0,
        })
        .collect()
}

/// The end of the longest fusion that begins at a step, and how it meets memory.
fn extent(plan: &Plan, candidates: &[Candidate], first: usize) -> (usize, Uses) {
    let elements = |step: usize| {
        let planned = &plan.steps[step];
        let plain = candidates[step].operands > 0 && planned.prepared == Prepared::None;
        plain
            .then(|| dense(&plan.geometries[planned.geometry as usize]))
            .flatten()
            .filter(|&elements| elements > 0)
    };
    let mut uses = Uses::default();
    let Some(count) = elements(first) else {
        return (first + 1, uses);
    };
    let mut checks = plan
        .checks
        .iter()
        .map(|check| check.before as usize)
        .peekable();
    while checks.next_if(|&before| before <= first).is_some() {}
    let limit = checks.next().unwrap_or(usize::MAX).min(plan.steps.len());
    let mut end = first;
    while end < limit && elements(end) == Some(count) {
        let own = uses_of(plan, candidates, end);
        let fits = own.iter().all(|new| {
            let known = uses.get(&(new.address.space, new.address.index));
            known.is_none_or(|known| known.iter().all(|old| !old.conflicts(new)))
        });
        if !fits {
            break;
        }
        for new in own {
            if matches!(
                new.address.space,
                Space::Buffer | Space::Host | Space::Output
            ) {
                let known = uses
                    .entry((new.address.space, new.address.index))
                    .or_default();
                known.push(new);
            }
        }
        end += 1;
    }
    (end.max(first + 1), uses)
}

/// Makes a fusion of steps, and returns the scratch bytes that it needs.
fn settle(
    plan: &mut Plan,
    candidates: &[Candidate],
    (first, end): (usize, usize),
    uses: &Uses,
) -> u64 {
    let steps = first as u32..end as u32;
    let mut private: FxHashMap<u32, u32> = FxHashMap::default();
    for (&(space, index), uses) in uses {
        if space != Space::Buffer {
            continue;
        }
        let buffer = &mut plan.buffers[index as usize];
        let inside = buffer.first >= steps.start && buffer.last < steps.end;
        let written_first = uses.first().is_some_and(|first| first.writes);
        if inside && written_first && uses.iter().all(|one| one.moves) {
            private.insert(index, buffer.last);
        } else {
            buffer.first = buffer.first.min(steps.start);
            buffer.last = buffer.last.max(steps.end - 1);
        }
    }
    let results = results(plan, (first, end), &private);
    let slots = assign_slots(plan, candidates, (first, end), (&private, &results));
    for &index in private.keys() {
        let buffer = &mut plan.buffers[index as usize];
        (buffer.bytes, buffer.first, buffer.last) = (0, steps.start, steps.start);
    }
    let geometry = &plan.geometries[plan.steps[first].geometry as usize];
    let elements = dense(geometry).unwrap_or(0);
    let widest = candidates[first..end].iter().flat_map(|c| c.sizes);
    let widest = u64::from(widest.max().unwrap_or(8)).clamp(1, MAX_ELEMENT_BYTES);
    let block = (BLOCK_BYTES / widest).min(elements);
    let slot_bytes = (block * widest).next_multiple_of(LINE_BYTES);
    let first_member = plan.fused.len() as u32;
    plan.fused.extend_from_slice(&candidates[first..end]);
    plan.fusions.push(Fusion {
        first_member,
        first: steps.start,
        end: steps.end,
        elements,
        block,
        slots,
        slot_bytes,
    });
    u64::from(slots) * slot_bytes
}

/// Private buffers that a member copies to a result of the program after the last write to them:
/// they are that result, and the copy onto itself is left out when it runs.
fn results(
    plan: &Plan,
    (first, end): (usize, usize),
    private: &FxHashMap<u32, u32>,
) -> FxHashMap<u32, Address> {
    let mut last_write = FxHashMap::default();
    for (index, step) in plan.steps[first..end].iter().enumerate() {
        last_write.insert(plan.addresses[step.first_address as usize], index);
    }
    let mut found = FxHashMap::default();
    for (index, step) in plan.steps[first..end].iter().enumerate() {
        let start = step.first_address as usize;
        let [out, source] = match plan.addresses.get(start..start + 2) {
            Some(&[out, source]) if step.row.kernel == "copy" => [out, source],
            _ => continue,
        };
        let dense = plan.geometries[step.geometry as usize].dims.is_empty()
            || plan.geometries[step.geometry as usize]
                .strides
                .iter()
                .all(|&s| s == 1);
        let is_private = source.space == Space::Buffer && private.contains_key(&source.index);
        let is_final = last_write.get(&source).is_some_and(|&write| write < index);
        if dense && is_private && is_final && out.space == Space::Output {
            found.entry(source.index).or_insert(out);
        }
    }
    found
}

/// Gives each private buffer a slot while it lives, and returns how many there are.
fn assign_slots(
    plan: &mut Plan,
    candidates: &[Candidate],
    (first, end): (usize, usize),
    (private, results): (&FxHashMap<u32, u32>, &FxHashMap<u32, Address>),
) -> u32 {
    let mut slot_of: FxHashMap<u32, u32> = FxHashMap::default();
    let (mut free, mut slots) = (Vec::new(), 0);
    let steps = candidates.iter().enumerate().take(end).skip(first);
    for (step, candidate) in steps {
        let start = plan.steps[step].first_address as usize;
        let count = candidate.operands as usize;
        let mut ends = Vec::new();
        for address in &mut plan.addresses[start..start + count] {
            if address.space != Space::Buffer {
                continue;
            }
            let Some(&last) = private.get(&address.index) else {
                continue;
            };
            if let Some(result) = results.get(&address.index) {
                *address = *result;
                continue;
            }
            let slot = *slot_of.entry(address.index).or_insert_with(|| {
                free.pop().unwrap_or_else(|| {
                    slots += 1;
                    slots - 1
                })
            });
            if last as usize == step && !ends.contains(&slot) {
                ends.push(slot);
            }
            *address = Address {
                space: Space::Slot,
                index: slot,
                offset: 0,
            };
        }
        free.extend(ends);
    }
    slots
}
