//! Numbers of a run: totals for each op and segment, and single steps on demand.

use crate::exec::measured::Measured;
use crate::report::names::op_name;
use crate::report::outcome::Outcome;
use cloakwork_plan::{Elsewhere, Graph, Plan, StepCost, Work};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

#[derive(Default)]
struct Total {
    calls: u64,
    nanoseconds: u64,
    cost: StepCost,
    kernels: BTreeSet<&'static str>,
}

impl Total {
    fn add(&mut self, nanoseconds: u64, cost: StepCost) {
        self.calls += 1;
        self.nanoseconds += nanoseconds;
        self.cost.operations += cost.operations;
        self.cost.bytes += cost.bytes;
    }

    fn json(&self, key: &str, name: &str) -> Value {
        json!({
            key: name,
            "calls": self.calls,
            "seconds": self.nanoseconds as f64 * 1e-9,
            "operations": self.cost.operations,
            "bytes": self.cost.bytes,
            "kernels": self.kernels,
        })
    }
}

/// The op of the program that a planned step belongs to. Steps that move buffers have names of
/// their own. Fills and copies that the planner added count for the op that needs them, under their
/// kernel's name.
#[must_use]
pub fn step_op(plan: &Plan, step: usize) -> &str {
    let Some(step) = plan.steps.get(step) else {
        return "";
    };
    match step.work {
        Work::Launch { .. } | Work::Prepare { .. } | Work::Check(_) => {
            op_name(plan.verified.program(), step.origin)
        }
        Work::Transfer(_) | Work::Function(_) => step.symbol(),
    }
}

/// Totals of a run. Times are zero unless the run was profiled.
#[must_use]
pub fn summary(plan: &Plan, outcome: &Outcome) -> Value {
    let mut ops: BTreeMap<&str, Total> = BTreeMap::new();
    let mut segments: Vec<(String, Total)> = Vec::new();
    let program = plan.verified.program();
    for (index, (step, cost)) in plan.steps.iter().zip(&plan.costs).enumerate() {
        let (start, end) = span(outcome, index);
        let total = ops.entry(step_op(plan, index)).or_default();
        total.add(end - start, *cost);
        total.kernels.insert(step.symbol());
        let text = plan.verified.segment_of(step.origin);
        let name = text.map_or("", |text| program.text_name(text));
        if segments.last().is_none_or(|(last, _)| last != name) {
            segments.push((name.to_owned(), Total::default()));
        }
        if let Some((_, total)) = segments.last_mut() {
            total.add(end - start, *cost);
            total.kernels.insert(step.symbol());
        }
    }
    let written = plan.verified.source();
    let mut rows: Vec<_> = ops.iter().collect();
    rows.sort_by_key(|(_, total)| std::cmp::Reverse(total.nanoseconds));
    json!({
        "threads": outcome.threads,
        "wall_seconds": outcome.wall_ns as f64 * 1e-9,
        "isa": plan.options.isa.to_string(),
        "steps": plan.steps.len(),
        "program_steps": written.steps.len(),
        "memory": memory(plan),
        "elsewhere": elsewhere(plan),
        "limb_major_storages": plan.limb_major_storages,
        "ops": rows.iter().map(|(name, total)| total.json("op", name)).collect::<Vec<_>>(),
        "segments": segments.iter().map(|(n, t)| t.json("segment", n)).collect::<Vec<_>>(),
    })
}

/// The steps of the program that run on the host although a device was wanted.
#[must_use]
pub fn elsewhere(plan: &Plan) -> Vec<Value> {
    let entry = |moved: &Elsewhere| {
        json!({
            "step": plan.program_step(moved.origin),
            "op": op_name(plan.verified.program(), moved.origin),
            "device": moved.device.to_string(),
            "why": moved.to_string(),
        })
    };
    plan.elsewhere.iter().map(entry).collect()
}

/// The memory that a run needs, as the plan counts it.
#[must_use]
pub fn memory(plan: &Plan) -> Value {
    let memory = &plan.memory;
    json!({
        "peak_bytes": memory.peak_bytes(),
        "arena_bytes": memory.arena_bytes,
        "prepared_bytes": memory.prepared_bytes,
        "scratch_bytes": memory.scratch_bytes,
        "output_bytes": memory.output_bytes,
        "table_bytes": memory.table_bytes,
        "constant_bytes": memory.constant_bytes,
        "file_bytes": memory.file_bytes,
        "disk_bytes": memory.disk_bytes,
        "spilled_bytes": memory.spilled_bytes,
        "reloaded_bytes": memory.reloaded_bytes,
    })
}

/// The number of tasks and edges, and whether running tasks side by side is expected to pay.
#[must_use]
pub fn graph(graph: &Graph) -> Value {
    json!({
        "tasks": graph.tasks().len(),
        "edges": graph.edges(),
        "side_by_side": graph.pays(),
    })
}

/// A range of steps, one object each.
#[must_use]
pub fn steps(plan: &Plan, outcome: &Outcome, range: Range<usize>) -> Vec<Value> {
    let program = plan.verified.program();
    let range = range.start..range.end.min(plan.steps.len());
    range
        .filter_map(|index| {
            let (step, cost) = (plan.steps.get(index)?, plan.costs.get(index)?);
            let (start, end) = span(outcome, index);
            let segment = plan.verified.segment_of(step.origin);
            Some(json!({
                "step": plan.program_step(step.origin),
                "op": step_op(plan, index),
                "kernel": step.symbol(),
                "segment": segment.map(|text| program.text_name(text)),
                "start_seconds": start as f64 * 1e-9,
                "seconds": (end - start) as f64 * 1e-9,
                "worker": outcome.profile.as_ref().map_or(0, |profile| profile.worker(index)),
                "operations": cost.operations,
                "bytes": cost.bytes,
            }))
        })
        .collect()
}

/// All steps, with times from the start of the run.
pub(crate) fn measured(plan: &Plan, outcome: &Outcome) -> impl Iterator<Item = Measured> {
    let steps = plan.steps.iter().zip(&plan.costs).enumerate();
    steps.map(|(index, (step, cost))| {
        let (start_ns, end_ns) = span(outcome, index);
        Measured {
            op: step_op(plan, index).to_owned(),
            kernel: step.symbol(),
            start_ns,
            nanoseconds: end_ns - start_ns,
            bytes: cost.bytes,
            threads: outcome.threads,
        }
    })
}

fn span(outcome: &Outcome, step: usize) -> (u64, u64) {
    outcome
        .profile
        .as_ref()
        .map_or((0, 0), |profile| profile.span_ns(step))
}
