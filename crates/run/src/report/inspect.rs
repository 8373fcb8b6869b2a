//! Describes a program and its plan before a run: counts, types, coverage.

use crate::report::names::op_name;
use crate::report::totals;
use cloakwork_ir::{Generation, HostSlot, Step};
use cloakwork_plan::Plan;
use cloakwork_verify::{Action, Verified};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Row {
    calls: u64,
    kernels: BTreeSet<&'static str>,
}

/// The program's ops, segments, dtypes, inputs and outputs, and the memory that a run of the plan
/// needs.
///
/// `verified` is the program as given, `plan` was made from it.
#[must_use]
pub fn inspect(verified: &Verified, plan: &Plan) -> Value {
    let program = verified.program();
    let generation = match program.generation {
        Generation::First => "first",
        Generation::Later => "later",
    };
    let ops = ops(verified, plan);
    let mut coverage: BTreeMap<&str, u64> = BTreeMap::new();
    for ((_, how), row) in &ops {
        *coverage.entry(how).or_default() += row.calls;
    }
    let ops = ops.iter().map(|((op, how), row)| {
        json!({"op": op, "runs_as": how, "calls": row.calls, "kernels": row.kernels})
    });
    json!({
        "generation": generation,
        "steps": program.steps.len(),
        "planned_steps": plan.steps.len(),
        "isa": plan.options.isa.to_string(),
        "threads": plan.options.threads,
        "ops": ops.collect::<Vec<_>>(),
        "coverage": coverage,
        "segments": segments(verified),
        "dtypes": dtypes(verified),
        "limb_major_storages": plan.limb_major_storages,
        "inputs": inputs(verified),
        "outputs": outputs(verified, plan),
        "host_bytes": host_bytes(verified),
        "memory": totals::memory(plan),
        "elsewhere": totals::elsewhere(plan),
        "graph": plan.graph.as_ref().map(totals::graph),
    })
}

/// Calls by op and by the kind of action that computes them.
fn ops<'a>(verified: &'a Verified, plan: &Plan) -> BTreeMap<(&'a str, &'static str), Row> {
    let mut rows: BTreeMap<(&str, &str), Row> = BTreeMap::new();
    let mut of_step = BTreeMap::new();
    let origins = verified.origins();
    let written = |step: u32| origins.as_ref().and_then(|o| o.get(step as usize).copied());
    for (step, action) in verified.actions() {
        // A step's last action is its own; actions before it may create its result. Plans number
        // steps as the source does; with several threads, the program's order differs.
        let name = op_name(verified.program(), *step);
        of_step.insert(written(*step).unwrap_or(*step), (name, runs_as(action)));
    }
    for of in of_step.values() {
        rows.entry(*of).or_default().calls += 1;
    }
    for planned in &plan.steps {
        let step = plan.program_step(planned.origin);
        if let (Some(of), Some(kernel)) = (of_step.get(&step), planned.launched()) {
            rows.entry(*of).or_default().kernels.insert(kernel.symbol);
        }
    }
    rows
}

fn runs_as(action: &Action) -> &'static str {
    match action {
        Action::Upload { .. } | Action::Download { .. } => "transfer",
        Action::Allocate { .. } => "allocation",
        Action::View { .. } => "view",
        Action::Copy { .. } => "copy",
        Action::Kernel { .. } => "kernel",
        Action::Composite { .. } => "expansion",
    }
}

/// Segments in order, with the calls in each.
fn segments(verified: &Verified) -> Vec<Value> {
    let program = verified.program();
    let mut segments: Vec<(&str, u64)> = Vec::new();
    for (index, step) in program.steps.iter().enumerate() {
        if !matches!(step, Step::Op(_)) {
            continue;
        }
        let text = verified.segment_of(index as u32);
        let name = text.map_or("", |text| program.text_name(text));
        match segments.last_mut() {
            Some((last, calls)) if *last == name => *calls += 1,
            _ => segments.push((name, 1)),
        }
    }
    segments
        .iter()
        .map(|(name, calls)| json!({"segment": name, "calls": calls}))
        .collect()
}

/// Storages and their bytes by dtype.
fn dtypes(verified: &Verified) -> Value {
    let mut dtypes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for storage in verified.storages() {
        let (tensors, bytes) = dtypes.entry(storage.dtype.name()).or_default();
        *tensors += 1;
        *bytes += storage.root.shape.elements() * storage.dtype.size_bytes() as u64;
    }
    let rows = dtypes
        .iter()
        .map(|(name, (tensors, bytes))| json!({"dtype": name, "tensors": tensors, "bytes": bytes}));
    rows.collect()
}

fn inputs(verified: &Verified) -> Vec<Value> {
    let hosts = verified.program().hosts.iter();
    let inputs = hosts.filter_map(|slot| match slot {
        HostSlot::Input { name, ty } => Some(json!({"name": name, "type": ty.to_string()})),
        _ => None,
    });
    inputs.collect()
}

fn outputs(verified: &Verified, plan: &Plan) -> Vec<Value> {
    let output = |download: &cloakwork_plan::Download| {
        let name = match verified.program().host(download.host) {
            Some(HostSlot::Output { name }) => Some(name.as_str()),
            _ => None,
        };
        json!({"name": name, "type": download.ty.to_string(), "expected": name.is_none()})
    };
    plan.downloads.iter().map(output).collect()
}

/// Bytes of the program's own tensors.
fn host_bytes(verified: &Verified) -> u64 {
    let data = |slot: &HostSlot| match slot {
        HostSlot::Data(tensor) => tensor.ty().size_bytes(),
        _ => 0,
    };
    verified.program().hosts.iter().map(data).sum()
}
