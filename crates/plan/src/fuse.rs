//! Fusion: neighbouring steps that compute element by element over the same dense elements run
//! block by block, all steps on a block before the next block, so that intermediate values stay in
//! the first-level cache. Values that only these steps use need no buffer: they lie in slots of a
//! thread's scratch memory, one block each.
//!
//! Results are dense. Other operands may repeat along outer dimensions, as a modulus for each limb
//! does, or may have gaps. A block stays within one *line*: consecutive elements over which every
//! operand advances by one element or stays.

use crate::plan::{Address, Geometry, Home, Plan, Prepared, Space, Step};
use cloakwork_ir::{Lifetime, MAX_ELEMENT_BYTES};
use cloakwork_ops::COPY_KERNEL;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Approximate bytes of an operand in a block. Several operands fit the first-level cache, and
/// memory reads for the next block overlap the computation of this one. Measured: with 8 KiB a
/// chain on data in memory is slower, with 2 KiB one on data in the caches.
const BLOCK_BYTES: u64 = 4 << 10;
/// Slots start on a cache line.
const LINE_BYTES: u64 = 64;
/// Shorter lines are not worth a launch each.
const LINE_ELEMENTS: u64 = 256;
/// The most steps of a fusion: a run that is cancelled waits for all of them.
const MAX_STEPS: usize = 64;
/// The most operands of a step that may be fused.
pub const MAX_OPERANDS: usize = 5;

/// Steps `first .. end` of a plan, run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fusion {
    /// The first step.
    pub first: u32,
    /// One past the last.
    pub end: u32,
    /// The first member's entry in [`Plan::fused`].
    pub first_member: u32,
    /// Number of elements that each step computes.
    pub elements: u64,
    /// Elements of a line: no block crosses its end.
    pub line: u64,
    /// Elements of a block.
    pub block: u64,
    /// Number of slots.
    pub slots: u32,
    /// Bytes from one slot to the next.
    pub slot_bytes: u64,
}

/// The facts that fusion needs about a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Bytes of an element of each operand, the result first; unused if there are no operands.
    pub sizes: [u8; MAX_OPERANDS],
    /// Number of operands; 0 if the step may not be fused.
    pub operands: u8,
    /// The operand that the kernel derives constants from, and their bytes per element.
    pub constants: Option<(u8, u32)>,
}

/// How a step accesses a memory.
#[derive(Clone, Copy)]
struct Use {
    address: Address,
    size: u8,
    moves: bool,
    writes: bool,
}

impl Use {
    /// Whether two accesses in one block loop may happen in another order of elements than before.
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

type Uses = FxHashMap<(Space, u32), SmallVec<[Use; 2]>>;

/// Finds the fusions, extends the lifetimes of the buffers that they touch, and moves values that
/// only one fusion uses into slots. `candidates` has an entry for each step. Returns the scratch
/// bytes of the largest fusion.
pub fn fuse(plan: &mut Plan, candidates: &[Candidate]) -> u64 {
    let mut first = 0;
    let mut scratch = 0;
    while first < plan.steps.len() {
        let found = extent(plan, candidates, first);
        let end = found.as_ref().map_or(first + 1, |found| found.end);
        if let Some(found) = found.filter(|_| end - first > 1) {
            scratch = scratch.max(settle(plan, candidates, first, &found));
        }
        first = end;
    }
    scratch
}

/// The number of consecutive elements, and of those in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Elements {
    count: u64,
    line: u64,
}

impl Elements {
    /// The elements of an iteration space with a dense result.
    fn of(geometry: &Geometry) -> Option<Self> {
        let rank = geometry.dims.len();
        let mut reach = 1;
        for (&dim, &stride) in geometry.dims.iter().zip(&geometry.strides[..rank]).rev() {
            if stride != reach {
                return None;
            }
            reach *= dim;
        }
        let line = geometry.dims.last().map_or(1, |&dim| dim as u64);
        let steps = geometry
            .strides
            .chunks(rank.max(1))
            .map(|own| own[own.len() - 1]);
        let count = reach as u64;
        let long = line == count || line >= LINE_ELEMENTS;
        let stepped = rank == 0 || steps.into_iter().all(|step| step == 0 || step == 1);
        (long && stepped && count > 0).then_some(Self { count, line })
    }

    /// The common elements, if blocks can respect the lines of both.
    fn joined(self, other: Self) -> Option<Self> {
        let (short, long) = (self.line.min(other.line), self.line.max(other.line));
        let fit = self.count == other.count && long.is_multiple_of(short);
        fit.then_some(Self {
            count: self.count,
            line: short,
        })
    }
}

/// Whether an operand advances as the dense result does.
pub fn moves(geometry: &Geometry, operand: usize) -> bool {
    let rank = geometry.dims.len();
    geometry.strides[operand * rank..][..rank] == geometry.strides[..rank]
}

/// Whether the constants of a block are available for its line: the kernel prepares none, or one
/// for each element of an operand that stays the same over a line.
fn finds_constants(plan: &Plan, step: &Step, candidate: &Candidate) -> bool {
    let geometry = &plan.geometries[step.geometry as usize];
    let all = plan.addresses_of(step);
    match (step.prepared(), candidate.constants) {
        (Prepared::None, _) => true,
        (Prepared::Block, Some((operand, _))) => {
            if plan.addresses[all.end - 1].space != Space::Constant {
                return false;
            }
            let rank = geometry.dims.len();
            let strides = &geometry.strides[operand as usize * rank..][..rank];
            strides.last().is_none_or(|&step| step == 0)
        }
        _ => false,
    }
}

fn uses_of(plan: &Plan, candidates: &[Candidate], step: usize) -> SmallVec<[Use; MAX_OPERANDS]> {
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
            moves: moves(geometry, operand),
            writes: operand == 0,
        })
        .collect()
}

/// A candidate fusion: consecutive steps from a first one on.
struct Extent {
    end: usize,
    elements: Elements,
    uses: Uses,
}

/// The elements of a step that may be fused.
fn elements(plan: &Plan, candidates: &[Candidate], step: usize) -> Option<Elements> {
    let (candidate, planned) = (&candidates[step], &plan.steps[step]);
    let geometry = &plan.geometries[planned.geometry as usize];
    let may = candidate.operands > 0 && finds_constants(plan, planned, candidate);
    may.then(|| Elements::of(geometry)).flatten()
}

/// The longest fusion that begins at a step, if it may begin one.
fn extent(plan: &Plan, candidates: &[Candidate], first: usize) -> Option<Extent> {
    let mut elements_of_all = elements(plan, candidates, first)?;
    let mut uses = Uses::default();
    let limit = plan.steps.len().min(first + MAX_STEPS);
    let mut end = first;
    while end < limit {
        let joined = elements(plan, candidates, end).and_then(|own| own.joined(elements_of_all));
        let Some(joined) = joined else { break };
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
        elements_of_all = joined;
        end += 1;
    }
    Some(Extent {
        end: end.max(first + 1),
        elements: elements_of_all,
        uses,
    })
}

/// Makes a fusion of steps, and returns its scratch bytes.
fn settle(plan: &mut Plan, candidates: &[Candidate], first: usize, found: &Extent) -> u64 {
    let Extent {
        end,
        elements,
        ref uses,
    } = *found;
    let steps = first as u32..end as u32;
    let mut private: FxHashMap<u32, u32> = FxHashMap::default();
    for (&(space, index), uses) in uses {
        if space != Space::Buffer {
            continue;
        }
        let buffer = &mut plan.buffers[index as usize];
        let inside = buffer.life.first >= steps.start && buffer.life.last < steps.end;
        // A device's buffers count for that device, even if a processor serves it.
        let inside = inside && plan.arenas[buffer.arena as usize].home == Home::HOST;
        let written_first = uses.first().is_some_and(|first| first.writes);
        if inside && written_first && uses.iter().all(|one| one.moves) {
            private.insert(index, buffer.life.last);
        } else {
            buffer.life.extend(steps.start);
            buffer.life.extend(steps.end - 1);
        }
    }
    let results = results(plan, candidates, (first, end), &private);
    let slots = assign_slots(plan, candidates, (first, end), (&private, &results));
    for &index in private.keys() {
        let buffer = &mut plan.buffers[index as usize];
        (buffer.bytes, buffer.life) = (0, Lifetime::at(steps.start));
    }
    let widest = candidates[first..end].iter().flat_map(|c| c.sizes);
    let widest = u64::from(widest.max().unwrap_or(8)).clamp(1, MAX_ELEMENT_BYTES as u64);
    let block = (BLOCK_BYTES / widest).min(elements.line);
    let slot_bytes = (block * widest).next_multiple_of(LINE_BYTES);
    let first_member = plan.fused.len() as u32;
    plan.fused.extend_from_slice(&candidates[first..end]);
    plan.fusions.push(Fusion {
        first_member,
        first: steps.start,
        end: steps.end,
        elements: elements.count,
        line: elements.line,
        block,
        slots,
        slot_bytes,
    });
    u64::from(slots) * slot_bytes
}

/// Private buffers that a member copies to a result of the program after the last write to them.
/// Such a buffer takes the result's memory if no other step accesses that memory, and the run skips
/// the copy onto itself.
fn results(
    plan: &Plan,
    candidates: &[Candidate],
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
            Some(&[out, source]) if step.row().is_some_and(|row| row.kernel == COPY_KERNEL) => {
                [out, source]
            }
            _ => continue,
        };
        let dense = moves(&plan.geometries[step.geometry as usize], 1);
        let is_private = source.space == Space::Buffer && private.contains_key(&source.index);
        let is_final = last_write.get(&source).is_some_and(|&write| write < index);
        let is_result = dense && is_private && is_final && out.space == Space::Output;
        if is_result && is_alone(plan, candidates, (first, end), first + index) {
            found.entry(source.index).or_insert(out);
        }
    }
    found
}

/// Whether the copy is the only step that writes its result, and no step reads the result before
/// it: the result's memory may then hold the source from the start.
fn is_alone(
    plan: &Plan,
    candidates: &[Candidate],
    (first, end): (usize, usize),
    copy: usize,
) -> bool {
    let addresses = |step: usize| {
        let start = plan.steps[step].first_address as usize;
        &plan.addresses[start..start + candidates[step].operands as usize]
    };
    let out = addresses(copy)[0];
    let may = |step: usize| {
        let mut operands = addresses(step).iter().enumerate();
        operands.all(|(operand, address)| {
            let same = (address.space, address.index) == (out.space, out.index);
            !same || step == copy || (operand > 0 && step > copy)
        })
    };
    (first..end).all(may)
}

/// Assigns each private buffer a slot for its lifetime, and returns the number of slots.
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
