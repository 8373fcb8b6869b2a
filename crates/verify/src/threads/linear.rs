//! The same program in one thread: its steps in canonical order, one name for each lifetime.

use super::registers::of_call;
use super::schedule::{Index, Phase, schedule};
use cloakwork_ir::{Arg, Device, Op, Program, Step, Symbol, Threaded, Threads};
use rustc_hash::FxHashMap;

/// A program of one thread, and where its steps come from.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The program.
    pub program: Program,
    /// For each of its steps the step of the program of several threads.
    pub origins: Vec<u32>,
}

struct Writer<'p> {
    from: &'p Program,
    threads: &'p Threads,
    program: Program,
    origins: Vec<u32>,
    /// The current name of each register.
    names: FxHashMap<Symbol, Symbol>,
    /// How many lifetimes a register has had.
    lives: FxHashMap<Symbol, u32>,
}

/// Linearizes a program in which the verifier found nothing wrong; others give what can be said.
#[must_use]
pub fn linearize(from: &Program) -> Linear {
    let Some(threads) = from.threads.as_deref() else {
        return Linear {
            program: from.clone(),
            origins: (0..from.steps.len() as u32).collect(),
        };
    };
    let schedule = schedule(from, threads, &Index::new(threads));
    let mut program = Program::new();
    program.hosts.clone_from(&from.hosts);
    program.texts = from.texts.clone();
    let mut writer = Writer {
        from,
        threads,
        program,
        origins: Vec::with_capacity(from.steps.len()),
        names: FxHashMap::default(),
        lives: FxHashMap::default(),
    };
    let mut queued: FxHashMap<u32, Vec<Arg>> = FxHashMap::default();
    let alone = threads.threads.len() <= 1;
    for node in &schedule.nodes {
        let Some(step) = from.steps.get(node.step as usize) else {
            continue;
        };
        match (step, node.phase) {
            (Step::Op(op), Phase::Whole) => {
                let args = writer.args(op);
                writer.op(node.step, op, args);
            }
            (Step::Op(op), Phase::Issue) => {
                queued.insert(node.step, writer.args(op));
            }
            (Step::Op(op), Phase::Execute) => {
                let args = queued.remove(&node.step).unwrap_or_default();
                writer.op(node.step, op, args);
            }
            (Step::Free(_), Phase::Issue) => {}
            (Step::Free(symbol), _) => {
                if let Some(name) = writer.names.remove(symbol) {
                    writer.push(node.step, Step::Free(name));
                }
            }
            (Step::SegmentStart(_) | Step::SegmentEnd, _) if alone => {
                writer.push(node.step, *step);
            }
            (Step::Threaded(Threaded::Forget(symbol)), _) => {
                writer.names.remove(symbol);
            }
            (Step::Threaded(Threaded::Move { from, to }), _) => {
                if let Some(name) = writer.names.remove(from) {
                    writer.names.insert(*to, name);
                }
            }
            _ => {}
        }
    }
    Linear {
        program: writer.program,
        origins: writer.origins,
    }
}

impl Writer<'_> {
    fn push(&mut self, origin: u32, step: Step) {
        self.program.steps.push(step);
        self.origins.push(origin);
    }

    /// A call's arguments as its registers are called now.
    fn args(&mut self, op: &Op) -> Vec<Arg> {
        let from = self.from;
        let mut args = Vec::with_capacity(from.args(op).len());
        for arg in from.args(op) {
            args.push(match arg {
                Arg::Device(symbol, claim) => {
                    let known = self.names.get(symbol).copied();
                    let name = known.unwrap_or_else(|| self.fresh(*symbol));
                    Arg::Device(name, *claim)
                }
                other => other.clone(),
            });
        }
        args
    }

    fn op(&mut self, origin: u32, op: &Op, mut args: Vec<Arg>) {
        let (_, defined) = of_call(self.from, op);
        let out = match (self.from.out(op), defined) {
            (Some(Arg::Device(_, claim)), Some(symbol)) => {
                Some(Arg::Device(self.fresh(symbol), *claim))
            }
            (Some(Arg::Device(symbol, claim)), None) => {
                let place = self
                    .from
                    .args(op)
                    .iter()
                    .position(|arg| matches!(arg, Arg::Device(other, _) if other == symbol));
                let name = place.and_then(|place| args.get(place)).cloned();
                name.map(|arg| match arg {
                    Arg::Device(name, _) => Arg::Device(name, *claim),
                    other => other,
                })
            }
            (out, _) => out.cloned(),
        };
        let name = self.from.text_name(op.name);
        let device = self.threads.note(origin).device;
        let device = device.and_then(|name| Device::from_name(self.from.text_name(name)));
        if let Some(device) = device
            && device != Device::Cpu
        {
            args.push(Arg::Int(device.number()));
        }
        self.program.push_op(name, args, out);
        self.origins.push(origin);
    }

    /// The name of a register's next lifetime.
    fn fresh(&mut self, symbol: Symbol) -> Symbol {
        let lives = self.lives.entry(symbol).or_default();
        *lives += 1;
        let name = self.from.symbol_name(symbol);
        let name = match *lives {
            1 => name.to_owned(),
            life => format!("{name}#{life}"),
        };
        let fresh = self.program.symbol(&name);
        self.names.insert(symbol, fresh);
        fresh
    }
}
