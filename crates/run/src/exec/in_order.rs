//! The steps of a plan one after another, from the first to the last.

use crate::RunError;
use crate::exec::clock::{Clock, STEP_NS};
use crate::exec::devices::Flow;
use crate::exec::executor::Observer;
use crate::exec::launch::Workers;
use crate::exec::table::{Memories, Table, is_one_block, moves_nothing};
use crate::exec::work::{self, Outside};
use crate::report::outcome::share;
use cloakwork_devices::{at_step, watched};
use cloakwork_plan::{Fusion, Work};
use std::time::Instant;

/// A run under way.
pub struct Run<'a, 'c> {
    pub memories: &'a Memories<'a>,
    pub table: &'a Table,
    pub workers: &'a Workers<'a>,
    pub outside: &'a Outside<'a>,
    /// Where devices are in it.
    pub flow: Option<Flow<'a>>,
    /// The step that runs.
    pub at: usize,
    pub clock: &'a mut Clock<'c>,
}

impl Run<'_, '_> {
    /// Runs all steps. Says when each ended, where the run's start is given.
    pub fn steps(
        &mut self,
        start: Option<Instant>,
        mut observer: Option<Observer>,
    ) -> Result<Vec<u64>, RunError> {
        let plan = self.memories.plan;
        let now = |start: Instant| start.elapsed().as_nanos() as u64;
        let mut ends_ns = Vec::with_capacity(start.map_or(0, |_| plan.steps.len()));
        let mut fusions = plan.fusions.iter().peekable();
        let has_devices = self.flow.is_some();
        let mut index = 0;
        while index < plan.steps.len() {
            self.at = index;
            let fusion = fusions.next_if(|fusion| fusion.first as usize == index);
            if fusion.is_some() || (has_devices && self.begins_segment(index)) {
                let begun = start.map(now);
                let end = match fusion {
                    Some(fusion) => self.fused(fusion)?,
                    None => self.segment(index)?,
                };
                if let (Some(begun), Some(ended)) = (begun, start.map(now)) {
                    share(plan, index..end, (begun, ended), &mut ends_ns);
                }
                index = end;
                continue;
            }
            self.step(index)?;
            ends_ns.extend(start.map(now));
            if let Some(watch) = observer.as_mut() {
                watch(index, self.memories)?;
            }
            index += 1;
        }
        Ok(ends_ns)
    }

    /// Runs the steps of a fusion together. Gives the first step behind it.
    fn fused(&mut self, fusion: &Fusion) -> Result<usize, RunError> {
        let plan = self.memories.plan;
        let first = fusion.first as usize;
        for disk in self.memories.disks {
            disk.before(first..fusion.end as usize);
        }
        self.with_devices(first, |flow| flow.before(fusion.end as usize))?;
        let weight = work::weight(plan, fusion);
        if is_one_block(fusion) && !self.workers.share(weight) {
            self.one_block(fusion)?;
            return Ok(fusion.end as usize);
        }
        let steps = u64::from(fusion.end - fusion.first);
        let shown = weight
            .saturating_add(STEP_NS * (steps - 1))
            .min(u64::from(u32::MAX));
        if !self.clock.step(first, shown as u32) {
            return Err(self.interrupted(first));
        }
        let fused = self.table.fused(plan, fusion);
        let clock = &mut *self.clock;
        let mut go_on = || clock.look(first);
        // SAFETY: as for a single step; scratch memory was planned for the slots, and blocks of
        // different elements share nothing else.
        let run = |from, to, scratch: *mut std::ffi::c_void| unsafe {
            fused.run(from, to, scratch.cast());
        };
        let done = self.workers.each(fusion.elements, weight, &run, &mut go_on);
        if done {
            Ok(fusion.end as usize)
        } else {
            Err(self.interrupted(first))
        }
    }

    /// Runs the steps of a fusion of one block on this thread, each whole.
    fn one_block(&mut self, fusion: &Fusion) -> Result<(), RunError> {
        let plan = self.memories.plan;
        let scratch = self.workers.slot(0);
        for index in fusion.first as usize..fusion.end as usize {
            let step = &plan.steps[index];
            if !self.clock.step(index, step.weight) {
                return Err(self.interrupted(index));
            }
            if let Some(row) = step.launched().filter(|_| !moves_nothing(plan, step)) {
                let units = self.table.units[step.geometry as usize];
                // SAFETY: as for a single step; slots were resolved to this thread's scratch.
                unsafe { row.run(&self.table.launches[index], 0, units, scratch) };
            }
        }
        Ok(())
    }

    fn interrupted(&self, step: usize) -> RunError {
        let plan = self.memories.plan;
        RunError::Interrupted {
            step: plan.program_step(plan.steps[step].origin),
        }
    }

    fn begins_segment(&mut self, index: usize) -> bool {
        let flow = self.flow.as_mut();
        flow.is_some_and(|flow| flow.begins_segment(index))
    }

    /// Submits the segment that begins at a step. Gives the first step behind it.
    fn segment(&mut self, index: usize) -> Result<usize, RunError> {
        if !self.clock.step(index, 0) {
            return Err(self.interrupted(index));
        }
        let submitted = self.with_devices(index, |flow| flow.submit(index))?;
        submitted.ok_or_else(|| RunError::Internal("a segment without devices".into()))
    }

    /// Calls drivers for a step, if the run has devices. The caller can stop one that waits.
    fn with_devices<R>(
        &mut self,
        index: usize,
        call: impl FnOnce(&mut Flow) -> Result<R, RunError>,
    ) -> Result<Option<R>, RunError> {
        let Some(flow) = &mut self.flow else {
            return Ok(None);
        };
        let clock = &mut *self.clock;
        let mut stopped = false;
        let mut go_on = || {
            stopped = !clock.look(index);
            !stopped
        };
        at_step(Some(index as u32));
        let done = watched(&mut go_on, || call(flow));
        match stopped {
            true => Err(self.interrupted(index)),
            false => done.map(Some),
        }
    }

    /// Runs one step.
    fn step(&mut self, index: usize) -> Result<(), RunError> {
        let plan = self.memories.plan;
        let (step, launch) = (&plan.steps[index], &self.table.launches[index]);
        if !self.clock.step(index, step.weight) {
            return Err(self.interrupted(index));
        }
        for disk in self.memories.disks {
            disk.before(index..index + 1);
        }
        let table = self.table;
        let given = self.with_devices(index, |flow| {
            flow.before(index + 1)?;
            if step.queue > 0 {
                return flow.give(table, index).map(|()| true);
            }
            if matches!(step.work, Work::Function(_)) {
                flow.before_function()?;
            }
            Ok(false)
        });
        if given?.unwrap_or(false) {
            return Ok(());
        }
        let Work::Launch { row, .. } = step.work else {
            return work::other((self.memories, self.table, self.outside), index);
        };
        let units = self.table.units[step.geometry as usize];
        let clock = &mut *self.clock;
        let mut go_on = || clock.look(index);
        // SAFETY: the plan's offsets keep live buffers apart, and its geometry comes from a
        // verified program.
        let done = unsafe {
            self.workers
                .run(row, launch, units, u64::from(step.weight), &mut go_on)
        };
        if done {
            Ok(())
        } else {
            Err(self.interrupted(index))
        }
    }
}
