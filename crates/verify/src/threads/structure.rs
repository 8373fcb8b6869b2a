//! Threads, events, streams and segments used as declared; and deadlocks.

use super::schedule::{Blocked, Index, Schedule};
use crate::check::Checker;
use crate::report::Issue;
use cloakwork_ir::{Step, Text, Threaded, Threads};
use rustc_hash::FxHashMap;

/// Where each thread is forked and joined, each event recorded and waited for: steps.
#[derive(Default)]
struct Uses {
    forks: FxHashMap<Text, Vec<u32>>,
    joins: FxHashMap<Text, Vec<u32>>,
    records: FxHashMap<Text, Vec<u32>>,
    waits: FxHashMap<Text, Vec<u32>>,
}

impl Checker<'_> {
    /// Checks threads, events, streams and segments, whatever the steps between. Returns whether
    /// all is well but for segments: then the happens-before order is known.
    pub(super) fn structure(
        &mut self,
        threads: &Threads,
        index: &Index,
        schedule: &Schedule,
    ) -> bool {
        let uses = self.uses(threads, index);
        self.forked_and_joined(threads, &uses);
        self.recorded(threads, &uses);
        if !self.has_error {
            self.deadlocks(threads, schedule, &uses);
        }
        if schedule.too_large {
            let expected = "at most 2^28 entries of clocks";
            let got = "more threads, streams and waits than that";
            self.report_at(0, Issue::error("limits", expected, got));
        }
        let sound = !self.has_error;
        self.nested(threads);
        sound
    }

    fn uses(&mut self, threads: &Threads, index: &Index) -> Uses {
        let mut uses = Uses::default();
        for (step, entry) in (0u32..).zip(&self.program.steps) {
            let (stream, place) = match *entry {
                Step::Threaded(Threaded::Fork(name)) => (None, Some((&mut uses.forks, name))),
                Step::Threaded(Threaded::Join(name)) => (None, Some((&mut uses.joins, name))),
                Step::Threaded(Threaded::Record { event, stream }) => {
                    (stream, Some((&mut uses.records, event)))
                }
                Step::Threaded(Threaded::Wait { event, stream }) => {
                    (stream, Some((&mut uses.waits, event)))
                }
                _ => (threads.note(step).stream, None),
            };
            if let Some((uses, name)) = place {
                uses.entry(name).or_default().push(step);
            }
            if let Some(stream) = stream
                && !index.streams.contains_key(&stream)
            {
                self.undeclared(step, "stream", stream, "device");
            }
        }
        let known = |uses: &FxHashMap<Text, Vec<u32>>, names: &FxHashMap<Text, u32>| {
            let unknown = uses.iter().filter(|(name, _)| !names.contains_key(name));
            let mut found: Vec<(u32, Text)> = unknown
                .filter_map(|(name, steps)| Some((*steps.first()?, *name)))
                .collect();
            found.sort_unstable_by_key(|(step, _)| *step);
            found
        };
        for (uses, names, what) in [
            (&uses.forks, &index.threads, "thread"),
            (&uses.joins, &index.threads, "thread"),
            (&uses.records, &index.events, "event"),
            (&uses.waits, &index.events, "event"),
        ] {
            for (step, name) in known(uses, names) {
                self.undeclared(step, what, name, what);
            }
        }
        uses
    }

    fn undeclared(&mut self, step: u32, what: &str, name: Text, code: &'static str) {
        let got = format!("\"{}\"", self.program.text_name(name));
        let issue = Issue::error(code, format!("the name of a declared {what}"), got);
        self.report_at(step, issue.hint("declare it, or correct the name"));
    }

    fn forked_and_joined(&mut self, threads: &Threads, uses: &Uses) {
        for (number, thread) in threads.threads.iter().enumerate() {
            let name = self.program.text_name(thread.name).to_owned();
            let forks = uses.forks.get(&thread.name).map_or(&[][..], Vec::as_slice);
            let joins = uses.joins.get(&thread.name).map_or(&[][..], Vec::as_slice);
            let is_main = number == 0;
            for (what, steps) in [("forked", forks), ("joined", joins)] {
                let wanted = usize::from(!is_main);
                if steps.len() == wanted {
                    continue;
                }
                let expected = if is_main {
                    format!("the main thread never {what}")
                } else {
                    format!("the thread \"{name}\" {what} once")
                };
                let at = steps.get(wanted).copied();
                let got = match steps.len() {
                    0 => "never".to_owned(),
                    count => format!("{count} times"),
                };
                let issue = Issue::error("thread", expected, got);
                let hint = "fork a thread once, and join it once after the fork";
                // A thread without steps has no place of its own.
                let last = (self.program.steps.len() as u32).saturating_sub(1);
                let place = at.unwrap_or(thread.steps.start).min(last);
                self.report_at(place, issue.hint(hint));
            }
            if let Some(&own) = joins.iter().find(|step| thread.steps.contains(step)) {
                let issue = Issue::error("thread", "a join by another thread", "its own");
                self.report_at(own, issue.hint("join it from the thread that forked it"));
            }
        }
    }

    fn recorded(&mut self, threads: &Threads, uses: &Uses) {
        for event in &threads.events {
            let name = self.program.text_name(event.name).to_owned();
            let records = uses.records.get(&event.name).map_or(&[][..], Vec::as_slice);
            let waits = uses.waits.get(&event.name).map_or(&[][..], Vec::as_slice);
            if let Some(&second) = records.get(1) {
                let got = format!("{} times", records.len());
                let issue = Issue::error("event", format!("\"{name}\" recorded once"), got);
                self.report_at(second, issue.hint("events are one-shot: declare another"));
            }
            if let (Some(&first), []) = (waits.first(), records) {
                let expected = format!("a record of \"{name}\" somewhere");
                let issue = Issue::error("event", expected, "none");
                self.report_at(first, issue.hint("record it, or remove the wait"));
            }
            if waits.is_empty() {
                let issue = Issue::warning("event", format!("a wait for \"{name}\""), "none");
                self.report_at(records.first().copied().unwrap_or(0), issue);
            }
            for &step in records {
                self.recorded_where_declared(threads, step, event.device);
            }
        }
    }

    /// An event of a device is recorded on a stream of it, one of threads on none.
    fn recorded_where_declared(&mut self, threads: &Threads, step: u32, device: Option<Text>) {
        let Some(Step::Threaded(Threaded::Record { stream, .. })) =
            self.program.steps.get(step as usize)
        else {
            return;
        };
        let declared = stream.and_then(|name| threads.streams.iter().find(|s| s.name == name));
        let own = declared.map(|stream| stream.device);
        if own == device {
            return;
        }
        let said = |device: Option<Text>| match device {
            Some(name) => format!("on a stream of {}", self.program.text_name(name)),
            None => "on no stream".to_owned(),
        };
        let issue = Issue::error("event", format!("recorded {}", said(device)), said(own));
        let hint = "the event's declaration says where it happens";
        self.report_at(step, issue.hint(hint));
    }

    /// Segments of each thread nest, and a thread that is forked in one is joined in it.
    fn nested(&mut self, threads: &Threads) {
        for thread in &threads.threads {
            let mut open: Vec<(u32, Text)> = Vec::new();
            let mut forked: FxHashMap<Text, Option<u32>> = FxHashMap::default();
            for step in thread.steps.clone() {
                let around = open.last().map(|(start, _)| *start);
                match self.program.steps.get(step as usize) {
                    Some(Step::SegmentStart(name)) => open.push((step, *name)),
                    Some(Step::SegmentEnd) if open.pop().is_none() => {
                        let issue = Issue::error("segment", "an open segment", "none");
                        self.report_at(step, issue.hint("remove the end, or begin a segment"));
                    }
                    Some(Step::Threaded(Threaded::Fork(name))) => {
                        forked.insert(*name, around);
                    }
                    Some(Step::Threaded(Threaded::Join(name)))
                        if forked.get(name).is_some_and(|at| *at != around) =>
                    {
                        let name = self.program.text_name(*name);
                        let expected = format!("\"{name}\" joined in the segment of its fork");
                        let issue = Issue::error("segment", expected, "in another");
                        self.report_at(step, issue.hint("move the join, or the segment's end"));
                    }
                    _ => {}
                }
            }
            for (start, name) in open {
                let expected = format!("an end of \"{}\"", self.program.text_name(name));
                let issue = Issue::error("segment", expected, "none");
                self.report_at(start, issue.hint("end the segment in its thread"));
            }
        }
    }

    /// The shortest cycle of chains that wait for each other; else each that waits for ever.
    fn deadlocks(&mut self, threads: &Threads, schedule: &Schedule, uses: &Uses) {
        let streams = threads.streams.len() as u32;
        let stuck: FxHashMap<u32, Blocked> = schedule.stuck.iter().copied().collect();
        let chain_of = |step: u32| streams + threads.thread_of(step) as u32;
        // Whom a chain waits for, and the step there that it waits for.
        let next = |chain: u32| -> Option<(u32, u32, u32)> {
            match *stuck.get(&chain)? {
                Blocked::NotForked => {
                    let thread = threads.threads.get((chain - streams) as usize)?;
                    let fork = *uses.forks.get(&thread.name)?.first()?;
                    Some((thread.steps.start, fork, chain_of(fork)))
                }
                Blocked::Event { step, event } => {
                    let event = threads.events.get(event as usize)?;
                    let record = *uses.records.get(&event.name)?.first()?;
                    let queue = match self.program.steps.get(record as usize)? {
                        Step::Threaded(Threaded::Record { stream, .. }) => *stream,
                        _ => None,
                    };
                    let issuer = chain_of(record);
                    let position = |name| threads.streams.iter().position(|s| s.name == name);
                    // A record that is queued waits for its stream, another for its thread.
                    let chain = match queue.and_then(position) {
                        Some(stream) if !stuck.contains_key(&issuer) => stream as u32,
                        _ => issuer,
                    };
                    Some((step, record, chain))
                }
                Blocked::Thread { step, thread } => {
                    let last = threads.threads.get(thread as usize)?.steps.end;
                    Some((step, last.saturating_sub(1), streams + thread))
                }
            }
        };
        if let Some(cycle) = shortest_cycle(schedule, next) {
            let (first, _) = cycle.first().copied().unwrap_or_default();
            let mut text = String::new();
            for (waits, release) in &cycle {
                let (waits, release) = (self.place(*waits), self.place(*release));
                text += &format!("{waits} waits for {release}; ");
            }
            let got = format!("a cycle: {}", text.trim_end_matches("; "));
            let issue = Issue::error("deadlock", "an order in which all can run", got);
            self.report_at(first, issue.hint("remove or move one of these waits"));
        }
    }
}

/// The shortest cycle of chains that wait for each other: the waiting steps and their targets.
fn shortest_cycle(
    schedule: &Schedule,
    next: impl Fn(u32) -> Option<(u32, u32, u32)>,
) -> Option<Vec<(u32, u32)>> {
    let mut best: Option<Vec<(u32, u32)>> = None;
    let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
    for (round, &(start, _)) in (1u32..).zip(&schedule.stuck) {
        let mut path: Vec<(u32, u32, u32)> = Vec::new();
        let mut chain = start;
        while let Some((waits, release, other)) = next(chain) {
            match seen.insert(chain, round) {
                Some(earlier) if earlier != round => break,
                Some(_) => {
                    let begin = path.iter().position(|(own, ..)| *own == chain);
                    let cycle = path.split_off(begin.unwrap_or(0));
                    if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                        best = Some(cycle.iter().map(|&(_, w, r)| (w, r)).collect());
                    }
                    break;
                }
                None => {}
            }
            path.push((chain, waits, release));
            chain = other;
        }
    }
    best
}
