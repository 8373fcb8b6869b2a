//! Fits a plan into a budget: buffers with a distant next use are spilled to disk.
//!
//! Belady's rule chooses them: when memory is short, it evicts the buffer whose next use is
//! furthest. A buffer is written once, and again only after a step has modified it. For its next
//! use it comes back as a separate buffer with its own offset. Only the host's buffers are spilled:
//! the host's disk does not relieve a device's memory.

mod choose;
mod rewrite;
mod units;

use crate::budget::{self, Least};
use crate::graph::Reach;
use crate::plan::Plan;
use crate::{PlanError, arena};
use choose::{choose, least_room};
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
/// It exceeds its budget even with as many buffers on disk as possible.
pub(crate) fn fit(mut plan: Plan, reaches: Vec<Reach>) -> Result<(Plan, Vec<Reach>), PlanError> {
    place(&mut plan);
    let over_bytes = budget::exceeded_by(&plan);
    if over_bytes == 0 {
        budget::keep(&plan)?;
        return Ok((plan, reaches));
    }
    let (units, sizes) = (Units::of(&plan), Sizes::of(&plan));
    let least_room = least_room(&units, &sizes);
    let mut least = Least::of(&plan);
    let smaller = |room: u64, by: u64| room.saturating_sub(by).max(least_room);
    let mut room = smaller(plan.memory.arena_bytes, over_bytes);
    for round in 0..=ROUNDS {
        if round == ROUNDS {
            room = least_room;
        }
        let Some(moves) = choose(&units, &sizes, room) else {
            break;
        };
        let (fitted, reaches) = rewrite(&plan, &reaches, &units, &moves);
        let over_bytes = budget::exceeded_by(&fitted);
        if over_bytes == 0 {
            budget::keep(&fitted)?;
            return Ok((fitted, reaches));
        }
        least = least.min(Least::of(&fitted));
        if room == least_room {
            break;
        }
        room = smaller(room, over_bytes);
    }
    Err(budget::refusal(&plan, least))
}
