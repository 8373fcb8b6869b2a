//! Buffer offsets that let steps run side by side.
//!
//! If an offset is reused at once, the step that reuses it waits for the steps that used it before,
//! although no data passes between them. Where that costs time, offsets rest for a while before
//! they are reused, if that takes little more memory.

use super::{Bytes, Demands, Graph, Reach, Room, accesses_of_step, guarded};
use crate::plan::{Buffer, Plan};
use crate::{arena, budget};
use cloakwork_devices::Capabilities;
use rustc_hash::FxHashMap;

/// How long offsets rest, as fractions of a run's estimated time, the longest first.
const RESTS: [u64; 4] = [4, 16, 64, 256];

/// The graph of a plan after its offsets rest where that pays. Moves the plan's buffers.
pub(crate) fn loosened(plan: &mut Plan, reaches: &[Reach], graph: Graph) -> Graph {
    let far = |better: &Graph, than: &Graph| {
        let better = better.expected_ns();
        better.saturating_add(better / 8) < than.expected_ns()
    };
    let least_ns = graph.total_ns / graph.threads.max(1);
    if least_ns.saturating_add(least_ns / 4) >= graph.expected_ns() {
        return graph;
    }
    let tight = (plan.arenas.clone(), plan.buffers.clone(), plan.memory);
    let most_bytes = most(plan);
    let apart = place_apart(&mut plan.buffers);
    let free = apart.then(|| Graph::of(plan, reaches));
    if free.is_some_and(|free| far(&free, &graph)) {
        for rest in RESTS {
            plan.buffers.clone_from(&tight.1);
            place_resting(plan, graph.total_ns / rest, &|_| true);
            if plan.memory.arena_bytes <= most_bytes && budget::keep(plan).is_ok() {
                let found = Graph::of(plan, reaches);
                if far(&found, &graph) {
                    return found;
                }
            }
        }
    }
    (plan.arenas, plan.buffers, plan.memory) = tight;
    graph
}

/// How long offsets of devices rest, as fractions of the estimated time of all steps.
const RESTS_AWAY: [u64; 7] = [128, 32, 16, 8, 4, 2, 1];
/// An arena of a device that takes segments may double, but grow by no more than this.
const MOST_MORE_BYTES: u64 = 1 << 30;
/// It may grow by this in any case: such devices have gigabytes, or else a budget.
const SMALL_BYTES: u64 = 192 << 20;

/// Lets offsets of devices that take segments rest, so that independent launches of a segment are
/// independent for its driver, too. Moves the plan's buffers.
pub(crate) fn rest_away(plan: &mut Plan, reaches: &[Reach]) {
    let arenas = plan.arenas.iter();
    let own: Vec<bool> = arenas
        .map(|arena| {
            plan.is_away(arena.home) && plan.driver(arena.home).has(Capabilities::SEGMENTS)
        })
        .collect();
    if !own.contains(&true) || plan.spills() {
        return;
    }
    let tight = (plan.arenas.clone(), plan.buffers.clone(), plan.memory);
    let tight_ns = chain_ns(plan, reaches);
    let least_ns = place_apart(&mut plan.buffers).then(|| chain_ns(plan, reaches));
    let mut best = tight.clone();
    if let Some(least_ns) = least_ns.filter(|&least| least.saturating_add(least / 8) < tight_ns) {
        let total_ns: u64 = plan.steps.iter().map(|step| u64::from(step.weight)).sum();
        let mut best_ns = tight_ns;
        for rest in RESTS_AWAY {
            plan.buffers.clone_from(&tight.1);
            place_resting(plan, total_ns / rest, &|buffer| {
                own[usize::from(buffer.arena)]
            });
            if !grows_little(&tight.0, plan) {
                break;
            }
            let ns = chain_ns(plan, reaches);
            // Longer rests cost memory, and have to gain something.
            if ns.saturating_add(ns / 32) < best_ns {
                best_ns = ns;
                best = (plan.arenas.clone(), plan.buffers.clone(), plan.memory);
            }
            if best_ns <= least_ns.saturating_add(least_ns / 32) {
                break;
            }
        }
    }
    (plan.arenas, plan.buffers, plan.memory) = best;
}

/// Whether no arena grew by more than is allowed, and all budgets hold.
fn grows_little(before: &[crate::Arena], plan: &Plan) -> bool {
    let mut both = before.iter().zip(&plan.arenas);
    let all = both.all(|(tight, arena)| {
        let more = tight.bytes.clamp(SMALL_BYTES, MOST_MORE_BYTES);
        arena.bytes <= tight.bytes.saturating_add(more)
    });
    all && budget::exceeded_by(plan) == 0 && budget::keep(plan).is_ok()
}

/// Estimated time of the longest chain of steps that wait for one another's bytes.
fn chain_ns(plan: &Plan, reaches: &[Reach]) -> u64 {
    let mut memories: FxHashMap<Room, Bytes> = FxHashMap::default();
    // When each step, or what stands for many readers, has ended.
    let mut ends: Vec<u64> = Vec::with_capacity(plan.steps.len());
    let mut guard = None;
    for (index, step) in plan.steps.iter().enumerate() {
        let mut found = accesses_of_step(plan, reaches, index);
        found.extend(guarded(step, &mut guard));
        let mut demands = Demands::new();
        for access in &found {
            if let Some(bytes) = memories.get(&access.room) {
                bytes.demands(&access.bytes, access.writes, &mut demands);
            }
        }
        let begin = latest(&ends, &demands);
        let own = ends.len() as u32;
        ends.push(begin + u64::from(step.weight));
        for writes in [false, true] {
            for access in found.iter().filter(|access| access.writes == writes) {
                let mut join = |all: Demands| {
                    ends.push(latest(&ends, &all));
                    ends.len() as u32 - 1
                };
                let bytes = memories.entry(access.room).or_default();
                bytes.note(&access.bytes, own, writes, &mut join);
            }
        }
    }
    ends.into_iter().max().unwrap_or(0)
}

fn latest(ends: &[u64], of: &Demands) -> u64 {
    let all = of.iter().map(|&before| ends[before as usize]);
    all.max().unwrap_or(0)
}

/// The largest arena allowed: a quarter more than the minimum, within the budget.
fn most(plan: &Plan) -> u64 {
    let memory = &plan.memory;
    let rest = memory.peak_bytes().saturating_sub(memory.arena_bytes);
    let budget = plan.options.memory_budget_bytes.unwrap_or(u64::MAX);
    let quarter = memory.arena_bytes.saturating_add(memory.arena_bytes / 4);
    quarter.min(budget.saturating_sub(rest))
}

/// Gives every buffer its own offset range. Returns false if the sum overflows.
fn place_apart(buffers: &mut [Buffer]) -> bool {
    let mut end = 0u64;
    for buffer in buffers {
        buffer.offset = end;
        let padded = buffer
            .bytes
            .checked_next_multiple_of(arena::ALIGNMENT_BYTES);
        match padded.and_then(|padded| end.checked_add(padded)) {
            Some(next) if i64::try_from(next).is_ok() => end = next,
            _ => return false,
        }
    }
    true
}

/// Places buffers as if each that rests lived longer by `rest_ns`.
fn place_resting(plan: &mut Plan, rest_ns: u64, rests: &dyn Fn(&Buffer) -> bool) {
    let mut begins = Vec::with_capacity(plan.steps.len() + 1);
    let mut now = 0u64;
    for step in &plan.steps {
        begins.push(now);
        now += u64::from(step.weight).max(1);
    }
    begins.push(now);
    let last = begins.len() - 1;
    let mut resting = plan.buffers.clone();
    for buffer in resting.iter_mut().filter(|buffer| rests(buffer)) {
        let end = begins[(buffer.life.last as usize + 1).min(last)].saturating_add(rest_ns);
        let until = begins.partition_point(|&begin| begin < end);
        buffer.life.extend(until.saturating_sub(1) as u32);
    }
    arena::assign(&mut plan.arenas, &mut resting);
    plan.memory.place(&plan.arenas);
    for (buffer, placed) in plan.buffers.iter_mut().zip(resting) {
        buffer.offset = placed.offset;
    }
}

#[cfg(test)]
mod tests {
    use super::place_apart;
    use crate::plan::Buffer;
    use cloakwork_ir::Lifetime;

    #[test]
    fn buffers_apart_share_nothing() {
        let buffer = |bytes| Buffer {
            bytes,
            offset: 0,
            life: Lifetime::at(0),
            arena: 0,
        };
        let mut buffers = [buffer(1), buffer(100), buffer(0), buffer(64)];
        assert!(place_apart(&mut buffers));
        let offsets: Vec<u64> = buffers.iter().map(|buffer| buffer.offset).collect();
        assert_eq!(offsets, [0, 64, 192, 192]);
        assert!(!place_apart(&mut [buffer(u64::MAX), buffer(1)]));
    }
}
