//! Segments: launches of a device that its driver gets at once.
//!
//! A segment is a maximal run of consecutive launches and checks of one queue with no wait before
//! any but the first, and no event behind any but the last. So no other queue notices whether a
//! driver gets the steps one by one or at once. A step alone is no segment.
//!
//! A segment lists the bytes that its steps access, with the steps between which their contents
//! matter, and the order that the bytes demand; a driver may use any order that keeps it.

use crate::graph::{Bytes, Demands, Reach, Room, accesses_of_step, guarded};
use crate::plan::{Address, Plan, Space, Step, Way, Work};
use crate::queues::Role;
use cloakwork_devices::Capabilities;
use cloakwork_ir::Lifetime;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A node of a segment: a step, or a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentNode {
    /// The step. None for a join: nodes after it are after all nodes that it is after.
    pub step: Option<u32>,
    /// Index of its first entry in the list of nodes that it is after.
    first_after: u32,
    /// Index behind its last entry there.
    end_after: u32,
}

/// Bytes that nodes of a segment access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRange {
    /// The first of them: of a buffer, a constant or a status word.
    pub at: Address,
    /// The number of bytes; 0 where an operand has no elements.
    pub bytes: u64,
    /// The nodes that access them, from the first to the last.
    pub life: Lifetime,
    /// Their contents before the segment matter.
    pub is_input: bool,
    /// Their contents after it matter.
    pub is_output: bool,
    /// The host reads their contents where a check of them fails.
    pub is_checked: bool,
}

/// Consecutive steps of a queue of launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first step.
    pub first: u32,
    /// The step behind the last.
    pub end: u32,
    /// Its nodes, in an order that keeps what the bytes demand.
    pub nodes: Vec<SegmentNode>,
    after: Vec<u32>,
    /// The bytes that nodes access, each of them by a node.
    pub ranges: Vec<SegmentRange>,
}

impl Segment {
    /// The nodes that a node is after; all are before it in the list.
    #[must_use]
    pub fn after(&self, node: &SegmentNode) -> &[u32] {
        &self.after[node.first_after as usize..node.end_after as usize]
    }

    /// The numbers of its ranges: inputs, outputs, and neither.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let count = |is: fn(&SegmentRange) -> bool| self.ranges.iter().filter(|r| is(r)).count();
        [
            count(|range| range.is_input),
            count(|range| range.is_output),
            count(|range| !range.is_input && !range.is_output),
        ]
    }
}

/// Lists the segments of a plan whose steps have their queues.
pub(crate) fn gather(plan: &mut Plan, reaches: &[Reach]) {
    let arenas = plan
        .queues
        .iter()
        .map(|queue| (queue, &plan.arenas[queue.arena as usize]));
    let takes = arenas.map(|(queue, arena)| {
        queue.role == Role::Computes && plan.driver(arena.home).has(Capabilities::SEGMENTS)
    });
    let takes: Vec<bool> = takes.collect();
    if !takes.contains(&true) {
        return;
    }
    let lives = lives(plan);
    let segments = runs(plan, &takes).into_iter();
    let segments = segments.map(|steps| Draft::of(plan, (reaches, &lives), steps));
    plan.segments = segments.collect();
}

/// From the first step that accesses a buffer to the last: a planned lifetime may begin earlier. A
/// download runs in a queue of its own, and may still read when later segments end: what is
/// downloaded keeps its contents in all of them.
fn lives(plan: &Plan) -> Vec<Lifetime> {
    let mut lives = vec![Lifetime::NONE; plan.buffers.len()];
    for (index, step) in (0u32..).zip(&plan.steps) {
        for address in &plan.addresses[plan.addresses_of(step)] {
            if address.space == Space::Buffer {
                let life = &mut lives[address.index as usize];
                life.extend(index);
                if matches!(step.work, Work::Transfer(Way::Download)) {
                    life.last = u32::MAX;
                }
            }
        }
    }
    lives
}

/// The maximal runs of steps that a driver can get at once.
fn runs(plan: &Plan, takes: &[bool]) -> Vec<Range<u32>> {
    let mut waits = plan.waits.iter().map(|wait| wait.before).peekable();
    let mut events = plan.events.iter().copied().peekable();
    let mut found = Vec::new();
    let mut run: Option<(u32, u16)> = None;
    let mut close = |run: Option<(u32, u16)>, end: u32| {
        found.extend(run.map(|(first, _)| first..end).filter(|run| run.len() > 1));
    };
    for (index, step) in (0u32..).zip(&plan.steps) {
        let mut begins = run.is_none_or(|(_, queue)| queue != step.queue);
        while waits.next_if(|&before| before <= index).is_some() {
            begins = true;
        }
        if begins {
            close(run.take(), index);
        }
        let is_taken = takes[step.queue as usize]
            && matches!(
                step.work,
                Work::Launch { .. } | Work::Prepare { .. } | Work::Check(_)
            )
            && !is_resident(plan, step);
        if is_taken {
            run = run.or(Some((index, step.queue)));
        } else {
            close(run.take(), index);
        }
        if events.next_if_eq(&index).is_some() {
            close(run.take(), index + 1);
        }
    }
    close(run, plan.steps.len() as u32);
    found
}

/// Whether a step accesses an input or a result, whose memory each run has anew: the addresses of a
/// segment stay.
fn is_resident(plan: &Plan, step: &Step) -> bool {
    let mut addresses = plan.addresses[plan.addresses_of(step)].iter();
    addresses.any(|address| matches!(address.space, Space::Host | Space::Output))
}

/// Bytes of a buffer, a constant or a status word, and the nodes that access them.
type Accessed = (Range<i64>, Lifetime);

/// A segment while its steps are read one after another.
struct Draft<'a> {
    plan: &'a Plan,
    reaches: &'a [Reach],
    /// The steps that access each buffer, from the first to the last.
    lives: &'a [Lifetime],
    segment: Segment,
    /// The bytes of memories with the nodes that last accessed them.
    memories: FxHashMap<Room, Bytes>,
    /// The bytes that nodes access of buffers, constants and status words, by space and number.
    accessed: FxHashMap<(Space, u32), Vec<Accessed>>,
    /// The op of the last check.
    guard: Option<u32>,
    /// The node of the last check.
    last_check: Option<u32>,
    /// Bytes of buffers that checks are about, by number.
    checked: FxHashMap<u32, Vec<Range<i64>>>,
}

impl<'a> Draft<'a> {
    fn of(
        plan: &'a Plan,
        (reaches, lives): (&'a [Reach], &'a [Lifetime]),
        steps: Range<u32>,
    ) -> Segment {
        let mut draft = Self {
            plan,
            reaches,
            lives,
            segment: Segment {
                first: steps.start,
                end: steps.end,
                nodes: Vec::with_capacity(steps.len()),
                after: Vec::new(),
                ranges: Vec::new(),
            },
            memories: FxHashMap::default(),
            accessed: FxHashMap::default(),
            guard: None,
            last_check: None,
            checked: FxHashMap::default(),
        };
        for step in steps {
            let node = draft.ordered(step);
            draft.access(step, node);
        }
        draft.segment.ranges = draft.ranges();
        draft.segment
    }

    fn push(&mut self, step: Option<u32>, mut after: Demands) -> u32 {
        after.sort_unstable();
        after.dedup();
        let first_after = self.segment.after.len() as u32;
        self.segment.after.extend(after);
        self.segment.nodes.push(SegmentNode {
            step,
            first_after,
            end_after: self.segment.after.len() as u32,
        });
        self.segment.nodes.len() as u32 - 1
    }

    /// Adds a step after the nodes that its bytes demand.
    fn ordered(&mut self, step: u32) -> u32 {
        let work = &self.plan.steps[step as usize];
        let mut found = accesses_of_step(self.plan, self.reaches, step as usize);
        found.extend(guarded(work, &mut self.guard));
        let is_check = matches!(work.work, Work::Check(_));
        let mut after = Demands::new();
        // The first check of the plan that fails is the one that is reported.
        after.extend(self.last_check.filter(|_| is_check));
        for access in &found {
            if let Some(bytes) = self.memories.get(&access.room) {
                bytes.demands(&access.bytes, access.writes, &mut after);
            }
        }
        let node = self.push(Some(step), after);
        if is_check {
            self.last_check = Some(node);
        }
        for writes in [false, true] {
            for access in found.iter().filter(|access| access.writes == writes) {
                let mut bytes = self.memories.remove(&access.room).unwrap_or_default();
                let mut join = |all| self.push(None, all);
                bytes.note(&access.bytes, node, writes, &mut join);
                self.memories.insert(access.room, bytes);
            }
        }
        node
    }

    /// Notes the bytes that a step accesses.
    fn access(&mut self, step: u32, node: u32) {
        let step = &self.plan.steps[step as usize];
        let is_check = matches!(step.work, Work::Check(_));
        let all = self.plan.addresses_of(step);
        for (address, reach) in self.plan.addresses[all.clone()]
            .iter()
            .zip(&self.reaches[all])
        {
            let start = address.offset + reach.low();
            let bytes = match address.space {
                Space::Buffer if reach.bytes() == 0 => address.offset..address.offset,
                Space::Buffer => start..start + reach.bytes() as i64,
                // No step writes it, and its reaches need not be known.
                Space::Constant => 0..self.plan.constants[address.index as usize].bytes as i64,
                Space::Status => start..start + reach.bytes() as i64,
                _ => continue,
            };
            if is_check && address.space == Space::Buffer {
                let checked = self.checked.entry(address.index).or_default();
                checked.push(bytes.clone());
            }
            let known = self
                .accessed
                .entry((address.space, address.index))
                .or_default();
            match known.last_mut() {
                Some((last, life)) if *last == bytes => life.extend(node),
                _ => known.push((bytes, Lifetime::at(node))),
            }
        }
    }

    /// The stretches of bytes that nodes access, in order of their first nodes.
    fn ranges(&mut self) -> Vec<SegmentRange> {
        let steps = self.segment.first..self.segment.end;
        let mut ranges = Vec::with_capacity(self.accessed.len());
        for ((space, index), mut accessed) in self.accessed.drain() {
            let life = match space {
                Space::Buffer => self.lives[index as usize],
                _ => Lifetime {
                    first: 0,
                    last: u32::MAX,
                },
            };
            accessed.sort_unstable_by_key(|(bytes, _)| (bytes.is_empty(), bytes.start));
            let joined = accessed.into_iter().fold(Vec::new(), join);
            let checked = self.checked.get(&index).filter(|_| space == Space::Buffer);
            let is_checked = |bytes: &Range<i64>| {
                let mut all = checked.into_iter().flatten();
                all.any(|one| one.start < bytes.end && bytes.start < one.end)
            };
            ranges.extend(joined.into_iter().map(|(bytes, nodes)| SegmentRange {
                at: Address {
                    space,
                    index,
                    offset: bytes.start,
                },
                bytes: (bytes.end - bytes.start) as u64,
                life: nodes,
                is_input: life.first < steps.start || space != Space::Buffer,
                is_output: life.last >= steps.end,
                is_checked: is_checked(&bytes),
            }));
        }
        ranges.sort_unstable_by_key(|range| (range.life.first, range.at.index, range.at.offset));
        ranges
    }
}

/// Adds bytes to stretches that begin before them. Places without bytes, which come last, stay
/// apart.
fn join(mut joined: Vec<Accessed>, (bytes, nodes): Accessed) -> Vec<Accessed> {
    match joined.last_mut() {
        Some((last, life)) if bytes.start <= last.end && last.is_empty() == bytes.is_empty() => {
            last.end = last.end.max(bytes.end);
            life.extend(nodes.first);
            life.extend(nodes.last);
        }
        _ => joined.push((bytes, nodes)),
    }
    joined
}
