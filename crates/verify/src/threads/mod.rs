//! Programs of several threads: happens-before, ownership, races.
//!
//! The checker reads the steps in the order of the canonical schedule, so that all it finds in
//! programs of one thread it finds here too. What follows from that order alone, and not from the
//! program, is found by vector clocks: names used before their definition is sure, memory given
//! back while in use, races. A program in which nothing is wrong means the same as its
//! linearization: the same steps in canonical order, in one thread.

mod accesses;
mod linear;
mod pools;
mod registers;
mod schedule;
mod structure;

pub use linear::{Linear, linearize};

use crate::check::Checker;
use crate::names::Name;
use crate::region::common;
use crate::report::Issue;
use crate::spelling::Spelling;
use crate::{Action, Bound, Call, StorageId, StorageOrigin, ValueId};
use accesses::{Accesses, Kind, Race};
use cloakwork_ir::{DType, Device, HostSlot, Op, Program, Step, Symbol, Text, Threads, View};
use cloakwork_ops::Family;
use pools::Pools;
use registers::Registers;
use rustc_hash::{FxHashMap, FxHashSet};
use schedule::{Index, Phase, Schedule};
use std::rc::Rc;

/// Comparisons of views that may overlap: more are refused.
const MAX_COMPARISONS: u64 = 1 << 27;

/// The node and the step that freed memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    node: u32,
    step: u32,
}

/// State of the checker while it reads a program of several threads.
#[derive(Default)]
pub(crate) struct Walk {
    schedule: Rc<Schedule>,
    registers: Registers,
    /// Calls that are queued: bound when issued, made sense of when executed.
    queued: FxHashMap<u32, Option<(Rc<Spelling>, Call)>>,
    accesses: FxHashMap<StorageId, Accesses>,
    /// The register that must free each storage, and the step that made it; none for what is lent.
    owners: FxHashMap<StorageId, (Symbol, u32)>,
    freed: FxHashMap<StorageId, Freed>,
    pools: Pools,
    handed_out: FxHashSet<StorageId>,
    comparisons: u64,
    /// Whether more than one chain does something, in an order that is known.
    concurrent: bool,
    /// Storages that race, and the two chains.
    raced: FxHashSet<(StorageId, u32, u32)>,
    /// The node at hand.
    node: u32,
}

impl<'p> Checker<'p> {
    /// Reads a program of several threads.
    pub fn check_threads(&mut self, threads: &Threads) {
        let program = self.program;
        let index = Index::new(threads);
        let schedule = Rc::new(schedule::schedule(program, threads, &index));
        self.sound = self.structure(threads, &index, &schedule) && !threads.unsure;
        let chains: FxHashSet<u32> = schedule.nodes.iter().map(|node| node.chain).collect();
        let mut walk = Walk {
            schedule: Rc::clone(&schedule),
            registers: Registers::new(program.symbols.len()),
            comparisons: MAX_COMPARISONS,
            concurrent: self.sound && chains.len() > 1,
            ..Walk::default()
        };
        for (node, at) in (0u32..).zip(&schedule.nodes) {
            (self.step, walk.node) = (at.step, node);
            self.node(&mut walk, at.phase);
        }
        if self.sound {
            self.streams_in_order(&schedule);
        }
        self.unwritten_reads(&walk);
        // What never ran was reported; what it would have freed is no news.
        if schedule.stuck.is_empty() {
            self.leaks(&walk);
        }
        if walk.comparisons == 0 {
            let expected = "at most 2^27 pairs of concurrent accesses";
            self.report_at(0, Issue::error("limits", expected, "more"));
        }
    }

    fn node(&mut self, walk: &mut Walk, phase: Phase) {
        let program = self.program;
        let Some(step) = program.steps.get(self.step as usize) else {
            return;
        };
        let before = self.actions.len();
        match (step, phase) {
            (Step::Op(op), Phase::Whole) => {
                self.mention(walk, op);
                self.op(op);
            }
            (Step::Op(op), Phase::Issue) => {
                self.mention(walk, op);
                let bound = self.bound(op);
                walk.queued.insert(self.step, bound);
            }
            (Step::Op(op), Phase::Execute) => {
                let call = walk.queued.remove(&self.step).flatten();
                let call = call.map(|(spelling, call)| (spelling, self.with_constants(call)));
                self.sense(op, call);
            }
            // A stream gives memory back where it comes to it.
            (Step::Free(_), Phase::Issue) => {}
            (Step::Free(symbol), _) => self.give_back(walk, *symbol),
            (Step::Threaded(step), Phase::Whole) => self.threaded(walk, step),
            _ => {}
        }
        for index in before..self.actions.len() {
            if let Some(action) = self.actions.get(index).map(|(_, action)| action.clone()) {
                self.acted(walk, &action);
            }
        }
    }

    /// The registers that a call uses and defines.
    fn mention(&mut self, walk: &mut Walk, op: &Op) {
        let (used, defined) = registers::of_call(self.program, op);
        for symbol in used {
            self.use_register(walk, symbol);
            self.refuse_freed(walk, symbol);
        }
        if let Some(symbol) = defined {
            self.define_register(walk, symbol);
        }
    }

    /// A view of memory that was given back is not there, whatever its register says.
    fn refuse_freed(&mut self, walk: &Walk, symbol: Symbol) {
        let Some(storage) = self.storage_of(symbol) else {
            return;
        };
        let Some(freed) = walk.freed.get(&storage) else {
            return;
        };
        if !self.doubtful.insert(storage) {
            return;
        }
        let got = format!("memory that {} gave back", self.place(freed.step));
        let issue = Issue::error("use-after-free", "allocated memory", got).names([symbol]);
        self.report(issue.hint("move the free after the last use of all its views"));
        self.names.set(symbol, Name::Poisoned);
    }

    /// Notes what an action does to bytes.
    fn acted(&mut self, walk: &mut Walk, action: &Action) {
        match action {
            Action::Upload { host, value } => {
                let lent = !self.is_consumed(*host);
                self.created(walk, *value, lent);
                self.touched(walk, *value, Kind::Write);
            }
            Action::Allocate { value } => {
                self.created(walk, *value, false);
                self.placed(walk, *value);
                self.touched(walk, *value, Kind::Write);
            }
            Action::View { .. } => {}
            Action::Copy { source, value, .. } => {
                self.created(walk, *value, false);
                self.touched(walk, *source, Kind::Read);
                self.touched(walk, *value, Kind::Write);
            }
            Action::Kernel { call, out } => self.called(walk, call, *out),
            Action::Composite { call, result } => {
                if !call.values.contains(&Bound::Value(*result)) {
                    self.created(walk, *result, false);
                }
                self.called(walk, call, *result);
            }
            Action::Download { value, .. } => {
                if let Some(info) = self.values.value(*value) {
                    walk.handed_out.insert(info.storage);
                }
                self.touched(walk, *value, Kind::Read);
            }
        }
    }

    fn is_consumed(&self, host: cloakwork_ir::HostId) -> bool {
        let threads = self.program.threads.as_deref();
        match (self.program.host(host), threads) {
            (Some(HostSlot::Input { name, .. }), Some(threads)) => threads.consumed.contains(name),
            _ => false,
        }
    }

    fn created(&mut self, walk: &mut Walk, value: ValueId, lent: bool) {
        if let Some(info) = self.values.value(value)
            && !lent
        {
            walk.owners.insert(info.storage, (info.name, info.step));
        }
    }

    fn called(&mut self, walk: &mut Walk, call: &Call, out: ValueId) {
        self.on_one_device(call, out);
        for (_, _, value) in call.reads() {
            self.touched(walk, value, Kind::Read);
        }
        self.touched(walk, out, Kind::Write);
        self.writes_what_is_its_own(walk, out);
    }

    /// Constants and inputs are borrowed and read-only, except consumed inputs.
    fn writes_what_is_its_own(&mut self, walk: &Walk, out: ValueId) {
        let Some(info) = self.values.value(out) else {
            return;
        };
        let (storage, name) = (info.storage, info.name);
        let uploaded = self
            .values
            .storage(storage)
            .is_some_and(|storage| matches!(storage.origin, StorageOrigin::Upload(_)));
        if uploaded && !walk.owners.contains_key(&storage) {
            let (expected, got) = ("the program's own memory", "a constant or input");
            let hint = "copy it into an allocation, or declare the input as consumed";
            self.report(
                Issue::error("read-only", expected, got)
                    .names([name])
                    .hint(hint),
            );
        }
    }

    fn touched(&mut self, walk: &mut Walk, value: ValueId, kind: Kind) {
        if !walk.concurrent {
            return;
        }
        let Some(info) = self.values.value(value) else {
            return;
        };
        let storage = info.storage;
        let view = info.view.clone();
        let entry = walk.accesses.entry(storage).or_default();
        let (node, budget) = (walk.node, &mut walk.comparisons);
        let race = entry.add(&walk.schedule, node, (kind, &view), budget);
        let Some(race) = race else { return };
        let chain_of = |node: u32| walk.schedule.place(node).0;
        let (a, b) = (chain_of(race.former.0), chain_of(race.latter.0));
        let told = !walk.raced.insert((storage, a.min(b), a.max(b)));
        if !told && !self.doubtful.contains(&storage) {
            self.race(walk, &race, value, &view);
        }
    }

    /// Reports a race. What two hash ops share as bytes is the state of a transcript.
    fn race(&mut self, walk: &Walk, race: &Race, value: ValueId, view: &View) {
        let Some(info) = self.values.value(value) else {
            return;
        };
        let (storage, name, dtype) = (info.storage, info.name, info.dtype);
        let (former, latter) = (race.former.0, race.latter.0);
        let (former, latter) = (walk.schedule.step(former), walk.schedule.step(latter));
        let does = |kind| match kind {
            Kind::Read => "reads",
            Kind::Write => "writes",
            Kind::Free => "frees",
        };
        let owner = walk.owners.get(&storage).map_or(name, |(owner, _)| *owner);
        let root = self.values.storage(storage).map(|storage| &storage.root);
        let shared = root.map_or_else(String::new, |root| {
            crate::call::spanned(common(view, &race.seen), dtype, root)
        });
        let got = format!(
            "{} {} and {} {} {shared} of {} in any order",
            self.place(former),
            does(race.former.1),
            self.label(latter),
            does(race.latter.1),
            self.shown(latter, owner),
        );
        let code = if race.former.1 == Kind::Free || race.latter.1 == Kind::Free {
            "use-after-free"
        } else if dtype == DType::U8 && self.hashes(former) && self.hashes(latter) {
            "transcript-order"
        } else {
            "race"
        };
        let issue = Issue::error(code, "ordered accesses to the same bytes", got).names([name]);
        self.report(issue.hint("order them by an event, a join, or one thread"));
    }

    /// Reads of unwritten memory, except memory on which threads race: there the missing order has
    /// been reported.
    fn unwritten_reads(&mut self, walk: &Walk) {
        let raced: FxHashSet<StorageId> = walk.raced.iter().map(|(storage, ..)| *storage).collect();
        for (storage, step, issue) in std::mem::take(&mut self.unwritten) {
            if self.sound && !raced.contains(&storage) && !self.doubtful.contains(&storage) {
                self.report_at(step, issue);
            }
        }
    }

    /// Whether a step works on a transcript.
    fn hashes(&mut self, step: u32) -> bool {
        let Some(Step::Op(op)) = self.program.steps.get(step as usize) else {
            return false;
        };
        let spelling = self.spellings.get(self.program, op);
        spelling.is_ok_and(|spelling| spelling.def.family == Family::Hash)
    }

    /// All operands of a call lie on one device, that of its stream; copies go between two.
    fn on_one_device(&mut self, call: &Call, out: ValueId) {
        let queue = self.note(self.step).and_then(|note| note.stream);
        let queue = queue.and_then(|name| self.device_of_stream(name));
        let home = self.values.device(out);
        let is_copy = call.def.is_transfer();
        let read = call.reads().map(|(_, _, value)| self.values.device(value));
        let devices: Vec<Device> = [home].into_iter().chain(read).collect();
        let wrong = if is_copy {
            queue.is_some_and(|queue| queue != Device::Cpu && !devices.contains(&queue))
        } else {
            let apart = devices.iter().any(|device| *device != home);
            apart || !home.computes() || queue.is_some_and(|queue| queue != home)
        };
        if !wrong {
            return;
        }
        let mut names: Vec<String> = devices.iter().map(ToString::to_string).collect();
        names.dedup();
        let got = match queue {
            Some(queue) => format!("{} on a stream of {queue}", names.join(", ")),
            None => names.join(", "),
        };
        let expected = if is_copy {
            "a copy from or to the stream's device"
        } else {
            "all operands on one device that computes, and a stream of it"
        };
        let issue = Issue::error("device", expected, got);
        self.report(issue.hint("transfer the operands first"));
    }

    fn device_of_stream(&self, name: Text) -> Option<Device> {
        let streams = &self.program.threads.as_ref()?.streams;
        let stream = streams.iter().find(|stream| stream.name == name)?;
        Device::from_name(self.program.text_name(stream.device))
    }

    /// Steps reach a stream in an order that is sure.
    fn streams_in_order(&mut self, schedule: &Schedule) {
        let mut last: FxHashMap<Text, u32> = FxHashMap::default();
        for (node, at) in (0u32..).zip(&schedule.nodes) {
            if at.phase != Phase::Issue {
                continue;
            }
            let stream = match self.program.steps.get(at.step as usize) {
                Some(Step::Threaded(
                    cloakwork_ir::Threaded::Record { stream, .. }
                    | cloakwork_ir::Threaded::Wait { stream, .. },
                )) => *stream,
                _ => self.note(at.step).and_then(|note| note.stream),
            };
            let Some(stream) = stream else { continue };
            if let Some(former) = last.insert(stream, node)
                && !schedule.before(former, node)
            {
                let former = self.place(schedule.step(former));
                let got = format!("{former} in another thread, in any order");
                let name = self.program.text_name(stream);
                let expected = format!("a defined order on the stream \"{name}\"");
                let hint = "queue from one thread, or order the threads";
                self.report_at(at.step, Issue::error("race", expected, got).hint(hint));
            }
        }
    }

    /// Memory that is never freed, stored or returned.
    fn leaks(&mut self, walk: &Walk) {
        let mut owned: Vec<_> = walk.owners.iter().collect();
        owned.sort_unstable();
        for (storage, &(name, step)) in owned {
            let kept = walk.freed.contains_key(storage) || walk.handed_out.contains(storage);
            if kept || self.doubtful.contains(storage) {
                continue;
            }
            let expected = "a Deallocate, Store or Return of the memory";
            let hint = "deallocate it, or let the builder free at the last use";
            let issue = Issue::error("leak", expected, "none");
            self.report_at(step, issue.names([name]).hint(hint));
        }
    }

    /// The first definition of a register of a program of several threads.
    pub(crate) fn definition_of(&self, symbol: Symbol) -> Option<u32> {
        self.program.threads.as_ref()?;
        let definitions = self.definitions.get_or_init(|| {
            let mut found = FxHashMap::default();
            for (number, step) in (0u32..).zip(&self.program.steps) {
                let defined = match step {
                    Step::Op(op) => registers::of_call(self.program, op).1,
                    Step::Threaded(cloakwork_ir::Threaded::Move { to, .. }) => Some(*to),
                    _ => None,
                };
                if let Some(symbol) = defined {
                    found.entry(symbol).or_insert(number);
                }
            }
            found
        });
        definitions.get(&symbol).copied()
    }

    /// A step as messages name it.
    pub(crate) fn label(&self, step: u32) -> String {
        label(self.program, step)
    }

    /// A step that a message names beside its own, and where it was written.
    pub(crate) fn place(&self, step: u32) -> String {
        let label = self.label(step);
        match self.note(step).and_then(|note| note.written) {
            Some(text) => format!("{label} (written at {})", self.program.text_name(text)),
            None => label,
        }
    }
}

/// A step as messages name it: its instruction, or its thread and place there.
pub(crate) fn label(program: &Program, step: u32) -> String {
    let Some(threads) = &program.threads else {
        return format!("step {step}");
    };
    if let Some(label) = threads.note(step).label {
        return program.text_name(label).to_owned();
    }
    let thread = threads.threads.get(threads.thread_of(step));
    let start = thread.map_or(0, |thread| thread.steps.start);
    let name = thread.map_or("main", |thread| program.text_name(thread.name));
    format!("{name}/{}", step - start.min(step))
}
