//! Fits a plan into a budget: buffers with a distant next use are spilled to disk.
//!
//! Belady's rule chooses them: when memory is short, it evicts the buffer whose next use is
//! furthest. A buffer is written once, and again only after a step has modified it. For its next
//! use it comes back as a separate buffer with its own offset. Only the host's buffers are spilled:
//! the host's disk does not relieve a device's memory.

mod choose;
mod rewrite;
mod units;

use crate::graph::Reach;
use crate::plan::Plan;
use crate::{PlanError, arena, budget};
use choose::choose;
use rewrite::rewrite;
use units::{Sizes, Units};

/// Offsets are found by heuristics. If they leave holes, planning retries with less memory, so
/// often.
const ROUNDS: u32 = 16;

/// Assigns offsets to buffers.
fn place(plan: &mut Plan) {
    arena::assign(&mut plan.arenas, &mut plan.buffers);
    plan.memory.place(&plan.arenas);
}

/// A plan with offsets that fits its budget: as it is, or with buffers on disk.
///
/// # Errors
/// The plan does not fit.
pub(crate) fn fit(mut plan: Plan, reaches: Vec<Reach>) -> Result<(Plan, Vec<Reach>), PlanError> {
    place(&mut plan);
    let peak_bytes = plan.memory.peak_bytes();
    let budget_bytes = budget::together(&plan);
    if peak_bytes <= budget_bytes {
        budget::keep(&plan)?;
        return Ok((plan, reaches));
    }
    let rest_bytes = peak_bytes.saturating_sub(plan.memory.arena_bytes);
    let units = Units::of(&plan);
    let sizes = Sizes::of(&plan);
    let mut least_bytes = rest_bytes.saturating_add(units.most_at_once(&sizes));
    let mut reached_bytes = u64::MAX;
    let mut room = budget_bytes.checked_sub(rest_bytes);
    for _ in 0..ROUNDS {
        let Some(bytes) = room else { break };
        let Some(moves) = choose(&units, &sizes, bytes) else {
            break;
        };
        let (fitted, reaches) = rewrite(&plan, &reaches, &units, &moves);
        let peak = fitted.memory.peak_bytes();
        if peak <= budget_bytes {
            budget::keep(&fitted)?;
            return Ok((fitted, reaches));
        }
        reached_bytes = reached_bytes.min(peak);
        room = bytes.checked_sub(peak - budget_bytes);
    }
    if least_bytes <= budget_bytes {
        least_bytes = reached_bytes;
    }
    if let Some(refused) = budget::of_host(&plan) {
        return Err(refused);
    }
    Err(PlanError::Budget {
        memory: plan.memory,
        least_bytes: least_bytes.min(peak_bytes),
        budget_bytes,
    })
}
