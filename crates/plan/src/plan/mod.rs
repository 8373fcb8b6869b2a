//! The parts of a plan. It has no pointers and no data: everything is an index or an offset.

mod memory;
mod resident;
mod step;

pub(crate) use memory::GATHERED_BYTES;
pub use memory::{Arena, Buffer, Constant, Download, Home};
pub use resident::Resident;
pub use step::{
    Address, Check, FunctionCall, Geometry, Prepared, Space, Step, StepCost, Way, Work,
};

use crate::fuse::{Candidate, Fusion};
use crate::graph::{GRAIN_NS, Graph};
use crate::layout::Layout;
use crate::placement::Elsewhere;
use crate::queues::{Queue, Wait};
use crate::segments::Segment;
use crate::{Memory, format_bytes};
use cloakwork_devices::{Capabilities, Driver, Drivers};
use cloakwork_ir::{DType, Device, View};
use cloakwork_kernels::{Isa, KernelRow};
use cloakwork_passes::Extent;
use cloakwork_verify::{ValueId, Verified};
use std::ops::Range;
use std::sync::Arc;

/// The target and the settings of planning.
#[derive(Clone, Debug)]
pub struct Options {
    /// The processor features that kernels may use.
    pub isa: Isa,
    /// Number of worker threads of a run: scratch memory is counted for each.
    pub threads: usize,
    /// Memory budget of a run: buffers with a distant next use are spilled to disk, or the plan is
    /// refused.
    pub memory_budget_bytes: Option<u64>,
    /// Budgets of single devices; the program's own budgets apply to devices that are not listed.
    pub device_budgets: Vec<(Device, u64)>,
    /// The device of steps for which the program names none. A program that names `gpu:<i>` is
    /// bound to it instead: `gpu:0` is this device, `gpu:1` the next one of its driver.
    pub device: Device,
    /// Further devices of the driver of `device`, equal to it: steps that do not need each other's
    /// results are spread over all of them.
    pub peers: Vec<Device>,
    /// Divide long steps between the devices where the run then ends earlier. Everywhere, for
    /// tests: each step that can be divided. Results are the same.
    pub divide: Extent,
    /// The device to which planning has bound `gpu:0`; `None`: the processor serves it.
    pub gpus: Option<Device>,
    /// Inputs that devices hold, and the device that keeps the results.
    pub resident: Resident,
    /// Let steps run on the host whose kernels a device lacks, or that cost less there. Otherwise
    /// a step that must run on the host is an error, and expansions are chosen whatever they cost.
    pub fallback: bool,
    /// The driver of each device.
    pub drivers: Drivers,
    /// Store tensors whose last axis runs over moduli with that axis outermost. Otherwise every
    /// buffer has the layout of HEAL's runtime. Results are the same.
    pub limb_major: bool,
    /// Run element-wise steps over the same elements block by block together. Otherwise each step
    /// ends before the next, and all its writes can be inspected. Results are the same.
    pub fuse: bool,
    /// Small steps are gathered into tasks up to this many estimated nanoseconds. 0, for tests:
    /// each step is a task. Results are the same.
    pub grain_ns: u64,
    /// Run the passes of `cloakwork_passes` first. A program that would then need more memory or
    /// disk is planned as it is. Results are the same.
    pub optimize: bool,
}

impl Options {
    /// The preferred kernel of a device for these types.
    pub(crate) fn kernel(
        &self,
        device: Device,
        kernel: &str,
        types: [DType; 2],
    ) -> Option<&'static KernelRow> {
        let (driver, index) = self.drivers.of(device);
        driver.select(index, (kernel, types), self.isa)
    }

    /// The wanted device of a tensor: the one that the program names, or that of the whole program.
    #[must_use]
    pub fn device_of(&self, own: Device) -> Device {
        match (own, self.gpus) {
            (Device::Cpu, _) => self.device,
            (Device::Gpu(index), Some(first)) => first.sibling(index).unwrap_or(own),
            (device, _) => device,
        }
    }

    /// The defaults for a processor and a number of threads: no budget, no passes.
    #[must_use]
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self {
            isa,
            threads,
            memory_budget_bytes: None,
            device_budgets: Vec::new(),
            device: Device::Cpu,
            peers: Vec::new(),
            divide: Extent::WherePaid,
            gpus: None,
            resident: Resident::default(),
            fallback: true,
            drivers: Drivers::default(),
            limb_major: true,
            fuse: true,
            grain_ns: GRAIN_NS,
            optimize: false,
        }
    }
}

/// A program ready to run: steps in order, operands resolved to offsets.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program it was made from. Composite ops are already expanded.
    pub verified: Arc<Verified>,
    /// The program before the passes, if they changed it: reports take names from it.
    pub given: Option<Arc<Verified>>,
    /// For each step of the planned program, the step of the program as given.
    pub origins: Option<Arc<[u32]>>,
    /// The options it was made with.
    pub options: Options,
    /// Launches, transfers and host calls, in order.
    pub steps: Vec<Step>,
    /// Cost of each step.
    pub costs: Vec<StepCost>,
    /// Steps that run fused, in order.
    pub fusions: Vec<Fusion>,
    /// The fusion facts of their members.
    pub fused: Vec<Candidate>,
    /// Iteration spaces.
    pub geometries: Vec<Geometry>,
    /// Operands of all steps, each step's followed by the blocks that are prepared for its launch.
    pub addresses: Vec<Address>,
    /// The arenas that hold buffers; the host's is the first.
    pub arenas: Vec<Arena>,
    /// Buffers with their offsets.
    pub buffers: Vec<Buffer>,
    /// Integer operands, each as eight little-endian bytes.
    pub pool: Vec<i64>,
    /// Constants that are computed before the first run; each may read earlier ones.
    pub constants: Vec<Constant>,
    /// Results, in order of their steps.
    pub downloads: Vec<Download>,
    /// Content checks of host steps.
    pub checks: Vec<Check>,
    /// Calls of the caller's functions, which run in their order.
    pub calls: Vec<FunctionCall>,
    /// The executors of steps: the host, and the queues of devices.
    pub queues: Vec<Queue>,
    /// Waits of queues, in order of the steps before which they happen.
    pub waits: Vec<Wait>,
    /// The steps after which events are recorded, in order.
    pub events: Vec<u32>,
    /// Launches that drivers get together, in order.
    pub segments: Vec<Segment>,
    /// The program's steps that run on the host although a device was wanted, in order.
    pub elsewhere: Vec<Elsewhere>,
    /// Number of steps that are divided between the devices of the run.
    pub divided: u32,
    /// Dependencies between steps; `None` for a plan of one thread, or with queues.
    pub graph: Option<Graph>,
    /// Number of storages that are stored limb-major.
    pub limb_major_storages: u32,
    /// Physical views, where they differ from the logical views.
    pub(crate) layout: Layout,
    /// Address of each storage; `None` if no step touches it.
    pub(crate) places: Vec<Option<Address>>,
    /// Memory that a run needs.
    pub memory: Memory,
}

/// Memory that a run keeps of each step beside the plan: a resolved launch.
const LAUNCH_BYTES: usize = 48;

impl Plan {
    /// The operands of a step, followed by the blocks that are prepared for its launch: indices
    /// into [`Plan::addresses`].
    #[must_use]
    pub fn addresses_of(&self, step: &Step) -> Range<usize> {
        let first = step.first_address as usize;
        let operands = self.geometries[step.geometry as usize].operands();
        first..first + operands + step.prepared().count()
    }

    /// The step that reads the status word of a check.
    #[must_use]
    pub fn step_of_check(&self, check: u32) -> Option<usize> {
        let reads = |step: &Step| matches!(step.work, Work::Check(own) if own == check);
        self.steps.iter().position(reads)
    }

    /// The memory that holds a buffer.
    #[must_use]
    pub fn home(&self, buffer: &Buffer) -> Home {
        self.arenas[buffer.arena as usize].home
    }

    /// The device of an address; the host for memory that no run writes, unless a device holds it.
    #[must_use]
    pub fn home_of(&self, address: &Address) -> Home {
        match address.space {
            Space::Buffer => self.home(&self.buffers[address.index as usize]),
            Space::Constant => {
                let constant = &self.constants[address.index as usize];
                self.arenas[constant.arena as usize].home
            }
            Space::Status => {
                let check = &self.checks[address.index as usize];
                self.arenas[check.arena as usize].home
            }
            Space::Host | Space::Output => {
                let device = self.options.resident.device(address);
                device.map_or(Home::HOST, Home::Device)
            }
            Space::Pool | Space::Slot | Space::Null => Home::HOST,
        }
    }

    /// The arena on whose device an address lies; 0 for memory that the host reaches.
    #[must_use]
    pub fn arena_of(&self, address: &Address) -> u16 {
        let home = self.home_of(address);
        if !self.is_away(home) {
            return 0;
        }
        let found = self.arenas.iter().position(|arena| arena.home == home);
        found.unwrap_or(0) as u16
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

    /// The preferred kernel of a memory's device for these types.
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

    /// Whether buffers are spilled to disk.
    #[must_use]
    pub fn spills(&self) -> bool {
        self.arenas
            .iter()
            .any(|arena| arena.home == Home::Spill && arena.bytes > 0)
    }

    /// The memory that a run needs, as text; with several devices also the memory of each.
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

    /// The address of a value's first element during its lifetime, and its physical view, whose
    /// offset is included in the address.
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
