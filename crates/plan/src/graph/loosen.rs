//! Buffer offsets that let steps run side by side.
//!
//! If an offset is reused at once, the step that reuses it waits for the steps that used it before,
//! although no data passes between them. Where that costs time, offsets rest for a while before
//! they are reused, if that takes little more memory.

use super::{Graph, Reach};
use crate::plan::{Buffer, Plan};
use crate::{arena, budget};

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
            place_resting(plan, graph.total_ns / rest);
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

/// Places buffers as if each lived longer by `rest_ns`.
fn place_resting(plan: &mut Plan, rest_ns: u64) {
    let mut begins = Vec::with_capacity(plan.steps.len() + 1);
    let mut now = 0u64;
    for step in &plan.steps {
        begins.push(now);
        now += u64::from(step.weight).max(1);
    }
    begins.push(now);
    let last = begins.len() - 1;
    let mut resting = plan.buffers.clone();
    for buffer in &mut resting {
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
