//! The plan with steps that move buffers, and with a buffer for each stay in memory.

use super::choose::Move;
use super::units::{Unit, Units};
use crate::graph::Reach;
use crate::plan::{
    Address, Buffer, Geometry, Kind, Plan, Prepared, Space, Spilled, Step, StepCost,
};
use crate::{PlanError, arena};
use cloakwork_ir::{DType, Device};
use cloakwork_kernels::{KernelRow, select};
use cloakwork_ops::COPY_KERNEL;
use rustc_hash::FxHashMap;

/// A buffer that is not in memory.
const AWAY: u32 = u32::MAX;

struct Rewriter<'a> {
    from: &'a Plan,
    plan: Plan,
    reaches: Vec<Reach>,
    /// Where each buffer of the plan as it was is now.
    stay: Vec<u32>,
    /// What each has on disk.
    spilled: Vec<Option<u32>>,
    /// Steps from which to which something lies on disk.
    on_disk: Vec<Buffer>,
    /// The row that stands for the moves, which no kernel does.
    row: &'static KernelRow,
    geometries: FxHashMap<u64, u32>,
    /// The new number of each step.
    moved: Vec<u32>,
}

/// A plan that makes the moves, with its places in memory and on disk.
pub(super) fn rewrite(
    plan: &Plan,
    reaches: &[Reach],
    units: &Units,
    moves: &[(u32, Move)],
) -> Result<(Plan, Vec<Reach>), PlanError> {
    let mut rewriter = Rewriter::new(plan, reaches)?;
    let mut moves = moves.iter().peekable();
    for (index, unit) in (0u32..).zip(&units.all) {
        let origin = plan.steps.get(unit.steps.start).or(plan.steps.last());
        let origin = origin.map_or(0, |step| step.origin);
        while let Some((_, one)) = moves.next_if(|(before, _)| *before == index) {
            rewriter.make(*one, origin);
        }
        rewriter.unit(units, unit);
    }
    Ok(rewriter.finish())
}

impl<'a> Rewriter<'a> {
    fn new(from: &'a Plan, reaches: &[Reach]) -> Result<Self, PlanError> {
        let mut plan = from.clone();
        (plan.steps, plan.costs, plan.buffers) = (Vec::new(), Vec::new(), Vec::new());
        let row = select(COPY_KERNEL, DType::U8, DType::U8, from.options.isa);
        let row = row.ok_or_else(|| PlanError::NoKernel {
            step: 0,
            kernel: COPY_KERNEL.to_owned(),
            input: DType::U8,
            output: DType::U8,
        })?;
        Ok(Self {
            from,
            plan,
            reaches: reaches.to_vec(),
            stay: vec![AWAY; from.buffers.len()],
            spilled: vec![None; from.buffers.len()],
            on_disk: Vec::new(),
            row,
            geometries: FxHashMap::default(),
            moved: Vec::new(),
        })
    }

    fn next_step(&self) -> u32 {
        self.plan.steps.len() as u32
    }

    /// A buffer's stay in memory begins.
    fn arrive(&mut self, buffer: u32) -> u32 {
        let now = self.next_step();
        self.stay[buffer as usize] = self.plan.buffers.len() as u32;
        self.plan.buffers.push(Buffer {
            offset: 0,
            first: now,
            last: now,
            ..self.from.buffers[buffer as usize]
        });
        self.stay[buffer as usize]
    }

    fn make(&mut self, one: Move, origin: u32) {
        match one {
            Move::Leave(buffer) => self.stay[buffer as usize] = AWAY,
            Move::Out(buffer) => {
                let now = self.next_step();
                let bytes = self.from.buffers[buffer as usize].bytes;
                let place = *self.spilled[buffer as usize].get_or_insert_with(|| {
                    self.on_disk.push(Buffer {
                        bytes,
                        offset: 0,
                        first: now,
                        last: now,
                        device: Device::Disk(0),
                    });
                    self.on_disk.len() as u32 - 1
                });
                self.on_disk[place as usize].last = now;
                let stay = std::mem::replace(&mut self.stay[buffer as usize], AWAY);
                self.plan.buffers[stay as usize].last = now;
                self.push(Kind::ToDisk(place), stay, bytes, origin);
                self.plan.memory.spilled_bytes += bytes;
            }
            Move::In(buffer) => {
                let now = self.next_step();
                let stay = self.arrive(buffer);
                if let Some(place) = self.spilled[buffer as usize] {
                    let bytes = self.on_disk[place as usize].bytes;
                    self.on_disk[place as usize].last = now;
                    self.push(Kind::FromDisk(place), stay, bytes, origin);
                    self.plan.memory.reloaded_bytes += bytes;
                }
            }
        }
    }

    /// A step that moves a buffer.
    fn push(&mut self, kind: Kind, buffer: u32, bytes: u64, origin: u32) {
        let geometries = &mut self.plan.geometries;
        let geometry = *self.geometries.entry(bytes).or_insert_with(|| {
            geometries.push(Geometry {
                dims: [bytes as i64].into(),
                split: 0,
                operands: 1,
                strides: [1].into(),
                params: [].into(),
            });
            geometries.len() as u32 - 1
        });
        let first_address = self.plan.addresses.len() as u32;
        self.plan.addresses.push(Address {
            space: Space::Buffer,
            index: buffer,
            offset: 0,
        });
        self.reaches.push(Reach::whole(bytes, 0));
        self.plan.steps.push(Step {
            kind,
            origin,
            geometry,
            first_address,
            // About a gigabyte a second.
            weight: bytes.min(u64::from(u32::MAX)) as u32,
            prepared: Prepared::None,
            row: self.row,
        });
        let operations = 0;
        self.plan.costs.push(StepCost { operations, bytes });
    }

    /// A unit's own steps, on buffers where they are now.
    fn unit(&mut self, units: &Units, unit: &Unit) {
        for touch in units.touches(unit) {
            if self.stay[touch.buffer as usize] == AWAY {
                self.arrive(touch.buffer);
            }
        }
        let begin = self.next_step();
        for index in unit.steps.clone() {
            self.moved.push(self.next_step());
            let mut step = self.from.steps[index];
            self.readdress(&mut step);
            self.plan.steps.push(step);
            self.plan.costs.push(self.from.costs[index]);
        }
        if unit.steps.is_empty() {
            self.moved.push(begin);
        }
        let last = self.next_step().saturating_sub(1).max(begin);
        for touch in units.touches(unit) {
            let stay = self.stay[touch.buffer as usize];
            let buffer = &mut self.plan.buffers[stay as usize];
            (buffer.first, buffer.last) = (buffer.first.min(begin), buffer.last.max(last));
        }
        let first = unit.steps.start;
        let begins = self
            .from
            .checks
            .partition_point(|check| (check.before as usize) < first);
        for check in &mut self.plan.checks[begins..] {
            if check.before as usize != first {
                break;
            }
            here(&self.stay, &mut check.address);
        }
    }

    fn readdress(&mut self, step: &mut Step) {
        let operands = self.plan.geometries[step.geometry as usize].operands();
        let first = step.first_address as usize;
        for address in &mut self.plan.addresses[first..first + operands] {
            here(&self.stay, address);
        }
        match &mut step.prepared {
            Prepared::Dynamic(buffer) => *buffer = self.stay[*buffer as usize],
            Prepared::Dynamics {
                buffer,
                first,
                count,
            } => {
                *buffer = self.stay[*buffer as usize];
                let parts = *first as usize..(*first + *count) as usize;
                for part in &mut self.plan.dynamic[parts] {
                    part.addresses
                        .iter_mut()
                        .for_each(|at| here(&self.stay, at));
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> (Plan, Vec<Reach>) {
        let mut plan = self.plan;
        let moved = |step: &mut u32| *step = self.moved[*step as usize];
        plan.checks
            .iter_mut()
            .for_each(|check| moved(&mut check.before));
        for fusion in &mut plan.fusions {
            let steps = fusion.end - fusion.first;
            moved(&mut fusion.first);
            fusion.end = fusion.first + steps;
        }
        // A storage has no longer one place for all of its life.
        for place in &mut plan.places {
            place.take_if(|address| address.space == Space::Buffer);
        }
        super::place(&mut plan);
        plan.memory.disk_bytes = arena::assign(&mut self.on_disk);
        let spilled = self.on_disk.iter().map(|on_disk| Spilled {
            offset: on_disk.offset,
            bytes: on_disk.bytes,
        });
        plan.spilled = spilled.collect();
        plan.memory.table_bytes = plan.table_bytes();
        (plan, self.reaches)
    }
}

/// Makes an address of a buffer one of its stay.
fn here(stay: &[u32], address: &mut Address) {
    if address.space == Space::Buffer {
        address.index = stay[address.index as usize];
    }
}
