//! Where the steps of a program run: on their device, by the expansion of their op, or on the host
//! with transfers, and why.
//!
//! Every step of the program as written that calls an op counts once, in one row. A transfer counts
//! for a step on the host if it brings operands of the step, or if it takes to a device bytes that
//! the step wrote; and for a step whose check the host does, or whose zeros it makes, if it brings
//! these.

use crate::report::names::op_name;
use crate::report::outcome::Outcome;
use cloakwork_ir::{Device, Program, Step};
use cloakwork_ops::{OpDef, find_form};
use cloakwork_plan::{Address, Home, Plan, Space, Way, Why, Work};
use cloakwork_verify::{Action, Verified};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How a step of the program runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    /// By the device's kernel for its op.
    Native,
    /// By the device's kernels, with a check of contents on the host, for this reason.
    Checked(String),
    /// By the device's kernels, on zeros that the host made, for this reason.
    Zeroed(String),
    /// By these smaller ops.
    Expanded(BTreeSet<String>),
    /// On the host, for this reason.
    Host(String),
    /// No kernel: views, allocations, uploads, downloads, and functions of the caller's.
    NoKernel,
    /// Not at all: passes removed the step, or gave its work to another.
    Removed,
}

impl How {
    const fn name(&self) -> &'static str {
        match self {
            Self::Native => "device",
            Self::Checked(_) => "host check",
            Self::Zeroed(_) => "host zeros",
            Self::Expanded(_) => "expansion",
            Self::Host(_) => "host",
            Self::NoKernel => "no kernel",
            Self::Removed => "removed",
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Transfers {
    count: u64,
    bytes: u64,
    estimated_ns: u64,
    measured_ns: u64,
}

impl Transfers {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.estimated_ns += other.estimated_ns;
        self.measured_ns += other.measured_ns;
    }

    fn json(&self, is_measured: bool) -> Value {
        let measured = is_measured.then_some(self.measured_ns as f64 * 1e-9);
        json!({
            "count": self.count,
            "bytes": self.bytes,
            "estimated_seconds": self.estimated_ns as f64 * 1e-9,
            "measured_seconds": measured,
        })
    }
}

#[derive(Default)]
struct Row {
    steps: u64,
    device: Option<Device>,
    transfers: Transfers,
}

/// The table of a plan, with the times of a run if there was one that was profiled.
#[must_use]
pub fn table(plan: &Plan, outcome: Option<&Outcome>) -> Value {
    let steps = Steps::of(plan);
    let costs = transfers(plan, outcome);
    let mut rows: BTreeMap<(&str, &How), Row> = BTreeMap::new();
    for (step, op, how, device) in &steps.all {
        let row = rows.entry((op, how)).or_default();
        row.steps += 1;
        row.device = *device;
        if let Some(cost) = costs.get(step) {
            row.transfers.add(*cost);
        }
    }
    let is_measured = outcome.is_some_and(|outcome| outcome.profile.is_some());
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    let mut all = Transfers::default();
    for ((_, how), row) in &rows {
        *totals.entry(how.name()).or_default() += row.steps;
        all.add(row.transfers);
    }
    let shown = rows.iter().map(|((op, how), row)| {
        let (into, why) = match how {
            How::Expanded(into) => (Some(into), None),
            How::Host(why) | How::Checked(why) | How::Zeroed(why) => (None, Some(why)),
            _ => (None, None),
        };
        json!({
            "op": op, "steps": row.steps, "runs": how.name(),
            "device": row.device.map(|device| device.to_string()),
            "into": into, "why": why, "transfers": row.transfers.json(is_measured),
        })
    });
    json!({
        "device": plan.options.gpus.unwrap_or(plan.options.device).to_string(),
        "steps": steps.all.len(),
        "runs": totals,
        "transfers": all.json(is_measured),
        "ops": shown.collect::<Vec<_>>(),
    })
}

/// The steps of the program as written that call an op: number, op, how it runs, and where.
struct Steps<'a> {
    all: Vec<(u32, &'a str, How, Option<Device>)>,
}

impl<'a> Steps<'a> {
    fn of(plan: &'a Plan) -> Self {
        let source = plan.verified.source();
        let mut made = made(plan);
        for moved in &plan.elsewhere {
            let of = made.entry(plan.program_step(moved.origin)).or_default();
            let why = match moved.why {
                Why::NoCheck(_) => &mut of.check,
                Why::NoFill(_) => &mut of.zeros,
                _ => &mut of.why,
            };
            why.get_or_insert_with(|| moved.to_string());
            of.device = Some(moved.device);
        }
        let has_kernel = with_kernels(plan);
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let calls = source.steps.iter().enumerate();
        let calls = calls.filter(|(_, step)| matches!(step, Step::Op(_)));
        let all = calls.map(|(index, _)| {
            let step = number(index);
            let op = op_name(source, step);
            let of = made.remove(&step);
            let device = of.as_ref().and_then(|of| of.device);
            (step, op, how(of, has_kernel.contains(&step)), device)
        });
        Self { all: all.collect() }
    }
}

/// Ops and device that the plan has for a step.
#[derive(Default)]
struct Made {
    /// The ops with kernels that it calls.
    into: BTreeSet<String>,
    /// Whether it calls its own op, whole or in parts, and others.
    calls_own: bool,
    calls_others: bool,
    has_kernel: bool,
    /// Why it runs on the host.
    why: Option<String>,
    /// Why its check does.
    check: Option<String>,
    /// Why the host makes its zeros.
    zeros: Option<String>,
    device: Option<Device>,
}

fn how(of: Option<Made>, had_kernel: bool) -> How {
    let Some(of) = of else {
        return match had_kernel {
            true => How::Removed,
            false => How::NoKernel,
        };
    };
    if let Some(why) = of.why {
        return How::Host(why);
    }
    if let Some(why) = of.zeros {
        return How::Zeroed(why);
    }
    match of.check {
        Some(why) => How::Checked(why),
        None if of.calls_others && !of.calls_own => How::Expanded(of.into),
        None if of.has_kernel => How::Native,
        None if had_kernel => How::Removed,
        None => How::NoKernel,
    }
}

/// The steps of the program as written whose calls need a kernel.
fn with_kernels(plan: &Plan) -> BTreeSet<u32> {
    let given = plan.given.as_ref().unwrap_or(&plan.verified);
    let origins = given.origins();
    let step_of = |step: u32| origins.as_ref().map_or(step, |all| all[step as usize]);
    let calls = given
        .actions()
        .iter()
        .filter(|(_, action)| computes(action));
    calls.map(|(step, _)| step_of(*step)).collect()
}

fn computes(action: &Action) -> bool {
    match action {
        Action::Kernel { call, .. } => !call.def.calls_back(),
        Action::Composite { .. } | Action::Copy { .. } => true,
        _ => false,
    }
}

/// The plan's ops for each step of the program as written.
fn made(plan: &Plan) -> BTreeMap<u32, Made> {
    let verified: &Verified = &plan.verified;
    let (program, source): (&Program, &Program) = (verified.program(), verified.source());
    let mut made: BTreeMap<u32, Made> = BTreeMap::new();
    for (step, action) in verified.actions() {
        let own = plan.program_step(*step);
        let of = made.entry(own).or_default();
        if !computes(action) {
            continue;
        }
        let result = action.result().and_then(|value| verified.value(value));
        let storage = result.and_then(|info| verified.storage(info.storage));
        let wanted = storage.map(|storage| plan.options.device_of(storage.device));
        of.has_kernel = true;
        if let Some(written) = written(source, own) {
            let mut call = action.call().into_iter();
            match call.any(|call| std::ptr::eq(call.def, written)) {
                true => of.calls_own = true,
                false => of.calls_others |= written.body.expansion().is_some(),
            }
        }
        of.into.insert(op_name(program, *step).to_owned());
        of.device = of.device.or(wanted);
    }
    made
}

/// The op that a step of the program as written calls.
fn written(source: &Program, step: u32) -> Option<&'static OpDef> {
    let Some(Step::Op(op)) = source.steps.get(step as usize) else {
        return None;
    };
    let (name, count) = (source.text_name(op.name), source.args(op).len());
    let found = find_form(name, count, source.generation);
    found.ok().map(|(def, _)| def)
}

/// The transfers that each step on the host causes, by the step of the program as written.
fn transfers(plan: &Plan, outcome: Option<&Outcome>) -> BTreeMap<u32, Transfers> {
    let mut here = BTreeSet::new();
    let (mut checked_here, mut zeroed_here) = (BTreeSet::new(), BTreeSet::new());
    for moved in &plan.elsewhere {
        let steps = match moved.why {
            Why::NoCheck(_) => &mut checked_here,
            Why::NoFill(_) => &mut zeroed_here,
            _ => &mut here,
        };
        steps.insert(moved.origin);
    }
    let profile = outcome.and_then(|outcome| outcome.profile.as_ref());
    // For each buffer of the host the step that wrote it last, if that was meant for a device.
    let mut writers: Writers = BTreeMap::new();
    let mut found: BTreeMap<u32, Transfers> = BTreeMap::new();
    for (index, (step, cost)) in plan.steps.iter().zip(&plan.costs).enumerate() {
        let operands = &plan.addresses[plan.addresses_of(step)];
        let (Work::Transfer(way @ (Way::Upload | Way::Download)), [to, from, ..]) =
            (step.work, operands)
        else {
            if let (true, Some(target)) = (step.writes(), operands.first()) {
                note(
                    &mut writers,
                    target,
                    here.contains(&step.origin).then_some(step.origin),
                );
            }
            continue;
        };
        let owner = match here.contains(&step.origin) {
            true => Some(step.origin),
            false if way == Way::Download => {
                checked_here.contains(&step.origin).then_some(step.origin)
            }
            false => place(from).and_then(|at| {
                let made_zeros = zeroed_here.contains(&step.origin).then_some(step.origin);
                writers.get(&at).copied().or(made_zeros)
            }),
        };
        note(&mut writers, to, None);
        let Some(owner) = owner else { continue };
        let home = plan.home_of(if way == Way::Upload { to } else { from });
        let (begun, ended) = profile.map_or((0, 0), |profile| profile.span_ns(index));
        let of = found.entry(plan.program_step(owner)).or_default();
        of.add(Transfers {
            count: 1,
            bytes: cost.bytes,
            estimated_ns: estimated_ns(plan, home, way, cost.bytes),
            measured_ns: ended - begun,
        });
    }
    found
}

/// The last writers of memory, by its kind and index.
type Writers = BTreeMap<(bool, u32), u32>;

/// Memory that steps of a run write.
fn place(at: &Address) -> Option<(bool, u32)> {
    match at.space {
        Space::Buffer => Some((false, at.index)),
        Space::Output => Some((true, at.index)),
        _ => None,
    }
}

fn note(writers: &mut Writers, target: &Address, origin: Option<u32>) {
    if let Some(place) = place(target) {
        match origin {
            Some(origin) => writers.insert(place, origin),
            None => writers.remove(&place),
        };
    }
}

fn estimated_ns(plan: &Plan, home: Home, way: Way, bytes: u64) -> u64 {
    let costs = plan.driver(home).costs();
    match way {
        Way::Upload | Way::ToDisk => costs.upload_ns(bytes),
        Way::Download | Way::FromDisk => costs.download_ns(bytes),
    }
}
