//! Queues of steps, and the waits between them: the host runs its steps one after another, and the
//! queues of devices run beside it.
//!
//! A device has three queues: one computes, one uploads, one downloads, so that the results of one
//! launch leave while the operands of the next arrive. A step that touches bytes that a step of
//! another queue wrote, or writes bytes that such a step read, has to wait for it. Each queue, and
//! the host, waits only for what no earlier wait of its own has covered; steps of the host are done
//! when the next one begins, and need no waits.

use crate::graph::{Bytes, Demands, Reach, Room, accesses_of_step, guarded};
use crate::plan::{Plan, Way, Work};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// A queue, which runs its steps in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Index into [`Plan::arenas`] of the memory that it works on; 0 is the host itself.
    pub arena: u16,
    /// Its work.
    pub role: Role,
}

/// The work of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Launches, checks.
    Computes,
    /// Transfers from the host.
    Uploads,
    /// Transfers to the host.
    Downloads,
}

impl Role {
    /// The queues of a device, in their order.
    pub const ALL: [Self; 3] = [Self::Computes, Self::Uploads, Self::Downloads];

    /// The name of the work in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computes => "launches",
            Self::Uploads => "uploads",
            Self::Downloads => "downloads",
        }
    }
}

/// A wait: the queue of a step waits for an event of another, before the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The step.
    pub before: u32,
    /// Index into [`Plan::events`].
    pub event: u32,
}

/// A step by number.
type StepId = u32;

/// The last step of each queue among some.
type Latest = SmallVec<[Option<StepId>; 8]>;

/// Gives steps their queues. Plans for the host alone have none.
pub(crate) fn assign(plan: &mut Plan, reaches: &[Reach]) {
    let arenas = (0u16..).zip(&plan.arenas);
    let own = arenas.filter(|(_, arena)| plan.is_away(arena.home));
    let host = Queue {
        arena: 0,
        role: Role::Computes,
    };
    let of_devices = own.flat_map(|(arena, _)| Role::ALL.map(|role| Queue { arena, role }));
    let queues: Vec<Queue> = std::iter::once(host).chain(of_devices).collect();
    if queues.len() == 1 {
        return;
    }
    plan.queues = queues;
    for index in 0..plan.steps.len() {
        plan.steps[index].queue = queue_of(plan, index);
    }
    let mut search = Search {
        plan,
        memories: FxHashMap::default(),
        joined: Vec::new(),
        known: vec![SmallVec::from_elem(None, plan.queues.len()); plan.queues.len()],
        guard: None,
    };
    let mut waits = Vec::new();
    for index in 0..plan.steps.len() {
        search.step(reaches, index as StepId, &mut waits);
    }
    let steps: BTreeSet<StepId> = waits.iter().map(|&(_, for_step)| for_step).collect();
    plan.events = steps.into_iter().collect();
    let event = |step: StepId| plan.events.partition_point(|&other| other < step) as u32;
    let waits = waits.iter().map(|&(before, for_step)| Wait {
        before,
        event: event(for_step),
    });
    plan.waits = waits.collect();
}

fn queue_of(plan: &Plan, index: usize) -> u16 {
    let step = &plan.steps[index];
    let first = step.first_address as usize;
    let at = match step.work {
        Work::Transfer(Way::Download) => first + 1,
        _ => first,
    };
    let role = match step.work {
        Work::Transfer(Way::Download) => Role::Downloads,
        Work::Transfer(_) => Role::Uploads,
        _ => Role::Computes,
    };
    if matches!(step.work, Work::Function(_)) {
        return 0;
    }
    let arena = plan.arena_of(&plan.addresses[at]);
    let found = plan
        .queues
        .iter()
        .position(|queue| queue.arena == arena && (queue.role == role || queue.arena == 0));
    found.unwrap_or(0) as u16
}

struct Search<'a> {
    plan: &'a Plan,
    memories: FxHashMap<Room, Bytes>,
    /// Joined readers: each stands for many, and holds the last reader of each queue. Numbered
    /// behind the steps.
    joined: Vec<Latest>,
    /// For each queue, up to which step of each other it has waited.
    known: Vec<Latest>,
    /// The op of the last check.
    guard: Option<u32>,
}

impl Search<'_> {
    fn queue(&self, step: StepId) -> usize {
        usize::from(self.plan.steps[step as usize].queue)
    }

    /// The last step of each queue among those that an access has to wait for.
    fn latest(&self, demands: &Demands) -> Latest {
        let steps = self.plan.steps.len() as StepId;
        let mut latest: Latest = SmallVec::from_elem(None, self.plan.queues.len());
        for &demand in demands {
            match demand.checked_sub(steps) {
                None => {
                    let queue = self.queue(demand);
                    latest[queue] = latest[queue].max(Some(demand));
                }
                Some(joined) => {
                    let all = &self.joined[joined as usize];
                    latest
                        .iter_mut()
                        .zip(all)
                        .for_each(|(own, &other)| *own = (*own).max(other));
                }
            }
        }
        latest
    }

    fn step(&mut self, reaches: &[Reach], step: StepId, waits: &mut Vec<(StepId, StepId)>) {
        let mut found = accesses_of_step(self.plan, reaches, step as usize);
        found.extend(guarded(&self.plan.steps[step as usize], &mut self.guard));
        let mut demands = Demands::new();
        for access in &found {
            if let Some(bytes) = self.memories.get(&access.room) {
                bytes.demands(&access.bytes, access.writes, &mut demands);
            }
        }
        let own = self.queue(step);
        let latest = self.latest(&demands);
        for (queue, last) in latest.iter().enumerate() {
            let &Some(last) = last else { continue };
            if queue == own || queue == 0 || self.known[own][queue] >= Some(last) {
                continue;
            }
            waits.push((step, last));
            // Steps that the host has waited for are done for all queues.
            let told = if own == 0 {
                0..self.known.len()
            } else {
                own..own + 1
            };
            for one in told {
                self.known[one][queue] = self.known[one][queue].max(Some(last));
            }
        }
        self.note(step, &found);
    }

    fn note(&mut self, step: StepId, found: &[crate::graph::Access]) {
        for writes in [false, true] {
            for access in found.iter().filter(|access| access.writes == writes) {
                let mut many = Vec::new();
                let first = self.plan.steps.len() + self.joined.len();
                let mut join = |all: Demands| {
                    many.push(all);
                    (first + many.len() - 1) as u32
                };
                let bytes = self.memories.entry(access.room).or_default();
                bytes.note(&access.bytes, step, writes, &mut join);
                for all in many {
                    let latest = self.latest(&all);
                    self.joined.push(latest);
                }
            }
        }
    }
}
