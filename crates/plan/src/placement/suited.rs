//! Expands calls whose kernels a device lacks, where their smaller ops have kernels there and cost
//! less than the host with its transfers.
//!
//! An expansion is equal to the bit. It makes the same errors, because a call is expanded only if
//! the contents that its checks look at are known. A call is expanded whole or not at all: where
//! one of its smaller ops would run on the host, the host runs the call with its own kernel. A call
//! that neither the device nor the host has a kernel for is always expanded.

use super::assumed;
use super::facts::{Facts, Task};
use crate::graph::SPLIT_NS;
use crate::layout::Layout;
use crate::{Options, PlanError};
use cloakwork_devices::Costs;
use cloakwork_ir::{DType, Device};
use cloakwork_ops::{Body, KernelBody};
use cloakwork_verify::{Action, Bound, Call, Verified, expand_once};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A program for its devices.
pub(crate) struct Suited {
    /// The program with calls expanded.
    pub verified: Arc<Verified>,
    /// Its steps that the host runs although the device could run their expansion: that would cost
    /// more.
    pub dearer: FxHashSet<u32>,
    /// Number of its steps that are divided between devices.
    pub divided: u32,
}

/// A program with steps expanded, and for each of its steps the one that it stands for.
type Expanded = (Arc<Verified>, Vec<u32>);

impl Suited {
    /// The program with the calls expanded that its devices lack.
    ///
    /// # Errors
    /// A mistake in a declaration.
    pub fn of(lowered: &Arc<Verified>, options: &Options) -> Result<Self, PlanError> {
        let mut search = Search::new(options);
        let lacking = search.lacking(lowered)?;
        if lacking.is_empty() {
            return Ok(Self {
                verified: Arc::clone(lowered),
                dearer: FxHashSet::default(),
                divided: 0,
            });
        }
        let all: FxHashSet<u32> = lacking.keys().copied().collect();
        let expanded = search.expanded(lowered, &all)?;
        let (chosen, dearer) = choose(lowered, &expanded, &lacking, options)?;
        let (verified, of) = match chosen.len() == all.len() {
            true => expanded,
            false => search.expanded(lowered, &chosen)?,
        };
        let steps = (0u32..).zip(of);
        let dearer = steps.filter(|(_, of)| dearer.contains(of));
        Ok(Self {
            verified,
            dearer: dearer.map(|(step, _)| step).collect(),
            divided: 0,
        })
    }
}

/// Which sides lack a kernel of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sides {
    /// The device of its result.
    there: bool,
    /// The host.
    here: bool,
}

struct Search<'a> {
    options: &'a Options,
    /// Known answers, by everything that names a call's kernels.
    known: FxHashMap<Box<[u64]>, Sides>,
}

impl<'a> Search<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            known: FxHashMap::default(),
        }
    }

    /// The steps whose device lacks a kernel of their call, which can be expanded.
    ///
    /// # Errors
    /// A vendor's op without an expansion, for a device that has no kernel of it.
    fn lacking(&mut self, verified: &Verified) -> Result<FxHashMap<u32, Sides>, PlanError> {
        let mut found = FxHashMap::default();
        for (step, action) in verified.actions() {
            let Action::Kernel { call, out } = action else {
                continue;
            };
            let Body::Kernel(body) = &call.def.body else {
                continue;
            };
            let Some(storage) = verified
                .value(*out)
                .and_then(|i| verified.storage(i.storage))
            else {
                continue;
            };
            let device = self.options.device_of(storage.device);
            if body.custom.is_none()
                && (body.expand.is_none() || !super::is_away(self.options, device))
            {
                continue;
            }
            let lack = self.lack(verified, (call, body), device);
            if lack.there && lack.here && body.expand.is_none() {
                return Err(only_there(verified, *step, call));
            }
            let same_errors = lack.here || verified.is_checked(call);
            if lack.there && same_errors && verified.can_expand(call) {
                found.insert(*step, lack);
            }
        }
        Ok(found)
    }

    /// Which kernels a call lacks on a device, and on the host.
    fn lack(
        &mut self,
        verified: &Verified,
        (call, body): (&Call, &KernelBody),
        on: Device,
    ) -> Sides {
        let key = key(verified, call, on);
        if let Some(known) = key.as_ref().and_then(|key| self.known.get(key)) {
            return *known;
        }
        let launches = verified.with_views(call, |id| verified.view(id), body.launch);
        let mut lack = Sides::default();
        for launch in launches.into_iter().flatten() {
            let types = super::facts::launch_types(verified, call, &launch);
            let Some(types) = types else { continue };
            let lacks = |device| self.options.kernel(device, launch.kernel, types).is_none();
            lack.there |= lacks(on);
            lack.here |= lacks(Device::Cpu);
        }
        if let Some(key) = key {
            self.known.insert(key, lack);
        }
        lack
    }

    /// A program with calls of these steps expanded, and what their expansions call, as far as the
    /// devices lack it.
    fn expanded(
        &mut self,
        from: &Arc<Verified>,
        steps: &FxHashSet<u32>,
    ) -> Result<Expanded, PlanError> {
        let count = from.program().steps.len() as u32;
        let mut now: Expanded = (Arc::clone(from), (0..count).collect());
        let mut wanted = steps.clone();
        while !wanted.is_empty() {
            let (made, of) = expand_once(&now.0, &|_, step, _| wanted.contains(&step))?;
            let of = of.into_iter().map(|step| now.1[step as usize]).collect();
            now = (Arc::new(made), of);
            let lacking = self.lacking(&now.0)?;
            let is_inner = |step: &u32| steps.contains(&now.1[*step as usize]);
            wanted = lacking.into_keys().filter(is_inner).collect();
        }
        Ok(now)
    }
}

/// The refusal of a vendor's op that neither side computes.
fn only_there(verified: &Verified, step: u32, call: &Call) -> PlanError {
    let origins = verified.origins();
    PlanError::OnlyOnItsDevice {
        step: origins.map_or(step, |all| all[step as usize]),
        op: call.def.name.to_owned(),
        file: call
            .def
            .custom()
            .map_or_else(String::new, |custom| custom.file.clone()),
    }
}

/// Everything that names the kernels of a call; `None` for a call with lists.
fn key(verified: &Verified, call: &Call, device: Device) -> Option<Box<[u64]>> {
    let mut key = vec![
        std::ptr::from_ref(call.def) as usize as u64,
        device.number() as u64,
    ];
    for bound in &call.values {
        match *bound {
            Bound::Value(id) => {
                let dtype: DType = verified.value(id)?.dtype;
                key.extend([0, u64::from(dtype.number())]);
            }
            Bound::Int(value) => key.extend([1, value as u64]),
            Bound::DType(dtype) => key.extend([2, u64::from(dtype.number())]),
            Bound::Absent => key.push(3),
            Bound::Shape(_) | Bound::Host(_) => return None,
        }
    }
    Some(key.into())
}

/// The steps to expand, and the steps whose expansion the device could run at a greater cost.
fn choose(
    from: &Verified,
    (expanded, of): &Expanded,
    lacking: &FxHashMap<u32, Sides>,
    options: &Options,
) -> Result<(FxHashSet<u32>, FxHashSet<u32>), PlanError> {
    // The nanoseconds of each expansion; none where the device lacks a part of it.
    let mut ways: FxHashMap<u32, Option<u64>> = FxHashMap::default();
    let facts = Facts::of(expanded, &Layout::default(), options)?;
    for task in &facts.tasks {
        let costs = costs_of(&facts, task, options);
        let step = of[task.step as usize];
        if lacking.contains_key(&step) {
            let way = ways.entry(step).or_insert(Some(0));
            *way = match (*way, task.can_leave()) {
                (Some(ns), true) => Some(ns.saturating_add(assumed::computing_ns(costs, task))),
                _ => None,
            };
        }
    }
    let (mut chosen, mut dearer) = (FxHashSet::default(), FxHashSet::default());
    let facts = Facts::of(from, &Layout::default(), options)?;
    for task in &facts.tasks {
        let Some(lack) = lacking.get(&task.step) else {
            continue;
        };
        match ways.get(&task.step).copied().unwrap_or(Some(0)) {
            _ if lack.here => chosen.insert(task.step),
            None => false,
            Some(ns) if !options.fallback || ns <= on_host_ns(&facts, task, options) => {
                chosen.insert(task.step)
            }
            Some(_) => dearer.insert(task.step),
        };
    }
    Ok((chosen, dearer))
}

/// The costs of the device of a step.
fn costs_of<'o>(facts: &Facts, task: &Task, options: &'o Options) -> &'o Costs {
    let (driver, _) = options.drivers.of(facts.storages[task.result].device);
    driver.costs()
}

/// The time of a step on the host with the transfers of its operands and its result.
fn on_host_ns(facts: &Facts, task: &Task, options: &Options) -> u64 {
    let result = &facts.storages[task.result];
    let costs = costs_of(facts, task, options);
    let parts = (task.host_ns / SPLIT_NS).clamp(1, options.threads.max(1) as u64);
    let reads = task.reads.iter().map(|&read| &facts.storages[read]);
    let down = reads
        .filter(|read| read.away)
        .map(|read| assumed::download_ns(costs, read.read_bytes));
    let kept = task
        .keeps
        .then(|| assumed::download_ns(costs, result.bytes));
    let moving = down.chain(kept).fold(0, u64::saturating_add);
    (task.host_ns / parts)
        .saturating_add(moving)
        .saturating_add(assumed::upload_ns(costs, result.bytes))
}
