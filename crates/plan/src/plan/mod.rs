//! What a plan consists of. No pointers, no data: everything is an index or an offset.

mod memory;
mod step;

pub use memory::{Arena, Buffer, Constant, Download, Home};
pub use step::{
    Address, Check, FunctionCall, Geometry, HostCall, Prepared, Space, Step, StepCost, Way, Work,
};

use crate::fuse::{Candidate, Fusion};
use crate::graph::{GRAIN_NS, Graph};
use crate::layout::Layout;
use crate::placement::Elsewhere;
use crate::queues::{Queue, Wait};
use crate::{Memory, format_bytes};
use cloakwork_devices::{Capabilities, Driver, Drivers};
use cloakwork_ir::{DType, Device, View};
use cloakwork_kernels::{Isa, KernelRow};
use cloakwork_verify::{ValueId, Verified};
use std::ops::Range;
use std::sync::Arc;

/// What to plan for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The features of processors that kernels may use.
    pub isa: Isa,
    /// Worker threads that will run it: scratch memory is counted for each.
    pub threads: usize,
    /// The most that a run may need: buffers that wait long wait on disk, or the plan is refused.
    pub memory_budget_bytes: Option<u64>,
    /// The same of single devices; the program's own numbers count for those that are not here.
    pub device_budgets: Vec<(Device, u64)>,
    /// Where a program computes that does not say so itself.
    pub device: Device,
    /// Which driver serves which device.
    pub drivers: Drivers,
    /// Store tensors whose last axis runs over moduli with that axis outermost. Off, every buffer
    /// has the layout that HEAL's runtime would give it; results are the same.
    pub limb_major: bool,
    /// Run element-wise steps over the same elements block by block together. Off, each step is
    /// done before the next, and all it wrote is there to be looked at; results are the same.
    pub fuse: bool,
    /// Small steps become one task up to so many estimated nanoseconds. 0: each is a task, which
    /// is for tests; results are the same.
    pub grain_ns: u64,
    /// Let passes clean the program first (`cloakwork_passes`). A program that would need more
    /// memory or disk for it is planned as it is; results are the same.
    pub optimize: bool,
}

impl Options {
    /// The preferred kernel for these types that a device runs.
    pub(crate) fn kernel(
        &self,
        device: Device,
        kernel: &str,
        types: [DType; 2],
    ) -> Option<&'static KernelRow> {
        let (driver, index) = self.drivers.of(device);
        driver.select(index, (kernel, types), self.isa)
    }

    /// Where a tensor is wanted: on the device that the program names, or where all of the program
    /// is to compute.
    #[must_use]
    pub fn device_of(&self, own: Device) -> Device {
        match own {
            Device::Cpu => self.device,
            device => device,
        }
    }

    /// The ordinary ones for a processor and so many threads: no budget, and each step of the
    /// program planned as it is.
    #[must_use]
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self {
            isa,
            threads,
            memory_budget_bytes: None,
            device_budgets: Vec::new(),
            device: Device::Cpu,
            drivers: Drivers::default(),
            limb_major: true,
            fuse: true,
            grain_ns: GRAIN_NS,
            optimize: false,
        }
    }
}

/// A program ready to run: kernels in order, operands resolved to offsets.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was made from. Composite ops are already expanded in it.
    pub verified: Arc<Verified>,
    /// The program before passes, where they changed it: what reports take names from.
    pub given: Option<Arc<Verified>>,
    /// For each of its steps, the step of the program as given.
    pub origins: Option<Arc<[u32]>>,
    /// What it was made for.
    pub options: Options,
    /// Launches, transfers and host calls, in order.
    pub steps: Vec<Step>,
    /// What each step costs.
    pub costs: Vec<StepCost>,
    /// Steps that run together, in order.
    pub fusions: Vec<Fusion>,
    /// The operands of their members.
    pub fused: Vec<Candidate>,
    /// Iteration spaces.
    pub geometries: Vec<Geometry>,
    /// Operands of all steps, each with the blocks behind them that its launch finds prepared.
    pub addresses: Vec<Address>,
    /// The memories in which buffers have their places; the host's is the first.
    pub arenas: Vec<Arena>,
    /// Buffers, each with its place.
    pub buffers: Vec<Buffer>,
    /// Integer operands, each as eight little-endian bytes.
    pub pool: Vec<i64>,
    /// What is computed before the first run; each may read those before it.
    pub constants: Vec<Constant>,
    /// Results, in order of their steps.
    pub downloads: Vec<Download>,
    /// What steps check while running.
    pub checks: Vec<Check>,
    /// Calls of functions of the caller's, which all run in their order.
    pub calls: Vec<FunctionCall>,
    /// The executors of steps: the host, and the queues of devices.
    pub queues: Vec<Queue>,
    /// What queues wait for, in order of the steps before which they do.
    pub waits: Vec<Wait>,
    /// The steps behind which events are recorded, in order.
    pub events: Vec<u32>,
    /// The program's steps that run on the host and were wanted on a device, in order.
    pub elsewhere: Vec<Elsewhere>,
    /// Which steps wait for which; none for a plan of one thread, or with queues.
    pub graph: Option<Graph>,
    /// Storages that are stored limb-major.
    pub limb_major_storages: u32,
    /// Physical views, where they differ from the logical ones.
    pub(crate) layout: Layout,
    /// Where each storage lies; none for one that no step touches.
    pub(crate) places: Vec<Option<Address>>,
    /// Bytes that a run needs.
    pub memory: Memory,
}

/// What a run keeps of a step beside the plan: a resolved launch.
const LAUNCH_BYTES: usize = 48;

impl Plan {
    /// The operands of a step, and behind them the blocks that its launch finds prepared: indices
    /// into [`Plan::addresses`].
    #[must_use]
    pub fn addresses_of(&self, step: &Step) -> Range<usize> {
        let first = step.first_address as usize;
        let operands = self.geometries[step.geometry as usize].operands();
        first..first + operands + step.prepared().count()
    }

    /// Whose memory a buffer is in.
    #[must_use]
    pub fn home(&self, buffer: &Buffer) -> Home {
        self.arenas[buffer.arena as usize].home
    }

    /// The device of an address; the host for memory that no run computes.
    #[must_use]
    pub fn home_of(&self, address: &Address) -> Home {
        match address.space {
            Space::Buffer => self.home(&self.buffers[address.index as usize]),
            Space::Constant => {
                let constant = &self.constants[address.index as usize];
                self.arenas[constant.arena as usize].home
            }
            _ => Home::HOST,
        }
    }

    /// The driver of a memory.
    #[must_use]
    pub fn driver(&self, home: Home) -> &'static Driver {
        let device = match home {
            Home::Device(device) => device,
            Home::Spill => Device::Disk(0),
        };
        self.options.drivers.of(device).0
    }

    /// The preferred kernel for these types that the device of a memory runs.
    pub(crate) fn kernel(
        &self,
        home: Home,
        kernel: &str,
        types: [DType; 2],
    ) -> Option<&'static KernelRow> {
        let Home::Device(device) = home else {
            return None;
        };
        self.options.kernel(device, kernel, types)
    }

    /// Whether only a driver reaches a memory.
    #[must_use]
    pub fn is_away(&self, home: Home) -> bool {
        !self.driver(home).has(Capabilities::HOST_MEMORY)
    }

    /// Whether buffers wait on disk.
    #[must_use]
    pub fn spills(&self) -> bool {
        self.arenas
            .iter()
            .any(|arena| arena.home == Home::Spill && arena.bytes > 0)
    }

    /// What a run needs, in words; with several devices also what each of them holds.
    #[must_use]
    pub fn memory_text(&self) -> String {
        let mut text = self.memory.to_string();
        let arenas = self.arenas.iter().filter(|arena| arena.bytes > 0);
        let arenas: Vec<_> = arenas.filter(|arena| arena.home != Home::Spill).collect();
        if arenas.len() > 1 {
            let part = |arena: &&Arena| format!("{} {}", arena.home, format_bytes(arena.bytes));
            let parts: Vec<String> = arenas.iter().map(part).collect();
            text = format!("{text}; of the arena {}", parts.join(", "));
        }
        text
    }

    /// Bytes of the flat array of steps.
    pub(crate) fn table_bytes(&self) -> u64 {
        (self.steps.len() * (size_of::<Step>() + LAUNCH_BYTES + size_of::<StepCost>())
            + self.addresses.len() * (size_of::<Address>() + size_of::<usize>())) as u64
    }

    /// Where a value's first element lies while the value lives, and its physical view, whose
    /// offset is already in the address.
    #[must_use]
    pub fn place_of(&self, value: ValueId) -> Option<(Address, View)> {
        let info = self.verified.value(value)?;
        let base = self
            .places
            .get(info.storage.0 as usize)
            .copied()
            .flatten()?;
        let view = self.layout.view(&self.verified, value).clone();
        let offset = base.offset + view.offset * info.dtype.size_bytes() as i64;
        Some((Address { offset, ..base }, view))
    }
}
