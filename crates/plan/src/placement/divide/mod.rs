//! Divides long steps into parts for several equal devices, where the run then ends earlier.
//!
//! A part is an ordinary step on views of the operands, with a result of its own; declarations say
//! how a call can be cut. Parts of a result stay where they are as long as only steps read them
//! that are cut alike; before any other use they are copied together. `spread` then places the
//! parts like all steps. Whether to divide is decided by its estimate: all long steps are divided,
//! or none.

mod write;

use self::write::Writer;
use super::facts::{Facts, Task};
use super::{Suited, assumed, is_away, spread};
use crate::layout::Layout;
use crate::{Options, PlanError};
use cloakwork_ops::{Access, Body, Cut};
use cloakwork_passes::Extent;
use cloakwork_verify::{Action, Call, Mistake, ValueId, Verified};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Steps that take less on one device stay whole.
const LEAST_NS: u64 = 100_000;

/// Steps that are divided, each with its cut.
type Chosen = FxHashMap<u32, Cut>;

/// The program with long steps divided, if that is worth it.
///
/// # Errors
/// A mistake in a declaration.
pub(crate) fn divided(whole: Suited, options: &Options) -> Result<Suited, PlanError> {
    let is_bounded = options.memory_budget_bytes.is_some() || !options.device_budgets.is_empty();
    let is_resident = options.resident.devices().next().is_some();
    let is_here = !is_away(options, options.device);
    if options.peers.is_empty() || is_here || is_bounded || is_resident {
        return Ok(whole);
    }
    let verified = &whole.verified;
    let layout = Layout::choose(verified, options)?;
    let facts = Facts::of(verified, &layout, options)?;
    let chosen = chosen((verified, &layout), &facts, options)?;
    if chosen.is_empty() {
        return Ok(whole);
    }
    let parts = options.peers.len() as u64 + 1;
    let written = Writer::new(verified, &chosen, parts).written();
    debug_assert!(written.is_ok(), "{:?}", written.err());
    // Without parts the program runs, too.
    let Ok((made, of)) = written else {
        return Ok(whole);
    };
    let layout = Layout::choose(&made, options)?;
    let in_parts = Facts::of(&made, &layout, options)?;
    let is_earlier = || spread::end_ns(&in_parts, options) < spread::end_ns(&facts, options);
    if options.divide == Extent::WherePaid && !is_earlier() {
        return Ok(whole);
    }
    let steps = (0u32..).zip(of);
    let dearer = steps.filter(|(_, of)| whole.dearer.contains(of));
    Ok(Suited {
        dearer: dearer.map(|(step, _)| step).collect(),
        divided: chosen.len() as u32,
        verified: Arc::new(made),
    })
}

/// The long steps that can be divided.
fn chosen(
    (verified, layout): (&Verified, &Layout),
    facts: &Facts,
    options: &Options,
) -> Result<Chosen, PlanError> {
    let costs = options.drivers.of(options.device).0.costs();
    let least_ns = match options.divide {
        Extent::WherePaid => LEAST_NS,
        Extent::Everywhere => 0,
    };
    let is_long = |task: &&Task| {
        let stored = &facts.storages[task.result];
        stored.is_free
            && facts.is_away(task)
            && !task.moves
            && assumed::computing_ns(costs, task) >= least_ns
    };
    let tasks = facts.tasks.iter().filter(is_long);
    let long: FxHashSet<u32> = tasks.map(|task| task.step).collect();
    let parts = options.peers.len() as u64 + 1;
    let mut chosen = Chosen::default();
    for (step, action) in verified.actions() {
        let Action::Kernel { call, out } = action else {
            continue;
        };
        if !long.contains(step) || !can_divide(verified, call, *out) {
            continue;
        }
        let cuts = verified.with_views(
            call,
            |id| verified.view(id),
            |args| call.def.body.cuts(args),
        );
        let cuts = cuts.map_err(|error| Mistake {
            step: *step,
            message: error.to_string(),
        })?;
        let strides = &layout.view(verified, *out).strides;
        // The outermost axis in memory, so that parts are dense; then sums.
        let rank = |cut: &Cut| cut.out.map_or(-1, |axis| strides[axis].abs());
        let cuts = cuts
            .into_iter()
            .filter(|cut| fits(verified, call, cut, parts));
        if let Some(cut) = cuts.max_by_key(rank) {
            chosen.insert(*step, cut);
        }
    }
    Ok(chosen)
}

/// Whether a call writes all of a storage, which has elements, reads nothing of it but by operands,
/// has no effect beside, and makes no check whose words would name a place in a part.
fn can_divide(verified: &Verified, call: &Call, out: ValueId) -> bool {
    let Body::Kernel(body) = &call.def.body else {
        return false;
    };
    let is_whole = verified.value(out).is_some_and(|info| {
        let storage = verified.storage(info.storage);
        let is_all = storage.is_some_and(|storage| storage.root == info.view);
        is_all && info.view.shape.elements() > 0
    });
    is_whole
        && body.access == Access::Write
        && verified.is_checked(call)
        && call.def.effect().is_none()
}

/// Whether each device gets some of what is cut, and an operand is cut at all.
fn fits(verified: &Verified, call: &Call, cut: &Cut, parts: u64) -> bool {
    let size_of = |(name, axis): &(&'static str, usize)| {
        let shape = &verified.view(call.value(call.def.param(name)?)?).shape;
        // Of an axis without elements there is no slice.
        let dims = (shape.elements() > 0).then(|| shape.dims());
        dims?.get(*axis).copied()
    };
    let mut sizes = cut.operands.iter().map(size_of);
    cut.size >= parts && !cut.operands.is_empty() && sizes.all(|size| size == Some(cut.size))
}
