//! Which steps of a plan wait for which: what the bytes demand that steps read and write.
//!
//! Steps make *tasks*. A fusion is one task; small steps that wait for one another, or for the same
//! tasks, are one too, so that scheduling a task costs little beside it. An edge says that a task
//! may begin when another is done: it reads or writes bytes that the other writes, or writes bytes
//! that the other reads. Two buffers in one place of the arena are the same bytes. Whatever order
//! of tasks keeps the edges, every step reads what it reads when all run in their order.

mod accesses;
mod bytes;
mod draft;
mod loosen;

pub(crate) use accesses::{Access, Accesses, Reach, Room};
pub(crate) use bytes::{Bytes, Demands};
pub(crate) use loosen::loosened;

use crate::plan::Plan;
use std::fmt;

/// What one step reads and writes.
pub(crate) fn accesses_of_step(plan: &Plan, reaches: &[Reach], index: usize) -> Accesses {
    let mut found = Accesses::new();
    accesses::of_step(plan, reaches, index, &mut found);
    found
}

/// A step shorter than this, in nanoseconds, is not worth sharing with another thread.
pub const SPLIT_NS: u64 = 30_000;

/// Small steps are gathered up to so many nanoseconds.
pub(crate) const GRAIN_NS: u64 = 5_000;

/// About what it costs to schedule a task, in nanoseconds.
const TASK_NS: u64 = 600;

/// Steps that run one after another on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its first entry in [`Graph::units`].
    first_unit: u32,
    /// One past its last.
    end_unit: u32,
    /// Its first entry in the list of successors.
    first_successor: u32,
    /// One past its last.
    end_successor: u32,
    /// How many tasks it waits for.
    pub waits: u32,
    /// Estimated nanoseconds from its beginning to the end of the longest chain behind it.
    pub path_ns: u64,
}

/// The tasks of a plan.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    tasks: Vec<Task>,
    units: Vec<u32>,
    successors: Vec<u32>,
    /// Estimated time of all steps in their order, long ones shared by all threads.
    in_order_ns: u64,
    /// The same of the longest chain of tasks.
    chain_ns: u64,
    /// Estimated time of all steps on one thread.
    total_ns: u64,
    threads: u64,
}

impl Graph {
    /// The graph of a plan with its buffers placed. `reaches` has an entry an operand.
    pub(crate) fn of(plan: &Plan, reaches: &[Reach]) -> Self {
        draft::draft(plan, reaches)
    }

    /// The tasks. Each waits for some before it alone.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// What a task does, in order: each entry is a step, or the first step of a fusion.
    #[must_use]
    pub fn units(&self, task: &Task) -> &[u32] {
        &self.units[task.first_unit as usize..task.end_unit as usize]
    }

    /// The tasks that wait for a task.
    #[must_use]
    pub fn successors(&self, task: &Task) -> &[u32] {
        &self.successors[task.first_successor as usize..task.end_successor as usize]
    }

    /// How many pairs of tasks there are of which one waits for the other.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.successors.len()
    }

    /// Estimated time of tasks side by side.
    fn expected_ns(&self) -> u64 {
        let spread = self.total_ns / self.threads.max(1);
        let scheduling = TASK_NS * self.tasks.len() as u64 / self.threads.max(1);
        self.chain_ns.max(spread).saturating_add(scheduling)
    }

    /// Whether tasks side by side should take less time than all steps in their order.
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
