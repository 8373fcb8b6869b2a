//! The profile of a run as Chrome trace events, which Perfetto and speedscope open: a track for
//! each worker, segments around their steps, and the arena's bytes in use below.

use crate::report::outcome::{Outcome, Profile};
use crate::report::totals::step_op;
use cloakwork_ir::Text;
use cloakwork_plan::Plan;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

/// Writes the profile of a run for Perfetto and Chrome; without measurements, only its name.
///
/// # Errors
/// The writer's error.
pub fn write_chrome(plan: &Plan, outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, first: true };
    events.open()?;
    events.put(&json!({
        "ph": "M", "pid": 1, "name": "process_name", "args": {"name": "cloakwork"}
    }))?;
    if let Some(profile) = &outcome.profile {
        write_tracks(plan, profile, outcome.threads, &mut events)?;
        write_segments(plan, profile, &mut events)?;
        write_steps(plan, profile, &mut events)?;
        write_memory(plan, profile, &mut events)?;
    }
    events.close()
}

struct Events<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn open(&mut self) -> io::Result<()> {
        self.out
            .write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")
    }

    fn put(&mut self, event: &Value) -> io::Result<()> {
        if !self.first {
            self.out.write_all(b",\n")?;
        }
        self.first = false;
        serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from)
    }

    fn close(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// The track of segments; worker `w` has track `w + 1`.
const SEGMENTS: u32 = 0;

fn track(worker: u32) -> u32 {
    worker + 1
}

fn write_tracks(
    plan: &Plan,
    profile: &Profile,
    threads: usize,
    events: &mut Events,
) -> io::Result<()> {
    let mut name = |track: u32, name: String| {
        events.put(&json!({
            "ph": "M", "pid": 1, "tid": track, "name": "thread_name", "args": {"name": name}
        }))
    };
    let steps = (0..plan.steps.len()).map(|step| profile.worker(step));
    let helpers = profile.helps().iter().map(|help| help.worker);
    let last = steps.chain(helpers).max().unwrap_or(0);
    name(SEGMENTS, "segments".to_owned())?;
    name(track(0), format!("cpu, {threads} threads"))?;
    (1..=last).try_for_each(|worker| name(track(worker), format!("cpu, worker {worker}")))
}

fn span_event(
    (name, category): (&str, &str),
    track: u32,
    (start, end): (u64, u64),
    args: Value,
) -> Value {
    json!({
        "ph": "X", "pid": 1, "tid": track, "name": name, "cat": category,
        "ts": microseconds(start), "dur": microseconds(end.saturating_sub(start)), "args": args
    })
}

fn write_segments(plan: &Plan, profile: &Profile, events: &mut Events) -> io::Result<()> {
    let program = plan.verified.program();
    let mut open: Option<(Text, usize)> = None;
    for index in 0..=plan.steps.len() {
        let segment = plan
            .steps
            .get(index)
            .and_then(|s| plan.verified.segment_of(s.origin));
        if let Some((text, first)) = open
            && segment != Some(text)
        {
            let spans = (first..index).map(|step| profile.span_ns(step));
            let span = spans.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
            let args = json!({"steps": index - first});
            let name = (program.text_name(text), "segment");
            events.put(&span_event(name, SEGMENTS, span.unwrap_or((0, 0)), args))?;
            open = None;
        }
        if open.is_none() {
            open = segment.map(|text| (text, index));
        }
    }
    Ok(())
}

fn write_steps(plan: &Plan, profile: &Profile, events: &mut Events) -> io::Result<()> {
    let mut shared: HashSet<u32> = profile.helps().iter().map(|help| help.step).collect();
    for fusion in &plan.fusions {
        if shared.contains(&fusion.first) {
            shared.extend(fusion.first..fusion.end);
        }
    }
    for index in 0..plan.steps.len() {
        if !shared.contains(&(index as u32)) {
            let track = track(profile.worker(index));
            let (name, args) = (step_op(plan, index), step_args(plan, index));
            events.put(&span_event(
                (name, "op"),
                track,
                profile.span_ns(index),
                args,
            ))?;
        }
    }
    for help in profile.helps() {
        let index = help.step as usize;
        let (span, track) = ((help.begun_ns, help.ended_ns), track(help.worker));
        let (name, args) = (step_op(plan, index), step_args(plan, index));
        events.put(&span_event((name, "op"), track, span, args))?;
    }
    Ok(())
}

fn step_args(plan: &Plan, index: usize) -> Value {
    let (step, cost) = (&plan.steps[index], &plan.costs[index]);
    json!({
        "step": plan.program_step(step.origin),
        "kernel": step.symbol(),
        "operations": cost.operations,
        "bytes": cost.bytes,
    })
}

/// A buffer is in use from the beginning of its first step to the end of its last.
fn write_memory(plan: &Plan, profile: &Profile, events: &mut Events) -> io::Result<()> {
    let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
    for buffer in plan.buffers.iter().filter(|buffer| buffer.bytes > 0) {
        let (first, last) = (buffer.life.first as usize, buffer.life.last as usize);
        *changes.entry(profile.span_ns(first).0).or_default() += buffer.bytes as i64;
        *changes.entry(profile.span_ns(last).1).or_default() -= buffer.bytes as i64;
    }
    let mut bytes = 0;
    for (at, delta) in changes.into_iter().filter(|(_, delta)| *delta != 0) {
        bytes += delta;
        events.put(&json!({
            "ph": "C", "pid": 1, "name": "arena bytes in use", "ts": microseconds(at),
            "args": {"bytes": bytes}
        }))?;
    }
    Ok(())
}
