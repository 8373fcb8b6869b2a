//! The canonical schedule of a program of several threads, and the happens-before order.
//!
//! Each thread and each stream is a *chain* of nodes. A step that is queued on a stream has two:
//! one where its thread issues it, one where the stream executes it. The schedule runs chains as
//! far as they go, streams first, then threads in the order of the program; whether a node can run
//! does not depend on that choice, so what is left at the end can never run. Vector clocks say what
//! happens before a node: how many nodes of each chain.

use cloakwork_ir::{Program, Step, Text, Threaded, Threads};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Clocks hold at most so many entries together: 1 GiB.
const MAX_CLOCK_ENTRIES: usize = 1 << 28;

/// The part of a step that a node executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The whole step.
    Whole,
    /// Its thread queues the step on a stream.
    Issue,
    /// Its stream executes the step.
    Execute,
}

/// A node of the happens-before graph, by its place in the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub step: u32,
    pub phase: Phase,
    pub chain: u32,
    /// Its place in the chain, from 1.
    at: u32,
    /// The nodes that happen before it: a clock, and a further entry of it.
    clock: u32,
    issued: (u32, u32),
}

/// The reason why a chain is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// No step forked its thread.
    NotForked,
    /// Waits for this event at this step.
    Event { step: u32, event: u32 },
    /// Waits for the end of this thread at this step.
    Thread { step: u32, thread: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Blocked(Blocked),
    Done,
}

struct Chain {
    state: State,
    /// The next step of a thread.
    next: u32,
    /// Steps that are queued on a stream, and the nodes that issued them.
    queue: VecDeque<(u32, u32)>,
    at: u32,
    clock: u32,
    issued: (u32, u32),
    /// The clock of the thread whose issue was joined last.
    issuer_clock: u32,
    /// Its last node.
    last: Option<u32>,
}

const NOTHING: (u32, u32) = (u32::MAX, 0);

/// Names of threads, events and streams as numbers.
pub(super) struct Index {
    pub threads: FxHashMap<Text, u32>,
    pub events: FxHashMap<Text, u32>,
    pub streams: FxHashMap<Text, u32>,
}

impl Index {
    pub fn new(threads: &Threads) -> Self {
        let numbered = |names: Vec<Text>| names.into_iter().zip(0..).collect();
        Self {
            threads: numbered(threads.threads.iter().map(|t| t.name).collect()),
            events: numbered(threads.events.iter().map(|e| e.name).collect()),
            streams: numbered(threads.streams.iter().map(|s| s.name).collect()),
        }
    }
}

/// The nodes in canonical order, and the chains that never end.
#[derive(Default)]
pub(super) struct Schedule {
    pub nodes: Vec<Node>,
    clocks: Vec<Box<[u32]>>,
    /// Chains that never end, and why.
    pub stuck: Vec<(u32, Blocked)>,
    /// The node that recorded each event.
    pub recorded: Vec<Option<u32>>,
    /// Whether clocks would take more memory than there may be.
    pub too_large: bool,
}

struct Simulation<'p> {
    program: &'p Program,
    threads: &'p Threads,
    index: &'p Index,
    chains: Vec<Chain>,
    /// Chains that can go on: streams come first.
    ready: BTreeSet<u32>,
    waiting_event: Vec<Vec<u32>>,
    waiting_thread: Vec<Vec<u32>>,
    schedule: Schedule,
}

/// Runs the chains.
pub(super) fn schedule(program: &Program, threads: &Threads, index: &Index) -> Schedule {
    let streams = threads.streams.len();
    let count = streams + threads.threads.len();
    let chain = |number: usize| Chain {
        state: match number.checked_sub(streams) {
            None | Some(0) => State::Running,
            Some(_) => State::Blocked(Blocked::NotForked),
        },
        next: number
            .checked_sub(streams)
            .and_then(|t| threads.threads.get(t))
            .map_or(0, |t| t.steps.start),
        queue: VecDeque::new(),
        at: 0,
        clock: 0,
        issued: NOTHING,
        issuer_clock: u32::MAX,
        last: None,
    };
    let mut simulation = Simulation {
        program,
        threads,
        index,
        chains: (0..count).map(chain).collect(),
        ready: BTreeSet::from([streams as u32]),
        waiting_event: vec![Vec::new(); threads.events.len()],
        waiting_thread: vec![Vec::new(); threads.threads.len()],
        schedule: Schedule {
            nodes: Vec::with_capacity(program.steps.len()),
            clocks: vec![vec![0; count].into()],
            recorded: vec![None; threads.events.len()],
            ..Schedule::default()
        },
    };
    if count > 0 {
        simulation.run();
    }
    simulation.schedule
}

impl Schedule {
    fn known(&self, clock: u32, issued: (u32, u32), chain: u32) -> u32 {
        let clock = self.clocks.get(clock as usize);
        let known = clock.and_then(|clock| clock.get(chain as usize)).copied();
        let known = known.unwrap_or(0);
        if issued.0 == chain {
            known.max(issued.1)
        } else {
            known
        }
    }

    /// Whether node `a` happens before node `b`, whatever the order in which chains run.
    pub fn before(&self, a: u32, b: u32) -> bool {
        let (Some(a), Some(b)) = (self.nodes.get(a as usize), self.nodes.get(b as usize)) else {
            return false;
        };
        if a.chain == b.chain {
            return a.at < b.at;
        }
        self.known(b.clock, b.issued, a.chain) >= a.at
    }

    /// The step of a node.
    pub fn step(&self, node: u32) -> u32 {
        let node = self.nodes.get(node as usize);
        node.map_or(0, |node| node.step)
    }

    /// The chain of a node, and its place there.
    pub fn place(&self, node: u32) -> (u32, u32) {
        let node = self.nodes.get(node as usize);
        node.map_or((0, 0), |node| (node.chain, node.at))
    }

    /// The number of nodes of a chain that happen before a node.
    pub fn known_of(&self, node: u32, chain: u32) -> u32 {
        let Some(node) = self.nodes.get(node as usize) else {
            return 0;
        };
        if node.chain == chain {
            return node.at - 1;
        }
        self.known(node.clock, node.issued, chain)
    }
}

impl Simulation<'_> {
    fn streams(&self) -> u32 {
        self.threads.streams.len() as u32
    }

    fn run(&mut self) {
        while let Some(chain) = self.ready.pop_first() {
            if chain < self.streams() {
                self.stream(chain);
            } else {
                self.thread(chain);
            }
            if self.schedule.clocks.len() * self.chains.len() > MAX_CLOCK_ENTRIES {
                self.schedule.too_large = true;
                break;
            }
        }
        let stands = |(number, chain): (usize, &Chain)| match chain.state {
            State::Blocked(why) => Some((number as u32, why)),
            _ => None,
        };
        self.schedule.stuck = self.chains.iter().enumerate().filter_map(stands).collect();
    }

    /// Executes what is queued on a stream, as far as it goes.
    fn stream(&mut self, number: u32) {
        while let Some(&(step, issue)) = self.chain(number).queue.front() {
            let event = match self.program.steps.get(step as usize) {
                Some(Step::Threaded(Threaded::Wait { event, .. })) => self.event(*event),
                _ => None,
            };
            if let Some(event) = event {
                match self.recorded(event) {
                    None => return self.block(number, Blocked::Event { step, event }),
                    Some(node) => self.join(number, node),
                }
            }
            self.chain(number).queue.pop_front();
            self.join_issue(number, issue);
            let node = self.push(number, step, Phase::Execute);
            if let Some(Step::Threaded(Threaded::Record { event, .. })) =
                self.program.steps.get(step as usize)
            {
                self.record(*event, node);
            }
        }
    }

    /// Runs a thread until it waits or has queued something.
    fn thread(&mut self, number: u32) {
        let own = number - self.streams();
        let thread = self.threads.threads.get(own as usize);
        let end = thread.map_or(0, |thread| thread.steps.end);
        loop {
            let step = self.chain(number).next;
            if step >= end {
                return self.end_thread(number, own);
            }
            let queued = self.queue_of(step);
            match self.program.steps.get(step as usize) {
                Some(Step::Threaded(Threaded::Wait {
                    event,
                    stream: None,
                })) => {
                    if let Some(event) = self.event(*event) {
                        match self.recorded(event) {
                            None => return self.block(number, Blocked::Event { step, event }),
                            Some(node) => self.join(number, node),
                        }
                    }
                }
                Some(Step::Threaded(Threaded::Join(name))) => {
                    if let Some(&thread) = self.index.threads.get(name) {
                        let other = self.streams() + thread;
                        let done = self.chain(other).state == State::Done;
                        if !done || other == number {
                            return self.block(number, Blocked::Thread { step, thread });
                        }
                        if let Some(last) = self.chain(other).last {
                            self.join(number, last);
                        }
                    }
                }
                _ => {}
            }
            self.chain(number).next += 1;
            let phase = queued.map_or(Phase::Whole, |_| Phase::Issue);
            let node = self.push(number, step, phase);
            if let Some(stream) = queued {
                self.chain(stream).queue.push_back((step, node));
                if self.chain(stream).state == State::Running {
                    self.ready.extend([stream, number]);
                    return;
                }
                continue;
            }
            match self.program.steps.get(step as usize) {
                Some(Step::Threaded(Threaded::Fork(name))) => self.fork(*name, node),
                Some(Step::Threaded(Threaded::Record { event, .. })) => self.record(*event, node),
                _ => {}
            }
        }
    }

    /// The stream that a step is queued on.
    fn queue_of(&self, step: u32) -> Option<u32> {
        let name = match self.program.steps.get(step as usize)? {
            Step::Threaded(Threaded::Record { stream, .. } | Threaded::Wait { stream, .. }) => {
                *stream
            }
            Step::Op(_) | Step::Free(_) => self.threads.note(step).stream,
            _ => None,
        };
        self.index.streams.get(&name?).copied()
    }

    fn chain(&mut self, number: u32) -> &mut Chain {
        // Numbers come from the index of the same declarations.
        #[expect(clippy::indexing_slicing)]
        &mut self.chains[number as usize]
    }

    fn event(&self, name: Text) -> Option<u32> {
        self.index.events.get(&name).copied()
    }

    fn recorded(&self, event: u32) -> Option<u32> {
        let recorded = self.schedule.recorded.get(event as usize);
        recorded.copied().flatten()
    }

    fn block(&mut self, number: u32, why: Blocked) {
        self.chain(number).state = State::Blocked(why);
        if let Some(waiting) = self.waiting(why) {
            waiting.push(number);
        }
    }

    /// The chains that wait for the same.
    fn waiting(&mut self, why: Blocked) -> Option<&mut Vec<u32>> {
        match why {
            Blocked::NotForked => None,
            Blocked::Event { event, .. } => self.waiting_event.get_mut(event as usize),
            Blocked::Thread { thread, .. } => self.waiting_thread.get_mut(thread as usize),
        }
    }

    fn wake(&mut self, why: Blocked) {
        let waiting = self.waiting(why).map(std::mem::take);
        for number in waiting.unwrap_or_default() {
            self.chain(number).state = State::Running;
            self.ready.insert(number);
        }
    }

    fn record(&mut self, name: Text, node: u32) {
        let Some(event) = self.event(name) else {
            return;
        };
        if let Some(place @ None) = self.schedule.recorded.get_mut(event as usize) {
            *place = Some(node);
        }
        self.wake(Blocked::Event { step: 0, event });
    }

    fn fork(&mut self, name: Text, node: u32) {
        let Some(&thread) = self.index.threads.get(&name) else {
            return;
        };
        let number = self.streams() + thread;
        if self.chain(number).state == State::Blocked(Blocked::NotForked) {
            self.chain(number).state = State::Running;
            self.join(number, node);
            self.ready.insert(number);
        }
    }

    fn end_thread(&mut self, number: u32, own: u32) {
        self.chain(number).state = State::Done;
        self.wake(Blocked::Thread {
            step: 0,
            thread: own,
        });
    }

    fn push(&mut self, number: u32, step: u32, phase: Phase) -> u32 {
        let id = self.schedule.nodes.len() as u32;
        let chain = self.chain(number);
        chain.at += 1;
        chain.last = Some(id);
        let node = Node {
            step,
            phase,
            chain: number,
            at: chain.at,
            clock: chain.clock,
            issued: chain.issued,
        };
        self.schedule.nodes.push(node);
        id
    }

    /// A chain goes on behind a node.
    fn join(&mut self, number: u32, node: u32) {
        let Some(&Node {
            chain,
            at,
            clock,
            issued,
            ..
        }) = self.schedule.nodes.get(node as usize)
        else {
            return;
        };
        let own = self.chain(number);
        let (own_clock, own_issued) = (own.clock, own.issued);
        let merged: Box<[u32]> = (0..self.chains.len() as u32)
            .map(|other| {
                let known = self.schedule.known(own_clock, own_issued, other);
                let theirs = self.schedule.known(clock, issued, other);
                let theirs = if other == chain { at } else { theirs };
                known.max(theirs)
            })
            .collect();
        self.schedule.clocks.push(merged);
        let clock = self.schedule.clocks.len() as u32 - 1;
        let own = self.chain(number);
        (own.clock, own.issued, own.issuer_clock) = (clock, NOTHING, u32::MAX);
    }

    /// A stream goes on behind the issue of a step: most come from one thread in a row, so that
    /// only one entry of the clock changes.
    fn join_issue(&mut self, number: u32, issue: u32) {
        let Some(&Node {
            chain, at, clock, ..
        }) = self.schedule.nodes.get(issue as usize)
        else {
            return;
        };
        let own = self.chain(number);
        if own.issued.0 != chain || own.issuer_clock != clock {
            self.join(number, issue);
        }
        let own = self.chain(number);
        (own.issued, own.issuer_clock) = ((chain, at), clock);
    }
}
