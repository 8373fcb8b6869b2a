//! Execution of a plan's units: launches, transfers, host calls.

use crate::RunError;
use crate::exec::check;
use crate::exec::function::{self, Functions};
use crate::exec::launch::Workers;
use crate::exec::table::{Fused, Memories, Table};
use crate::memory::spill_file::SpillFile;
use crate::schedule::{Body, Extent};
use cloakwork_plan::{Fusion, Plan, Work};
use std::sync::Arc;

/// Resources of a run beside its memory.
pub struct Outside<'a> {
    /// The file that holds buffers while they are not in memory.
    pub spill_file: Option<SpillFile>,
    /// The caller's functions.
    pub functions: Option<&'a Arc<dyn Functions>>,
}

/// Does a step that runs no kernel over units.
///
/// # Errors
/// The disk's, a function's, or contents that an op does not take.
#[cold]
pub fn other(
    (memories, table, outside): (&Memories, &Table, &Outside),
    index: usize,
) -> Result<(), RunError> {
    let plan = memories.plan;
    let step = &plan.steps[index];
    match step.work {
        Work::Launch { .. } => {}
        Work::Prepare { row } => {
            let block = table.pointers[step.first_address as usize];
            // SAFETY: the block has the row's prepared size, and is this step's.
            unsafe { row.prepare(&table.launches[index], block) };
        }
        Work::Transfer(way) => {
            let spill_file = outside.spill_file.as_ref();
            let spill_file =
                spill_file.ok_or_else(|| RunError::Internal("a plan without its disk".into()))?;
            // SAFETY: the step has both buffers to itself.
            unsafe { spill_file.transfer(memories, step, way) }?;
        }
        Work::Check(check) => check::read(memories, check)?,
        Work::Function(call) => {
            let call = &plan.calls[call as usize];
            function::step((memories, outside.functions), step, call)?;
        }
    }
    Ok(())
}

/// The units of a plan's run.
pub struct Units<'a> {
    pub memories: &'a Memories<'a>,
    pub table: &'a Table,
    pub workers: &'a Workers<'a>,
    pub outside: &'a Outside<'a>,
}

/// A unit ready to compute.
pub enum Task<'a> {
    /// One step.
    Step(usize),
    /// Steps that run together.
    Fused(Fused<'a>),
    /// Nothing is left to do: it was not a launch.
    Nothing,
}

impl<'a> Units<'a> {
    fn plan(&self) -> &'a Plan {
        self.memories.plan
    }

    /// The fusion that begins at a step.
    fn fusion(&self, first: usize) -> Option<&'a Fusion> {
        let fusions = &self.plan().fusions;
        let found = fusions.binary_search_by_key(&first, |fusion| fusion.first as usize);
        found.ok().map(|index| &fusions[index])
    }
}

/// The weight of all steps of a fusion.
pub fn weight(plan: &Plan, fusion: &Fusion) -> u64 {
    let members = &plan.steps[fusion.first as usize..fusion.end as usize];
    members.iter().map(|step| u64::from(step.weight)).sum()
}

const NOTHING: Extent = Extent {
    units: 0,
    weight_ns: 0,
};

impl<'a> Body for Units<'a> {
    type Work = Task<'a>;

    fn begin(&self, unit: u32) -> Result<(Task<'a>, Extent), RunError> {
        let (plan, index) = (self.plan(), unit as usize);
        if !self.memories.disks.is_empty() {
            let end = self
                .fusion(index)
                .map_or(index + 1, |fusion| fusion.end as usize);
            self.memories
                .disks
                .iter()
                .for_each(|disk| disk.before(index..end));
        }
        if let Some(fusion) = self.fusion(index) {
            let extent = Extent {
                units: fusion.elements,
                weight_ns: weight(plan, fusion),
            };
            let table: &'a Table = self.table;
            return Ok((Task::Fused(table.fused(plan, fusion)), extent));
        }
        let step = &plan.steps[index];
        if step.launched().is_none() {
            other((self.memories, self.table, self.outside), index)?;
            return Ok((Task::Nothing, NOTHING));
        }
        let extent = Extent {
            units: self.table.units[step.geometry as usize],
            weight_ns: u64::from(step.weight),
        };
        Ok((Task::Step(index), extent))
    }

    fn run(&self, work: &Task<'a>, (from, to): (u64, u64), worker: usize) {
        let scratch = self.workers.slot(worker);
        match work {
            Task::Step(index) => {
                let (step, launch) = (&self.plan().steps[*index], &self.table.launches[*index]);
                let Some(row) = step.launched() else { return };
                // SAFETY: the graph's edges and the plan's offsets keep apart what runs at a time,
                // and the geometry comes from a verified program.
                unsafe { row.run(launch, from, to, scratch) };
            }
            // SAFETY: as above; scratch memory was planned for the slots, and blocks of different
            // elements share nothing else.
            Task::Fused(fused) => unsafe { fused.run(from, to, scratch.cast()) },
            Task::Nothing => {}
        }
    }

    fn steps(&self, unit: u32) -> usize {
        let fusion = self.fusion(unit as usize);
        fusion.map_or(1, |fusion| (fusion.end - fusion.first) as usize)
    }

    fn origin(&self, unit: u32) -> u32 {
        let steps = &self.plan().steps;
        self.plan().program_step(steps[unit as usize].origin)
    }
}
