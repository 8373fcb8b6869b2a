//! The dependencies between the steps of a plan, from the bytes that steps read and write.
//!
//! Steps are grouped into *tasks*. A fusion is one task. Small steps that wait for one another, or
//! for the same tasks, are also one task, so that scheduling costs little beside the work. An edge
//! says that a task may begin when another has ended: it reads or writes bytes that the other
//! writes, or writes bytes that the other reads. Two buffers at the same offsets of an arena are
//! the same bytes. In every order of tasks that respects the edges, each step reads the same values
//! as when the steps run in order.

mod accesses;
mod bytes;
mod draft;
mod loosen;

pub(crate) use accesses::{Access, Accesses, Reach, Room, guarded};
pub(crate) use bytes::{Bytes, Demands};
pub(crate) use loosen::{loosened, rest_away};

use crate::plan::Plan;
use std::fmt;

/// The accesses of one step.
pub(crate) fn accesses_of_step(plan: &Plan, reaches: &[Reach], index: usize) -> Accesses {
    let mut found = Accesses::new();
    accesses::of_step(plan, reaches, index, &mut found);
    found
}

/// A step shorter than this, in nanoseconds, is not split over threads.
pub const SPLIT_NS: u64 = 30_000;

/// Small steps are gathered into tasks up to this many nanoseconds.
pub(crate) const GRAIN_NS: u64 = 5_000;

/// Approximate cost of scheduling a task, in nanoseconds.
const TASK_NS: u64 = 600;

/// Steps that run one after another on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Index of its first unit in [`Graph::units`].
    first_unit: u32,
    /// Index behind its last unit.
    end_unit: u32,
    /// Index of its first entry in the list of successors.
    first_successor: u32,
    /// Index behind its last entry there.
    end_successor: u32,
    /// The number of tasks that it waits for.
    pub waits: u32,
    /// Estimated nanoseconds from its start to the end of the longest chain of successors.
    pub path_ns: u64,
}

/// The tasks of a plan.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    tasks: Vec<Task>,
    units: Vec<u32>,
    successors: Vec<u32>,
    /// Estimated time of all steps in order, long ones split over all threads.
    in_order_ns: u64,
    /// Estimated time of the longest chain of tasks.
    chain_ns: u64,
    /// Estimated time of all steps on one thread.
    total_ns: u64,
    threads: u64,
}

impl Graph {
    /// The graph of a plan with its buffers placed. `reaches` has an entry for each operand.
    pub(crate) fn of(plan: &Plan, reaches: &[Reach]) -> Self {
        draft::draft(plan, reaches)
    }

    /// The tasks. Each waits only for earlier ones.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The units of a task, in order: each entry is a step, or the first step of a fusion.
    #[must_use]
    pub fn units(&self, task: &Task) -> &[u32] {
        &self.units[task.first_unit as usize..task.end_unit as usize]
    }

    /// The tasks that wait for a task.
    #[must_use]
    pub fn successors(&self, task: &Task) -> &[u32] {
        &self.successors[task.first_successor as usize..task.end_successor as usize]
    }

    /// The number of edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.successors.len()
    }

    /// Estimated time with tasks side by side.
    fn expected_ns(&self) -> u64 {
        let spread = self.total_ns / self.threads.max(1);
        let scheduling = TASK_NS * self.tasks.len() as u64 / self.threads.max(1);
        self.chain_ns.max(spread).saturating_add(scheduling)
    }

    /// Whether tasks side by side are expected to take less time than all steps in order.
    #[must_use]
    pub fn pays(&self) -> bool {
        let expected = self.expected_ns();
        self.threads > 1 && expected.saturating_add(expected / 8) < self.in_order_ns
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = |ns: u64| ns as f64 / 1000.0;
        write!(
            f,
            "{} tasks, {} edges; {:.0} us on one thread; on {}: in order {:.0} us, \
             the longest chain {:.0} us: {}",
            self.tasks.len(),
            self.edges(),
            microseconds(self.total_ns),
            self.threads,
            microseconds(self.in_order_ns),
            microseconds(self.chain_ns),
            if self.pays() {
                "tasks run side by side"
            } else {
                "steps run in order"
            }
        )
    }
}
