//! Spreads free storages over equal devices, with the steps that write them.
//!
//! Steps are taken in their order. One that writes a storage for the first time goes, with the
//! storage, to the device on which it would end first: when that device is free and the operands
//! are there. So steps that need no results of each other share the devices, and a chain stays on
//! one, unless moving to another pays the transfers through the host. Where two devices are alike,
//! the one that has more of the operands gets the step. The devices are equal, so results are.
//! [`super::divide`] has divided long steps before.

use super::assumed;
use super::facts::{Facts, Origin, Stored, Task};
use crate::Options;
use cloakwork_devices::Costs;
use cloakwork_ir::Device;

/// Gives storages on the first device their devices, or the host: a tensor that the host alone
/// reads, after steps copied it together from several others, and an input of another layout that
/// several devices read.
pub(super) fn spread(facts: &Facts, options: &Options, homes: &mut [Device]) {
    let spread = Spread::of(facts, options);
    let mut devices = vec![options.device];
    devices.extend(&options.peers);
    for (index, home) in homes.iter_mut().enumerate() {
        let stored = &facts.storages[index];
        if !stored.is_free || !stored.away {
            continue;
        }
        if spread.is_gathered[index] {
            *home = Device::Cpu;
        } else if let Some(ready) = spread.ready[index] {
            *home = devices[ready.device];
        }
    }
    let mut readers: Vec<Option<Device>> = vec![None; homes.len()];
    for task in &facts.tasks {
        let device = homes[task.result];
        for &operand in &task.reads {
            let stored = &facts.storages[operand];
            let is_input = stored.origin == Origin::Run && stored.writers.is_empty();
            if !stored.is_free || !stored.away || !is_input {
                continue;
            }
            let known = readers[operand].get_or_insert(device);
            if *known != device {
                homes[operand] = Device::Cpu;
            }
        }
    }
}

/// When the last device would be done.
pub(super) fn end_ns(facts: &Facts, options: &Options) -> u64 {
    let spread = Spread::of(facts, options);
    spread.free_ns.into_iter().max().unwrap_or(0)
}

/// Whether only the host reads a storage, which steps copied together from others.
fn is_gathered(facts: &Facts, stored: &Stored) -> bool {
    let tasks = || {
        stored
            .writers
            .iter()
            .map(|&writer| &facts.tasks[writer as usize])
    };
    let mut sources = tasks().flat_map(|task| &task.reads);
    let first = sources.next();
    stored.readers[1] == 0
        && tasks().all(|task| task.moves && !task.keeps)
        && sources.any(|source| Some(source) != first)
}

/// When a storage's contents are there, and on which device.
#[derive(Clone, Copy)]
struct Ready {
    device: usize,
    at_ns: u64,
}

struct Spread<'a> {
    facts: &'a Facts,
    costs: &'a Costs,
    /// When each device has done the work that was given to it.
    free_ns: Vec<u64>,
    ready: Vec<Option<Ready>>,
    is_gathered: Vec<bool>,
}

impl<'a> Spread<'a> {
    fn of(facts: &'a Facts, options: &'a Options) -> Self {
        let (driver, _) = options.drivers.of(options.device);
        let gathered = facts
            .storages
            .iter()
            .map(|stored| is_gathered(facts, stored));
        let mut spread = Self {
            facts,
            costs: driver.costs(),
            free_ns: vec![0; options.peers.len() + 1],
            ready: vec![None; facts.storages.len()],
            is_gathered: gathered.collect(),
        };
        for task in &facts.tasks {
            spread.place(task);
        }
        spread
    }

    fn place(&mut self, task: &Task) {
        let stored = &self.facts.storages[task.result];
        if !stored.is_free || !self.facts.is_away(task) || self.is_gathered[task.result] {
            return;
        }
        let fixed = self.ready[task.result].map(|ready| ready.device);
        let candidates = 0..self.free_ns.len();
        let candidates = candidates.filter(|&device| fixed.is_none_or(|fixed| fixed == device));
        let best = candidates.min_by_key(|&device| {
            let (end_ns, moved) = self.end_ns(task, device);
            (end_ns, moved, device)
        });
        let Some(device) = best else { return };
        let (at_ns, _) = self.end_ns(task, device);
        self.free_ns[device] = at_ns;
        self.ready[task.result] = Some(Ready { device, at_ns });
    }

    /// When a step would end on a device, and the bytes that would come from others.
    fn end_ns(&self, task: &Task, device: usize) -> (u64, u64) {
        let mut begin_ns = self.free_ns[device];
        let mut moved = 0u64;
        for &operand in &task.reads {
            let Some(ready) = self.ready[operand] else {
                continue;
            };
            let mut at_ns = ready.at_ns;
            if ready.device != device {
                let bytes = self.facts.storages[operand].read_bytes;
                at_ns = at_ns.saturating_add(self.between_ns(bytes));
                moved = moved.saturating_add(bytes);
            }
            begin_ns = begin_ns.max(at_ns);
        }
        let own_ns = assumed::computing_ns(self.costs, task).max(1);
        (begin_ns.saturating_add(own_ns), moved)
    }

    /// From one device to another, through the host.
    fn between_ns(&self, bytes: u64) -> u64 {
        let down = assumed::download_ns(self.costs, bytes);
        down.saturating_add(assumed::upload_ns(self.costs, bytes))
    }
}
