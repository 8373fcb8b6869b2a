//! Constants that a run uploads again, shortly before their use: a device need not hold them all.
//!
//! A device keeps the constants of a plan from run to run. A program that uploads a tensor after it
//! began to compute, and frees it, says how long the device is to have it; a plan that would
//! otherwise exceed a budget does so with every large constant.

use super::Builder;
use crate::plan::{Address, GATHERED_BYTES};
use cloakwork_ir::{Arg, Device, HostId, HostSlot, Program, Step, Symbol};
use cloakwork_verify::{Action, StorageId, Verified};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The host tensors that runs upload again.
pub(super) type Streamed = FxHashSet<HostId>;

/// The host tensors that a program uploads after it began to compute, once, and frees.
pub(super) fn freed(verified: &Verified) -> Streamed {
    let mut names = Names::default();
    let mut uploads: FxHashMap<HostId, u32> = FxHashMap::default();
    let mut actions = verified.actions().iter().peekable();
    let mut has_begun = false;
    for (index, step) in (0u32..).zip(&verified.program().steps) {
        while let Some((_, action)) = actions.next_if(|(at, _)| *at == index) {
            let made = action.result().and_then(|value| verified.value(value));
            match action {
                Action::Upload { host, .. } => {
                    *uploads.entry(*host).or_default() += 1;
                    if let Some(info) = made.filter(|_| has_begun) {
                        names.uploads.insert(info.storage, (*host, 0));
                    }
                }
                Action::Kernel { .. } | Action::Composite { .. } | Action::Copy { .. } => {
                    has_begun = true;
                }
                Action::Allocate { .. } | Action::View { .. } | Action::Download { .. } => {}
            }
            if let (Step::Op(op), Some(info)) = (step, made)
                && let Some(Arg::Device(name, _)) = verified.program().out(op)
            {
                names.bind(*name, info.storage);
            }
        }
        if let Step::Free(name) = step {
            names.free(*name);
        }
    }
    let is_streamed = |host: &HostId| uploads[host] == 1 && is_large(verified.program(), *host);
    names.freed.into_iter().filter(is_streamed).collect()
}

/// All host tensors of a program that are worth it.
pub(super) fn large(program: &Program) -> Streamed {
    let hosts = (0..program.hosts.len() as u32).map(HostId);
    hosts.filter(|&host| is_large(program, host)).collect()
}

fn is_large(program: &Program, host: HostId) -> bool {
    match program.host(host) {
        Some(HostSlot::Data(tensor)) => tensor.ty().size_bytes() > GATHERED_BYTES,
        _ => false,
    }
}

/// The names of storages that were uploaded late.
#[derive(Default)]
struct Names {
    storages: FxHashMap<Symbol, StorageId>,
    /// The host tensor of each, and how many names it has.
    uploads: FxHashMap<StorageId, (HostId, u32)>,
    freed: Streamed,
}

impl Names {
    fn bind(&mut self, name: Symbol, storage: StorageId) {
        if self.storages.get(&name) == Some(&storage) {
            return;
        }
        if let Some((_, count)) = self.uploads.get_mut(&storage) {
            *count += 1;
        }
        self.free(name);
        self.storages.insert(name, storage);
    }

    fn free(&mut self, name: Symbol) {
        let storage = self.storages.remove(&name);
        if let Some((host, count)) = storage.and_then(|storage| self.uploads.get_mut(&storage)) {
            *count -= 1;
            if *count == 0 {
                self.freed.insert(*host);
            }
        }
    }
}

impl Builder<'_> {
    /// Whether each run uploads a host tensor again to where a storage lies.
    pub(super) fn is_streamed(&self, host: HostId, storage: StorageId) -> bool {
        let home = crate::Home::Device(self.device_of(storage));
        self.streamed.contains(&host) && !self.placement.is_here() && self.plan.is_away(home)
    }

    /// Bytes of a streamed constant on a device. They have a place of their own from the transfer
    /// of the constant before on, so that they arrive while that one is used; two such places are
    /// all that a chain of them takes.
    pub(super) fn stream(&mut self, at: Address, range: Range<i64>, device: Device) -> Address {
        let index = self.plan.steps.len() as u32;
        let address = self.input(at, range, device);
        let before = self.last_streamed.replace(index);
        if let Some(before) = before {
            let buffer = &mut self.plan.buffers[address.index as usize];
            buffer.life.extend(before);
        }
        address
    }
}
