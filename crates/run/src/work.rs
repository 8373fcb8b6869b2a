//! What a unit of a plan does when it runs: what only now can be checked, what must be derived now,
//! the kernels.

use crate::function::{self, Functions};
use crate::launch::Workers;
use crate::schedule::{Body, Extent};
use crate::table::{Fused, Memories, Table};
use crate::tier::Tier;
use crate::{RunError, check, derived};
use cloakwork_plan::{Fusion, Kind, Plan, Prepared, Step};
use std::sync::Arc;

/// What a run has beside its memory.
pub struct Outside<'a> {
    /// Where buffers wait.
    pub tier: Option<Tier>,
    /// The caller's functions.
    pub functions: Option<&'a Arc<dyn Functions>>,
}

/// Does what a step needs beside its kernel: derives constants that no plan knows, moves buffers to
/// disk and back, calls functions.
///
/// # Errors
/// The disk's, or the plan names memory that is not there.
#[cold]
pub fn beside(
    (memories, table, outside): (&Memories, &Table, &Outside),
    index: usize,
) -> Result<(), RunError> {
    let plan = memories.plan;
    let step = &plan.steps[index];
    match step.kind {
        Kind::Kernel => return derive(memories, table, index),
        Kind::Function(call) => {
            let call = &plan.calls[call as usize];
            return function::step((memories, outside.functions), step, call);
        }
        Kind::ToDisk(_) | Kind::FromDisk(_) => {}
    }
    let tier = outside.tier.as_ref();
    let tier = tier.ok_or_else(|| RunError::Internal("a plan without its disk".to_owned()))?;
    let buffer = plan.addresses[step.first_address as usize].index;
    // SAFETY: the step moves this buffer, whose place in the arena is its own meanwhile.
    unsafe { tier.step(plan, step, memories.buffer(buffer).cast()) }
}

/// Whether a step does more than call its kernel.
pub fn has_more(step: &Step) -> bool {
    let dynamic = matches!(
        step.prepared,
        Prepared::Dynamic(_) | Prepared::Dynamics { .. }
    );
    dynamic || step.kind != Kind::Kernel
}

/// The units of a plan's run.
pub struct Units<'a> {
    pub memories: &'a Memories<'a>,
    pub table: &'a Table,
    pub workers: &'a Workers<'a>,
    pub outside: &'a Outside<'a>,
}

/// A unit ready to compute.
pub enum Work<'a> {
    /// One step.
    Step(usize),
    /// Steps that run together.
    Fused(Fused<'a>),
    /// Nothing is left to do: the checks at a program's end, a buffer's way to disk.
    Nothing,
}

impl<'a> Units<'a> {
    fn plan(&self) -> &'a Plan {
        self.memories.plan
    }

    /// Checks what must hold before a step.
    fn contents(&self, index: usize) -> Result<(), RunError> {
        let checks = &self.plan().checks;
        let first = checks.partition_point(|check| (check.before as usize) < index);
        let due = checks[first..].iter();
        for check in due.take_while(|check| check.before as usize == index) {
            check::contents(self.plan(), check, self.memories)?;
        }
        Ok(())
    }

    /// The fusion that begins at a step.
    fn fusion(&self, first: usize) -> Option<&'a Fusion> {
        let fusions = &self.plan().fusions;
        let found = fusions.binary_search_by_key(&first, |fusion| fusion.first as usize);
        found.ok().map(|index| &fusions[index])
    }
}

/// Derives the constants that a step needs and that no plan knows.
///
/// # Errors
/// The plan names memory that is not there.
fn derive(memories: &Memories, table: &Table, index: usize) -> Result<(), RunError> {
    let plan = memories.plan;
    let step = &plan.steps[index];
    match step.prepared {
        Prepared::Dynamic(buffer) => {
            // SAFETY: the buffer lives during this step and has the row's prepared size.
            unsafe {
                step.row
                    .prepare(&table.launches[index], memories.buffer(buffer));
            }
        }
        Prepared::Dynamics {
            buffer,
            first,
            count,
        } => {
            let parts = &plan.dynamic[first as usize..(first + count) as usize];
            // SAFETY: the buffer lives during this step and was planned for these parts, whose
            // operands the step has.
            unsafe { derived::now(parts, memories, memories.buffer(buffer)) }?;
        }
        _ => {}
    }
    Ok(())
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
    type Work = Work<'a>;

    fn begin(&self, unit: u32) -> Result<(Work<'a>, Extent), RunError> {
        let (plan, index) = (self.plan(), unit as usize);
        if let Some(disk) = self.memories.disk {
            let fusion = self.fusion(index);
            disk.before(index..fusion.map_or(index + 1, |fusion| fusion.end as usize));
        }
        self.contents(index)?;
        if let Some(fusion) = self.fusion(index) {
            let extent = Extent {
                units: fusion.elements,
                weight_ns: weight(plan, fusion),
            };
            let table: &'a Table = self.table;
            return Ok((Work::Fused(table.fused(plan, fusion)), extent));
        }
        let Some(step) = plan.steps.get(index) else {
            return Ok((Work::Nothing, NOTHING));
        };
        if has_more(step) {
            beside((self.memories, self.table, self.outside), index)?;
        }
        if step.kind != Kind::Kernel {
            return Ok((Work::Nothing, NOTHING));
        }
        let extent = Extent {
            units: self.table.units[step.geometry as usize],
            weight_ns: u64::from(step.weight),
        };
        Ok((Work::Step(index), extent))
    }

    fn run(&self, work: &Work<'a>, (from, to): (u64, u64), worker: usize) {
        let scratch = self.workers.slot(worker);
        match work {
            Work::Step(index) => {
                let (step, launch) = (&self.plan().steps[*index], &self.table.launches[*index]);
                // SAFETY: the graph's edges and the plan's offsets keep apart what runs at a time,
                // and the geometry comes from a verified program.
                unsafe { step.row.run(launch, from, to, scratch) };
            }
            // SAFETY: as above; scratch memory was planned for the slots, and blocks of different
            // elements share nothing else.
            Work::Fused(fused) => unsafe { fused.run(from, to, scratch.cast()) },
            Work::Nothing => {}
        }
    }

    fn steps(&self, unit: u32) -> usize {
        let fusion = self.fusion(unit as usize);
        fusion.map_or(1, |fusion| (fusion.end - fusion.first) as usize)
    }

    fn origin(&self, unit: u32) -> u32 {
        let steps = &self.plan().steps;
        let step = steps.get(unit as usize).or_else(|| steps.last());
        step.map_or(0, |step| self.plan().program_step(step.origin))
    }
}
