//! Chooses the storages that lie on the host because that costs less.
//!
//! Free storages that only the host can write lie there. The program begins with every other one on
//! the device. Storages are then examined one by one, in the order in which they are first written
//! and then backwards: a storage moves to the other side, with all steps that write it, if these
//! steps and the transfers around them cost less there. This is greedy: a chain of small steps
//! moves over from either end, step by step, while two storages that would have to move together
//! may both stay.

use super::facts::{Facts, Origin, Task};
use crate::Options;
use crate::graph::SPLIT_NS;
use cloakwork_devices::Costs;

/// Moves storages of a program to the side where they cost least.
pub(super) fn choose(facts: &mut Facts, options: &Options) {
    let (driver, _) = options.drivers.of(options.device);
    let mut choice = Choice {
        facts,
        costs: driver.costs(),
        threads: options.threads.max(1) as u64,
    };
    let mut order: Vec<usize> = Vec::new();
    for (index, stored) in choice.facts.storages.iter().enumerate() {
        let mut writers = stored.writers.iter();
        let stays = writers.any(|&writer| choice.facts.tasks[writer as usize].is_device_only);
        if stored.is_free && !stored.writers.is_empty() && !stays {
            order.push(index);
        }
    }
    for &storage in &order {
        if choice.is_for_host(storage) {
            choice.flip(storage);
        }
    }
    order.sort_by_key(|&storage| choice.facts.storages[storage].writers[0]);
    for &storage in order.iter().chain(order.iter().rev()) {
        let before = choice.around_ns(storage);
        choice.flip(storage);
        if choice.around_ns(storage) >= before {
            choice.flip(storage);
        }
    }
}

struct Choice<'a> {
    facts: &'a mut Facts,
    /// The costs of the device.
    costs: &'a Costs,
    threads: u64,
}

impl Choice<'_> {
    /// Whether only the host can write a storage: then it lies there, whatever the cost.
    fn is_for_host(&self, storage: usize) -> bool {
        let stored = &self.facts.storages[storage];
        let mut writers = stored.writers.iter();
        stored.away && writers.all(|&writer| !self.facts.tasks[writer as usize].can_leave())
    }

    /// All costs that change when a storage moves to the other side: its steps, its transfers, and
    /// the transfers of the storages that its steps read.
    fn around_ns(&self, storage: usize) -> u64 {
        let stored = &self.facts.storages[storage];
        let mut around = vec![storage];
        let mut ns = 0u64;
        for &writer in &stored.writers {
            let task = &self.facts.tasks[writer as usize];
            ns = ns.saturating_add(self.task_ns(task));
            around.extend(&task.reads);
        }
        around.sort_unstable();
        around.dedup();
        let moving = around.iter().map(|&one| self.moving_ns(one));
        moving.fold(ns, u64::saturating_add)
    }

    /// The cost of a step where it runs. The host splits a long step over its threads.
    fn task_ns(&self, task: &Task) -> u64 {
        if self.facts.is_away(task) {
            return task.device_ns;
        }
        let parts = (task.host_ns / SPLIT_NS).clamp(1, self.threads);
        let computing = task.host_ns / parts;
        let result = &self.facts.storages[task.result];
        if !result.away {
            return computing;
        }
        let back = self.costs.upload_ns(result.bytes);
        let there = match task.keeps {
            true => self.costs.download_ns(result.bytes),
            false => 0,
        };
        computing.saturating_add(back).saturating_add(there)
    }

    /// The cost of the transfers of a storage: to the other side, if a step reads it there, and of
    /// its initial contents.
    fn moving_ns(&self, storage: usize) -> u64 {
        let stored = &self.facts.storages[storage];
        let first = match stored.origin {
            Origin::Run if stored.away => self.costs.upload_ns(stored.bytes),
            _ => 0,
        };
        let is_read_beyond = stored.readers[usize::from(!stored.away)] > 0;
        let reading = match (is_read_beyond, stored.away) {
            (true, true) => self.costs.download_ns(stored.read_bytes),
            (true, false) if stored.origin != Origin::Plan => {
                self.costs.upload_ns(stored.read_bytes)
            }
            _ => 0,
        };
        first.saturating_add(reading)
    }

    /// Moves a storage to the other side.
    fn flip(&mut self, storage: usize) {
        let Facts {
            storages, tasks, ..
        } = &mut *self.facts;
        let away = !storages[storage].away;
        storages[storage].away = away;
        let writers = storages[storage].writers.clone();
        let moving = writers.iter().map(|&writer| &tasks[writer as usize]);
        for task in moving.filter(|task| task.can_leave()) {
            for &operand in &task.reads {
                let readers = &mut storages[operand].readers;
                readers[usize::from(!away)] -= 1;
                readers[usize::from(away)] += 1;
            }
        }
    }
}
