//! A run as Chrome trace events, which Perfetto and speedscope open: one track, segments around
//! their steps, and the arena's bytes in use below.

use crate::outcome::{Outcome, Profile};
use crate::report::step_op;
use cloakwork_ir::Text;
use cloakwork_plan::Plan;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the trace of a profiled run. Without a profile there is nothing to show but the name.
///
/// # Errors
/// The writer's.
pub fn write_chrome(plan: &Plan, outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, first: true };
    events.open()?;
    events.put(&json!({
        "ph": "M", "pid": 1, "name": "process_name", "args": {"name": "cloakwork"}
    }))?;
    events.put(&json!({
        "ph": "M", "pid": 1, "tid": 1, "name": "thread_name",
        "args": {"name": format!("cpu, {} threads", outcome.threads)}
    }))?;
    if let Some(profile) = &outcome.profile {
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

fn span_event(name: &str, category: &str, (start, end): (u64, u64), args: Value) -> Value {
    json!({
        "ph": "X", "pid": 1, "tid": 1, "name": name, "cat": category,
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
            let span = (profile.span_ns(first).0, profile.span_ns(index - 1).1);
            let args = json!({"steps": index - first});
            events.put(&span_event(program.text_name(text), "segment", span, args))?;
            open = None;
        }
        if open.is_none() {
            open = segment.map(|text| (text, index));
        }
    }
    Ok(())
}

fn write_steps(plan: &Plan, profile: &Profile, events: &mut Events) -> io::Result<()> {
    for (index, (step, cost)) in plan.steps.iter().zip(&plan.costs).enumerate() {
        let args = json!({
            "step": plan.program_step(step.origin),
            "kernel": step.row.symbol,
            "operations": cost.operations,
            "bytes": cost.bytes,
        });
        events.put(&span_event(
            step_op(plan, index),
            "op",
            profile.span_ns(index),
            args,
        ))?;
    }
    Ok(())
}

fn write_memory(plan: &Plan, profile: &Profile, events: &mut Events) -> io::Result<()> {
    let mut change = vec![0i64; plan.steps.len() + 1];
    for buffer in &plan.buffers {
        if let Some(at) = change.get_mut(buffer.first as usize) {
            *at += buffer.bytes as i64;
        }
        if let Some(at) = change.get_mut(buffer.last as usize + 1) {
            *at -= buffer.bytes as i64;
        }
    }
    let mut bytes = 0;
    for (index, delta) in change
        .into_iter()
        .enumerate()
        .filter(|(_, delta)| *delta != 0)
    {
        bytes += delta;
        let at = match index.checked_sub(1) {
            Some(before) => profile.span_ns(before).1,
            None => 0,
        };
        events.put(&json!({
            "ph": "C", "pid": 1, "name": "arena bytes in use", "ts": microseconds(at),
            "args": {"bytes": bytes}
        }))?;
    }
    Ok(())
}
