//! The plan with the steps that move buffers, and with one buffer for each residence in memory.

use super::choose::Move;
use super::units::{Unit, Units};
use crate::arena;
use crate::graph::Reach;
use crate::plan::{Address, Buffer, Geometry, Home, Plan, Space, Step, StepCost, Way, Work};
use cloakwork_ir::Lifetime;
use rustc_hash::FxHashMap;

/// A buffer that is not in memory.
const AWAY: u32 = u32::MAX;

struct Rewriter<'a> {
    from: &'a Plan,
    plan: Plan,
    reaches: Vec<Reach>,
    /// The current buffer of each original buffer.
    stay: Vec<u32>,
    /// The spill-file buffer of each original buffer.
    spilled: Vec<Option<u32>>,
    /// The arena of spilled buffers.
    disk: u16,
    geometries: FxHashMap<u64, u32>,
    /// The new number of each step.
    moved: Vec<u32>,
}

/// A plan that includes the moves, with offsets in memory and on disk.
pub(super) fn rewrite(
    plan: &Plan,
    reaches: &[Reach],
    units: &Units,
    moves: &[(u32, Move)],
) -> (Plan, Vec<Reach>) {
    let mut rewriter = Rewriter::new(plan, reaches);
    let mut moves = moves.iter().peekable();
    for (index, unit) in (0u32..).zip(&units.all) {
        let origin = plan.steps.get(unit.steps.start).or(plan.steps.last());
        let origin = origin.map_or(0, |step| step.origin);
        while let Some((_, one)) = moves.next_if(|(before, _)| *before == index) {
            rewriter.make(*one, origin);
        }
        rewriter.unit(units, unit);
    }
    rewriter.finish()
}

impl<'a> Rewriter<'a> {
    fn new(from: &'a Plan, reaches: &[Reach]) -> Self {
        let mut plan = from.clone();
        (plan.steps, plan.costs, plan.buffers) = (Vec::new(), Vec::new(), Vec::new());
        let disk = arena::of(&mut plan.arenas, Home::Spill);
        Self {
            from,
            plan,
            reaches: reaches.to_vec(),
            stay: vec![AWAY; from.buffers.len()],
            spilled: vec![None; from.buffers.len()],
            disk,
            geometries: FxHashMap::default(),
            moved: Vec::new(),
        }
    }

    fn next_step(&self) -> u32 {
        self.plan.steps.len() as u32
    }

    /// Starts a buffer's residence in memory.
    fn arrive(&mut self, buffer: u32) -> u32 {
        let now = self.next_step();
        self.stay[buffer as usize] = self.plan.buffers.len() as u32;
        self.plan.buffers.push(Buffer {
            offset: 0,
            life: Lifetime::at(now),
            ..self.from.buffers[buffer as usize]
        });
        self.stay[buffer as usize]
    }

    fn make(&mut self, one: Move, origin: u32) {
        match one {
            Move::Leave(buffer) => self.stay[buffer as usize] = AWAY,
            Move::Out(buffer) => {
                let Buffer { bytes, .. } = self.from.buffers[buffer as usize];
                let place = self.on_disk(buffer);
                let stay = std::mem::replace(&mut self.stay[buffer as usize], AWAY);
                self.transfer(Way::ToDisk, [place, stay], bytes, origin);
                self.plan.memory.spilled_bytes += bytes;
            }
            Move::In(buffer) => {
                let Buffer { bytes, .. } = self.from.buffers[buffer as usize];
                let stay = self.arrive(buffer);
                if let Some(place) = self.spilled[buffer as usize] {
                    self.transfer(Way::FromDisk, [stay, place], bytes, origin);
                    self.plan.memory.reloaded_bytes += bytes;
                }
            }
        }
    }

    /// The buffer's counterpart in the spill file.
    fn on_disk(&mut self, buffer: u32) -> u32 {
        let now = self.next_step();
        let buffers = &mut self.plan.buffers;
        let Buffer { bytes, .. } = self.from.buffers[buffer as usize];
        *self.spilled[buffer as usize].get_or_insert_with(|| {
            buffers.push(Buffer {
                bytes,
                offset: 0,
                life: Lifetime::at(now),
                arena: self.disk,
            });
            buffers.len() as u32 - 1
        })
    }

    /// A step that copies a whole buffer to another.
    fn transfer(&mut self, way: Way, buffers: [u32; 2], bytes: u64, origin: u32) {
        let now = self.next_step();
        let geometries = &mut self.plan.geometries;
        let geometry = *self.geometries.entry(bytes).or_insert_with(|| {
            geometries.push(Geometry::of_bytes(bytes, 2));
            geometries.len() as u32 - 1
        });
        let first_address = self.plan.addresses.len() as u32;
        for buffer in buffers {
            self.plan.buffers[buffer as usize].life.extend(now);
            self.plan.addresses.push(Address::of_buffer(buffer));
            self.reaches.push(Reach::whole(bytes, 0));
        }
        let weight_ns = way.ns(self.plan.driver(Home::Spill), bytes);
        self.plan.steps.push(Step {
            work: Work::Transfer(way),
            origin,
            geometry,
            first_address,
            weight: weight_ns.min(u64::from(u32::MAX)) as u32,
            queue: 0,
        });
        let operations = 0;
        self.plan.costs.push(StepCost { operations, bytes });
    }

    /// Adds a unit's own steps, on the current buffers.
    fn unit(&mut self, units: &Units, unit: &Unit) {
        for touch in units.touches(unit) {
            if self.stay[touch.buffer as usize] == AWAY {
                self.arrive(touch.buffer);
            }
        }
        let begin = self.next_step();
        for index in unit.steps.clone() {
            self.moved.push(self.next_step());
            let step = self.from.steps[index];
            self.readdress(&step);
            self.plan.steps.push(step);
            self.plan.costs.push(self.from.costs[index]);
        }
        let last = self.next_step().saturating_sub(1).max(begin);
        for touch in units.touches(unit) {
            let stay = self.stay[touch.buffer as usize];
            let life = &mut self.plan.buffers[stay as usize].life;
            life.extend(begin);
            life.extend(last);
        }
    }

    /// Redirects a step's operands to the current buffers.
    fn readdress(&mut self, step: &Step) {
        for address in &mut self.plan.addresses[self.from.addresses_of(step)] {
            if address.space == Space::Buffer {
                address.index = self.stay[address.index as usize];
            }
        }
    }

    fn finish(self) -> (Plan, Vec<Reach>) {
        let mut plan = self.plan;
        let moved = |step: &mut u32| *step = self.moved[*step as usize];
        for fusion in &mut plan.fusions {
            let steps = fusion.end - fusion.first;
            moved(&mut fusion.first);
            fusion.end = fusion.first + steps;
        }
        // A spilled storage has no single address over its whole life.
        for place in &mut plan.places {
            place.take_if(|address| address.space == Space::Buffer);
        }
        super::place(&mut plan);
        plan.memory.table_bytes = plan.table_bytes();
        (plan, self.reaches)
    }
}
