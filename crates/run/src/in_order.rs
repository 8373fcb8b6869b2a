//! The steps of a plan one after another, from the first to the last.

use crate::clock::{Clock, STEP_NS};
use crate::execute::Observer;
use crate::launch::Workers;
use crate::outcome::share;
use crate::table::{Memories, Table};
use crate::work::{self, Outside};
use crate::{RunError, check};
use cloakwork_plan::{Check, Fusion, Kind};
use std::iter::Peekable;
use std::slice;
use std::time::Instant;

/// A run under way.
pub struct Run<'a, 'c> {
    pub memories: &'a Memories<'a>,
    pub table: &'a Table,
    pub workers: &'a Workers<'a>,
    pub outside: &'a Outside<'a>,
    pub checks: Peekable<slice::Iter<'a, Check>>,
    pub clock: &'a mut Clock<'c>,
}

impl Run<'_, '_> {
    /// Checks what must hold before a step, or at the end.
    fn contents(&mut self, index: usize) -> Result<(), RunError> {
        while let Some(due) = self.checks.next_if(|check| check.before as usize == index) {
            check::contents(self.memories.plan, due, self.memories)?;
        }
        Ok(())
    }

    /// Runs all steps and looks at what must hold at the end. Says when each step ended, where the
    /// run's start is given.
    pub fn steps(
        &mut self,
        start: Option<Instant>,
        mut observer: Option<Observer>,
    ) -> Result<Vec<u64>, RunError> {
        let plan = self.memories.plan;
        let now = |start: Instant| start.elapsed().as_nanos() as u64;
        let mut ends_ns = Vec::with_capacity(start.map_or(0, |_| plan.steps.len()));
        let mut fusions = plan.fusions.iter().peekable();
        let mut index = 0;
        while index < plan.steps.len() {
            if let Some(fusion) = fusions.next_if(|fusion| fusion.first as usize == index) {
                let begun = start.map(now);
                self.fused(fusion)?;
                if let (Some(begun), Some(ended)) = (begun, start.map(now)) {
                    share(plan, fusion, (begun, ended), &mut ends_ns);
                }
                index = fusion.end as usize;
                continue;
            }
            self.step(index)?;
            ends_ns.extend(start.map(now));
            if let Some(watch) = observer.as_mut() {
                watch(index, self.memories)?;
            }
            index += 1;
        }
        self.contents(plan.steps.len())?;
        Ok(ends_ns)
    }

    /// Runs the steps of a fusion together.
    fn fused(&mut self, fusion: &Fusion) -> Result<(), RunError> {
        let plan = self.memories.plan;
        let first = fusion.first as usize;
        let weight = work::weight(plan, fusion);
        let interrupted = || RunError::Interrupted {
            step: plan.program_step(plan.steps[first].origin),
        };
        let steps = u64::from(fusion.end - fusion.first);
        let shown = weight
            .saturating_add(STEP_NS * (steps - 1))
            .min(u64::from(u32::MAX));
        if !self.clock.step(first, shown as u32) {
            return Err(interrupted());
        }
        if let Some(disk) = self.memories.disk {
            disk.before(first..fusion.end as usize);
        }
        self.contents(first)?;
        let fused = self.table.fused(plan, fusion);
        let clock = &mut *self.clock;
        let mut go_on = || clock.look(first);
        // SAFETY: as for a single step; scratch memory was planned for the slots, and blocks of
        // different elements share nothing else.
        let run = |from, to, scratch: *mut std::ffi::c_void| unsafe {
            fused.run(from, to, scratch.cast());
        };
        let done = self.workers.each(fusion.elements, weight, &run, &mut go_on);
        if done { Ok(()) } else { Err(interrupted()) }
    }

    /// Runs one planned step: what only now can be checked, what must be derived now, the kernel.
    fn step(&mut self, index: usize) -> Result<(), RunError> {
        let plan = self.memories.plan;
        let (step, launch) = (&plan.steps[index], &self.table.launches[index]);
        let interrupted = || RunError::Interrupted {
            step: plan.program_step(step.origin),
        };
        if !self.clock.step(index, step.weight) {
            return Err(interrupted());
        }
        if let Some(disk) = self.memories.disk {
            disk.before(index..index + 1);
        }
        self.contents(index)?;
        if work::has_more(step) {
            work::beside((self.memories, self.table, self.outside), index)?;
            if step.kind != Kind::Kernel {
                return Ok(());
            }
        }
        let units = self.table.units[step.geometry as usize];
        let clock = &mut *self.clock;
        let mut go_on = || clock.look(index);
        // SAFETY: the plan's offsets keep live buffers apart, and its geometry comes from a
        // verified program.
        let done = unsafe {
            self.workers
                .run(step.row, launch, units, u64::from(step.weight), &mut go_on)
        };
        if done { Ok(()) } else { Err(interrupted()) }
    }
}
