//! Gathers steps into tasks and finds the edges between them.

use super::accesses::{self, Access, Accesses, Reach, Room};
use super::bytes::{Bytes, Demands, TaskId};
use super::{Graph, SPLIT_NS, Task};
use crate::fuse::Fusion;
use crate::plan::Plan;
use rustc_hash::FxHashMap;

/// The cost of a step beside its kernel's work.
const STEP_NS: u64 = 40;
/// The most predecessors that are examined for edges that others imply.
const MOST_COMPARED: usize = 16;

/// A task under construction.
#[derive(Debug, Default)]
struct Draft {
    preds: Demands,
    /// Estimated time of its steps, with long ones split over all threads.
    shared_ns: u64,
    weight_ns: u64,
    /// Estimated time of its small steps.
    light_ns: u64,
    /// An empty task that only carries dependencies.
    joins: bool,
}

/// Steps that run together.
struct Unit {
    weight_ns: u64,
    shared_ns: u64,
}

struct Drafter<'a> {
    plan: &'a Plan,
    threads: u64,
    grain_ns: u64,
    memories: FxHashMap<Room, Bytes>,
    drafts: Vec<Draft>,
    /// The unit's first step, and its task.
    units: Vec<(u32, TaskId)>,
    /// A task of small steps for each set of dependencies.
    alike: FxHashMap<Demands, TaskId>,
}

/// The graph of a plan.
pub(super) fn draft(plan: &Plan, reaches: &[Reach]) -> Graph {
    let mut drafter = Drafter {
        plan,
        threads: plan.options.threads.max(1) as u64,
        grain_ns: plan.options.grain_ns,
        memories: FxHashMap::default(),
        drafts: Vec::new(),
        units: Vec::new(),
        alike: FxHashMap::default(),
    };
    let mut fusions = plan.fusions.iter().peekable();
    let mut guard = None;
    let mut index = 0;
    while index < plan.steps.len() {
        let fusion = fusions.next_if(|fusion| fusion.first as usize == index);
        let end = fusion.map_or(index + 1, |fusion| fusion.end as usize);
        let mut found = Accesses::new();
        for step in index..end {
            accesses::of_step(plan, reaches, step, &mut found);
            found.extend(accesses::guarded(&plan.steps[step], &mut guard));
        }
        let unit = drafter.unit(index, end, fusion);
        drafter.place(index as u32, &unit, &found);
        index = end;
    }
    drafter.finish()
}

impl Drafter<'_> {
    fn unit(&self, first: usize, end: usize, fusion: Option<&Fusion>) -> Unit {
        let steps = &self.plan.steps[first..end];
        let geometry = &self.plan.geometries[steps[0].geometry as usize];
        let units = fusion.map_or_else(|| geometry.units(), |fusion| fusion.elements);
        let weight_ns: u64 = steps
            .iter()
            .map(|step| u64::from(step.weight) + STEP_NS)
            .sum();
        let parts = (weight_ns / SPLIT_NS).min(self.threads).min(units).max(1);
        let shared_ns = weight_ns / parts;
        Unit {
            weight_ns,
            shared_ns,
        }
    }

    /// Puts a unit into a task.
    fn place(&mut self, first: u32, unit: &Unit, found: &[Access]) {
        let mut preds = Demands::new();
        for access in found {
            if let Some(bytes) = self.memories.get(&access.room) {
                bytes.demands(&access.bytes, access.writes, &mut preds);
            }
        }
        preds.sort_unstable();
        preds.dedup();
        let light = unit.weight_ns < self.grain_ns;
        let joined = light.then(|| self.joins(&preds, unit)).flatten();
        let task = joined.unwrap_or_else(|| self.open(preds, light));
        let draft = &mut self.drafts[task as usize];
        draft.weight_ns += unit.weight_ns;
        draft.shared_ns += unit.shared_ns;
        draft.light_ns += if light { unit.weight_ns } else { 0 };
        self.units.push((first, task));
        let drafts = &mut self.drafts;
        let mut join = |all| {
            drafts.push(joining(all));
            drafts.len() as u32 - 1
        };
        // Reads are recorded first: of bytes that it reads and writes, it is the writer.
        for writes in [false, true] {
            for access in found.iter().filter(|access| access.writes == writes) {
                let bytes = self.memories.entry(access.room).or_default();
                bytes.note(&access.bytes, task, writes, &mut join);
            }
        }
    }

    /// A task that can include a small unit: all dependencies of the unit are the task itself or
    /// dependencies of the task.
    fn joins(&self, preds: &Demands, unit: &Unit) -> Option<TaskId> {
        let has_room = |task: TaskId| {
            let draft = &self.drafts[task as usize];
            !draft.joins && draft.light_ns + unit.weight_ns <= self.grain_ns
        };
        if let Some((&last, rest)) = preds.split_last() {
            let known = &self.drafts[last as usize].preds;
            let waits = |pred| known.binary_search(pred).is_ok();
            if has_room(last) && rest.len() <= known.len() && rest.iter().all(waits) {
                return Some(last);
            }
        }
        self.alike
            .get(preds)
            .copied()
            .filter(|&task| has_room(task))
    }

    fn open(&mut self, preds: Demands, light: bool) -> TaskId {
        let task = self.drafts.len() as TaskId;
        if light {
            self.alike.insert(preds.clone(), task);
        }
        self.drafts.push(Draft {
            preds,
            ..Draft::default()
        });
        task
    }

    fn finish(self) -> Graph {
        let edges: Vec<Demands> = self.drafts.iter().map(|draft| self.needed(draft)).collect();
        let mut tasks: Vec<Task> = edges.iter().map(waiting).collect();
        let successors = self.successors(&edges, &mut tasks);
        let units = self.in_tasks(&mut tasks);
        let longest = |cost: fn(&Draft) -> u64| {
            let mut paths = vec![0u64; tasks.len()];
            for (index, task) in tasks.iter().enumerate().rev() {
                let behind = &successors[task.first_successor as usize..];
                let behind = &behind[..(task.end_successor - task.first_successor) as usize];
                let longest = behind.iter().map(|&next| paths[next as usize]).max();
                paths[index] = cost(&self.drafts[index]) + longest.unwrap_or(0);
            }
            paths
        };
        let chain_ns = longest(|draft| draft.shared_ns).into_iter().max();
        let paths = longest(|draft| draft.weight_ns);
        for (task, path_ns) in tasks.iter_mut().zip(paths) {
            task.path_ns = path_ns;
        }
        Graph {
            tasks,
            units,
            successors,
            in_order_ns: self.drafts.iter().map(|draft| draft.shared_ns).sum(),
            chain_ns: chain_ns.unwrap_or(0),
            total_ns: self.drafts.iter().map(|draft| draft.weight_ns).sum(),
            threads: self.threads,
        }
    }

    /// The predecessors that no other predecessor waits for, if the predecessors are few.
    fn needed(&self, draft: &Draft) -> Demands {
        let preds = &draft.preds;
        let implied = |pred: &TaskId| {
            let later = preds.iter().rev().take_while(|&other| other > pred);
            later.into_iter().any(|&other| {
                let known = &self.drafts[other as usize].preds;
                known.binary_search(pred).is_ok()
            })
        };
        if preds.len() > MOST_COMPARED {
            return preds.clone();
        }
        preds
            .iter()
            .copied()
            .filter(|pred| !implied(pred))
            .collect()
    }

    fn successors(&self, edges: &[Demands], tasks: &mut [Task]) -> Vec<u32> {
        for &pred in edges.iter().flatten() {
            tasks[pred as usize].end_successor += 1;
        }
        let mut sum = 0;
        for task in tasks.iter_mut() {
            task.first_successor = sum;
            sum += task.end_successor;
            task.end_successor = task.first_successor;
        }
        let mut successors = vec![0; sum as usize];
        for (task, preds) in (0u32..).zip(edges) {
            for &pred in preds {
                let end = &mut tasks[pred as usize].end_successor;
                successors[*end as usize] = task;
                *end += 1;
            }
        }
        successors
    }

    /// The units, task by task.
    fn in_tasks(&self, tasks: &mut [Task]) -> Vec<u32> {
        for &(_, task) in &self.units {
            tasks[task as usize].end_unit += 1;
        }
        let mut sum = 0;
        for task in tasks.iter_mut() {
            task.first_unit = sum;
            sum += task.end_unit;
            task.end_unit = task.first_unit;
        }
        let mut units = vec![0; self.units.len()];
        for &(first, task) in &self.units {
            let end = &mut tasks[task as usize].end_unit;
            units[*end as usize] = first;
            *end += 1;
        }
        units
    }
}

fn waiting(preds: &Demands) -> Task {
    Task {
        first_unit: 0,
        end_unit: 0,
        first_successor: 0,
        end_successor: 0,
        waits: preds.len() as u32,
        path_ns: 0,
    }
}

fn joining(mut preds: Demands) -> Draft {
    preds.sort_unstable();
    preds.dedup();
    Draft {
        preds,
        joins: true,
        ..Draft::default()
    }
}
