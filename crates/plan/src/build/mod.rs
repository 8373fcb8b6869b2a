//! Turns actions into kernel calls, in order.

mod calls;
mod checks;
mod constants;
mod copied;
mod copies;
mod intern;
mod kernel;
mod lent;
mod place;
mod reached;
mod results;
mod shared;
mod staging;
mod streamed;

use self::copied::Copies;
use self::reached::Reached;
use self::streamed::{Streamed, freed, large};
use crate::arena;
use crate::fuse::{Candidate, fuse};
use crate::graph::{Graph, Reach, loosened, rest_away};
use crate::layout::Layout;
use crate::placement::{Placement, Suited, divided};
use crate::plan::{Address, Arena, FunctionCall, Home, Options, Plan};
use crate::spill::fit;
use crate::{Memory, PlanError, queues, segments, unseen};
use cloakwork_devices::{Capabilities, Driver};
use cloakwork_ir::{DType, Device, HostId, HostSlot};
use cloakwork_passes::{Extent, optimize};
use cloakwork_verify::{Action, StorageId, Verified};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Plans a verified program.
///
/// # Errors
/// No kernel for an op and its dtypes, more memory than the budget, or a device for a program that
/// names its own.
pub fn plan(verified: Arc<Verified>, options: &Options) -> Result<Plan, PlanError> {
    let options = &crate::placement::bound(options, &verified)?;
    let options = &crate::budget::with_own(options, &verified);
    let cleaned = match options.optimize {
        true => verified.cleaned(|| cleaned(&verified))?,
        false => None,
    };
    // Passes and expansions leave host tensors as they are, but drop frees.
    let freed = &freed(&verified);
    let Some(lowered) = cleaned else {
        return plan_as_it_is(&verified.lowered()?, options, freed);
    };
    let found = plan_as_it_is(&lowered, options, freed);
    let given = Arc::clone(&verified);
    let found = found.map(|plan| Plan {
        given: Some(given),
        ..plan
    });
    let is_bounded = options.memory_budget_bytes.is_some() || !options.device_budgets.is_empty();
    if !is_bounded || found.as_ref().is_ok_and(|plan| !plan.spills()) {
        return found;
    }
    // A constant that is computed once may live longer. If the program fits the budget only without
    // passes, that plan is used.
    let plain = plan_as_it_is(&verified.lowered()?, options, freed);
    match (&found, &plain) {
        (_, Err(_)) => found,
        (Ok(cleaned), Ok(plain)) if cleaned.memory.disk_bytes <= plain.memory.disk_bytes => found,
        _ => plain,
    }
}

/// The program after the passes, without composite ops; `None` if the passes change nothing.
fn cleaned(verified: &Arc<Verified>) -> Result<Option<Arc<Verified>>, PlanError> {
    let first = without_mistakes(verified);
    let now = first.as_ref().unwrap_or(verified);
    let lowered = now.lowered()?;
    // Common parts of expansions appear only after lowering.
    let second = match Arc::ptr_eq(&lowered, now) {
        true => None,
        false => without_mistakes(&lowered),
    };
    let is_changed = first.is_some() || second.is_some();
    Ok(is_changed.then(|| second.unwrap_or(lowered)))
}

/// The program after the passes; `None` if a pass made a mistake that the verifier found, since the
/// program can run without passes.
fn without_mistakes(verified: &Arc<Verified>) -> Option<Arc<Verified>> {
    let made = optimize(verified, Extent::WherePaid);
    debug_assert!(made.is_ok(), "{made:?}");
    made.ok().flatten()
}

/// Plans a program as it is; with constants that are uploaded again in each run, and then without
/// fusions, if it would need more memory than the budget.
fn plan_as_it_is(
    lowered: &Arc<Verified>,
    options: &Options,
    freed: &Streamed,
) -> Result<Plan, PlanError> {
    let lowered = &divided(Suited::of(lowered, options)?, options)?;
    let found = plan_streaming(lowered, options, freed);
    // A fusion needs all that its members touch at the same time, steps alone less.
    let Err(PlanError::Budget { .. } | PlanError::DeviceBudget { .. }) = found else {
        return found;
    };
    if !options.fuse {
        return found;
    }
    let apart = Options {
        fuse: false,
        ..options.clone()
    };
    match (plan_streaming(lowered, &apart, freed), found) {
        (Err(mut apart), Err(mut found)) => match (apart.least_bytes(), found.least_bytes()) {
            (Some(other), Some(least)) => {
                *least = (*least).min(*other);
                Err(found)
            }
            // No other budget of the host is enough.
            _ => Err(apart),
        },
        (apart, _) => apart,
    }
}

/// Plans a program with these constants streamed; with all large ones, if it fits its budget only
/// so.
fn plan_streaming(suited: &Suited, options: &Options, freed: &Streamed) -> Result<Plan, PlanError> {
    let refused = match plan_lowered(suited, options, freed) {
        Err(error @ (PlanError::Budget { .. } | PlanError::DeviceBudget { .. })) => error,
        found => return found,
    };
    let all = large(suited.verified.program());
    let mut storages = suited.verified.storages().iter();
    let is_away = storages.any(|storage| {
        let (driver, _) = options.drivers.of(options.device_of(storage.device));
        !driver.has(Capabilities::HOST_MEMORY)
    });
    if !is_away || all.len() == freed.len() {
        return Err(refused);
    }
    plan_lowered(suited, options, &all).map_err(|other| refused.or_less(other))
}

fn plan_lowered(
    suited: &Suited,
    options: &Options,
    streamed: &Streamed,
) -> Result<Plan, PlanError> {
    let verified = &suited.verified;
    let layout = Layout::choose(verified, options)?;
    let placement = Placement::of(suited, &layout, options)?;
    let mut builder = Builder::new(verified, (&layout, &placement), options);
    builder.streamed.clone_from(streamed);
    for (step, action) in verified.actions() {
        builder.origin = *step;
        builder.action(action)?;
    }
    let (plan, reaches) = builder.finish(verified.origins());
    let (mut plan, reaches) = fit(plan, reaches)?;
    rest_away(&mut plan, &reaches);
    queues::assign(&mut plan, &reaches);
    segments::gather(&mut plan, &reaches);
    // The caller's functions may have side effects: they keep their order. Queues of devices
    // already run side by side.
    if options.threads > 1 && plan.calls.is_empty() && plan.queues.is_empty() {
        let graph = Graph::of(&plan, &reaches);
        plan.graph = Some(loosened(&mut plan, &reaches, graph));
    }
    Ok(plan)
}

/// Where a storage lies.
#[derive(Clone, Copy)]
enum Place {
    /// Not touched yet.
    Untouched,
    /// In an arena.
    Buffer(u32),
    /// The host's own bytes: read-only, in their own layout.
    Host(HostId),
    /// The host's bytes in another layout: a constant.
    Constant(u32),
    /// In a result of the run: index into [`Plan::downloads`].
    Output(u32),
    /// On the host, while a step runs there because its device lacks the kernel.
    Lent(Address),
}

/// The identity of a prepared block: the row, the geometry, the arena, the operands.
type ConstantKey = (usize, u32, u16, Box<[Address]>);

struct Builder<'a> {
    verified: &'a Arc<Verified>,
    layout: &'a Layout,
    placement: &'a Placement,
    /// The driver of the host.
    host: &'static Driver,
    plan: Plan,
    places: Vec<Place>,
    /// Storages whose first zeros nobody sees.
    unseen: Vec<bool>,
    /// Storages that lie in the memory of a result.
    results: FxHashMap<StorageId, u32>,
    /// Iteration spaces by hash.
    geometry_index: FxHashMap<u64, SmallVec<[u32; 1]>>,
    pool_index: FxHashMap<(DType, i64), u32>,
    shared: shared::Shared,
    /// Constants by hash.
    constant_index: FxHashMap<u64, SmallVec<[u32; 1]>>,
    scratch_bytes: u64,
    /// Bytes that steps may touch of their operands, one entry for each address.
    reaches: Vec<Reach>,
    /// Fusion facts, one entry for each step.
    candidates: Vec<Candidate>,
    /// Copies of memories, valid until a step writes the memory.
    copies: Copies,
    /// Bytes of host tensors that devices need; computed on first use.
    reached: Option<Reached>,
    streamed: Streamed,
    /// The last transfer of one of these.
    last_streamed: Option<u32>,
    /// The cache of planned calls.
    calls: calls::Calls,
    /// Memory that the launches of the current call share.
    temporary: Option<u32>,
    origin: u32,
    /// The device on which the current step's result lies.
    device: Device,
}

impl<'a> Builder<'a> {
    fn new(
        verified: &'a Arc<Verified>,
        (layout, placement): (&'a Layout, &'a Placement),
        options: &Options,
    ) -> Self {
        let home = |id| placement.home(id, options.device_of(device_named(verified, id)));
        let mut arenas = vec![Arena::new(Home::HOST)];
        for device in options.resident.devices() {
            arena::of(&mut arenas, Home::Device(device));
        }
        let plan = Plan {
            verified: Arc::clone(verified),
            given: None,
            origins: None,
            options: options.clone(),
            steps: Vec::new(),
            costs: Vec::new(),
            fusions: Vec::new(),
            fused: Vec::new(),
            geometries: Vec::new(),
            addresses: Vec::new(),
            arenas,
            buffers: Vec::new(),
            pool: Vec::new(),
            constants: Vec::new(),
            downloads: Vec::new(),
            checks: Vec::new(),
            calls: Vec::new(),
            queues: Vec::new(),
            waits: Vec::new(),
            events: Vec::new(),
            segments: Vec::new(),
            elsewhere: placement.elsewhere.clone(),
            divided: placement.divided,
            graph: None,
            limb_major_storages: layout.count() as u32,
            layout: layout.clone(),
            places: Vec::new(),
            memory: Memory::default(),
        };
        Self {
            verified,
            layout,
            placement,
            host: options.drivers.of(Device::Cpu).0,
            plan,
            places: vec![Place::Untouched; verified.storages().len()],
            unseen: unseen::unseen(verified),
            results: results::results(verified, layout, (home, options.resident.outputs)),
            geometry_index: FxHashMap::default(),
            pool_index: FxHashMap::default(),
            constant_index: FxHashMap::default(),
            shared: shared::Shared::default(),
            scratch_bytes: 0,
            reaches: Vec::new(),
            candidates: Vec::new(),
            copies: Copies::default(),
            reached: None,
            streamed: Streamed::default(),
            last_streamed: None,
            calls: calls::Calls::default(),
            temporary: None,
            origin: 0,
            device: Device::Cpu,
        }
    }

    fn action(&mut self, action: &Action) -> Result<(), PlanError> {
        match action {
            // Storage is created on first use; a view only changes strides.
            Action::Upload { .. } | Action::Allocate { .. } | Action::View { .. } => Ok(()),
            Action::Copy { source, value, .. } => self.copy(*source, *value),
            Action::Kernel { call, out } => self.kernel(call, *out),
            Action::Download { value, host } => self.download(*value, *host),
            Action::Composite { .. } => Err(self.internal("a composite op was not expanded")),
        }
    }

    fn internal(&self, message: &str) -> PlanError {
        PlanError::Internal {
            step: self.origin,
            message: message.to_owned(),
        }
    }

    fn finish(mut self, origins: Option<Arc<[u32]>>) -> (Plan, Vec<Reach>) {
        if self.plan.options.fuse {
            let bytes = fuse(&mut self.plan, &self.candidates);
            self.scratch_bytes = self.scratch_bytes.max(bytes);
        }
        constants::assign(&mut self.plan);
        checks::assign(&mut self.plan);
        let scratch = self.scratch_bytes.next_multiple_of(arena::ALIGNMENT_BYTES);
        let threads = self.plan.options.threads.max(1) as u64;
        self.plan.memory.scratch_bytes = scratch.saturating_mul(threads);
        self.plan.memory.call_bytes = largest_call(&self.plan.calls);
        self.plan.memory.table_bytes = self.plan.table_bytes();
        self.plan.memory.constant_bytes = constant_bytes(self.verified);
        self.plan.origins = origins;
        let storages = 0..self.places.len() as u32;
        let places = storages
            .map(|id| self.storage_address(StorageId(id), 0).ok())
            .collect();
        self.plan.places = places;
        (self.plan, self.reaches)
    }
}

/// The device that the program names for a storage.
fn device_named(verified: &Verified, id: StorageId) -> Device {
    verified.storage(id).map_or(Device::Cpu, |info| info.device)
}

/// Bytes of the host tensors that are part of the program.
fn constant_bytes(verified: &Verified) -> u64 {
    let data = |slot: &HostSlot| match slot {
        HostSlot::Data(tensor) => tensor.ty().size_bytes(),
        _ => 0,
    };
    let hosts = verified.program().hosts.iter().map(data);
    hosts.fold(0, u64::saturating_add)
}

/// Bytes of the operands and results of the call with the most bytes.
fn largest_call(calls: &[FunctionCall]) -> u64 {
    let mut bytes: FxHashMap<u32, u64> = FxHashMap::default();
    for call in calls {
        let sizes = call.operands.iter();
        let sizes = sizes.map(|(dtype, view)| (dtype.size_bytes() as u64, view.shape.elements()));
        let sum = sizes.fold(0u64, |sum, (each, count)| {
            sum.saturating_add(count.saturating_mul(each))
        });
        let known = bytes.entry(call.call).or_default();
        *known = known.saturating_add(sum);
    }
    bytes.into_values().max().unwrap_or(0)
}

/// How a step accesses a storage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    /// The step may read some elements.
    Read,
    /// The step writes every element of the view and reads none.
    WriteAll,
}
