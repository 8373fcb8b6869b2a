//! What a plan consists of. No pointers, no data: everything is an index or an offset.

use crate::fuse::{Candidate, Fusion};
use crate::graph::{GRAIN_NS, Graph};
use crate::layout::Layout;
use crate::{Memory, format_bytes};
use cloakwork_ir::{DType, Device, HostId, Type, View};
use cloakwork_kernels::{Isa, KernelRow};
use cloakwork_ops::ContentCheck;
use cloakwork_verify::{ValueId, Verified};
use std::sync::Arc;

/// What to plan for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The best instruction set that may be used.
    pub isa: Isa,
    /// Worker threads that will run it: scratch memory is counted for each.
    pub threads: usize,
    /// The most that a run may need: buffers that wait long wait on disk, or the plan is refused.
    pub memory_budget_bytes: Option<u64>,
    /// The same of single devices; the program's own numbers count for those that are not here.
    pub device_budgets: Vec<(Device, u64)>,
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
    /// The ordinary ones for a processor and so many threads: no budget, and each step of the
    /// program planned as it is.
    #[must_use]
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self {
            isa,
            threads,
            memory_budget_bytes: None,
            device_budgets: Vec::new(),
            limb_major: true,
            fuse: true,
            grain_ns: GRAIN_NS,
            optimize: false,
        }
    }
}

/// Which memory an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// A buffer of the arena: index into [`Plan::buffers`].
    Buffer,
    /// A host tensor of the program or an input of the run: a [`HostId`].
    Host,
    /// A host tensor of the program in another layout: index into [`Plan::constants`].
    Constant,
    /// What the run hands out: index into [`Plan::downloads`].
    Output,
    /// An integer operand: index into [`Plan::pool`].
    Pool,
    /// A block of a fusion, in the scratch memory of the thread that computes it.
    Slot,
    /// Nowhere: an operand that is absent.
    Null,
}

/// Where an operand begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Which memory.
    pub space: Space,
    /// Which one of it.
    pub index: u32,
    /// Bytes from its start.
    pub offset: i64,
}

impl Address {
    /// An absent operand.
    pub const NULL: Self = Self {
        space: Space::Null,
        index: 0,
        offset: 0,
    };
}

/// An iteration space with the strides of all operands; shared by steps that have the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Sizes, outermost first.
    pub dims: Box<[i64]>,
    /// How many of the first dimensions enumerate units.
    pub split: u32,
    /// How many operands.
    pub(crate) operands: u32,
    /// Operands times dimensions, in elements.
    pub strides: Box<[i64]>,
    /// Integers whose meaning is the kernel's.
    pub params: Box<[i64]>,
}

impl Geometry {
    /// Number of independent units.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.dims
            .iter()
            .take(self.split as usize)
            .map(|&d| d as u64)
            .product()
    }

    /// Number of operands, also where there are no dimensions and so no strides.
    #[must_use]
    pub fn operands(&self) -> usize {
        self.operands as usize
    }
}

/// Where a step's prepared constants come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prepared {
    /// The kernel needs none.
    None,
    /// Derived once a plan: index into [`Plan::prepared`].
    Constant(u32),
    /// The same for a row that has constants for each index of an axis: the first of so many
    /// entries of [`Plan::prepared_units`].
    Constants {
        /// The first entry.
        first: u32,
        /// How many indices.
        count: u32,
    },
    /// Derived before each run of the step, into this buffer.
    Dynamic(u32),
    /// The same for each index of an axis: entries of [`Plan::dynamic`]. Pointers to the constants
    /// come first in the buffer.
    Dynamics {
        /// The buffer.
        buffer: u32,
        /// The first entry.
        first: u32,
        /// How many indices.
        count: u32,
    },
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Calls its kernel.
    Kernel,
    /// Writes a buffer, its operand, to disk: index into [`Plan::spilled`].
    ToDisk(u32),
    /// Reads a buffer, its operand, from there.
    FromDisk(u32),
    /// Calls a function of the caller's: index into [`Plan::calls`].
    Function(u32),
}

/// Where a buffer lies in the file of a run that spills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spilled {
    /// Bytes from the file's start.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A call of a function of the caller's.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// Which function.
    pub function: u32,
    /// Which call.
    pub call: u32,
    /// Which of its results.
    pub result: u32,
    /// The step's operands, the result first: types, and strides from their addresses on.
    pub operands: Vec<(DType, View)>,
}

/// One kernel call, or a buffer's way to disk or back.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What it does.
    pub kind: Kind,
    /// The program's step that it serves.
    pub origin: u32,
    /// Index into [`Plan::geometries`].
    pub geometry: u32,
    /// First operand's index in [`Plan::addresses`].
    pub first_address: u32,
    /// About how long it takes, in nanoseconds on one core: decides how far to split it.
    pub weight: u32,
    /// Prepared constants.
    pub prepared: Prepared,
    /// The kernel; one that moves bytes where it calls none.
    pub row: &'static KernelRow,
}

impl Step {
    /// What it is called in plans and traces.
    #[must_use]
    pub fn symbol(&self) -> &'static str {
        match self.kind {
            Kind::Kernel => self.row.symbol,
            Kind::ToDisk(_) => "to_disk",
            Kind::FromDisk(_) => "from_disk",
            Kind::Function(_) => "call_function",
        }
    }
}

/// What a step does, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// Elementary operations.
    pub operations: u64,
    /// Bytes read and written, each operand's elements once.
    pub bytes: u64,
}

/// A place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes.
    pub bytes: u64,
    /// Bytes from the arena's start; a multiple of 64.
    pub offset: u64,
    /// First step that touches it.
    pub first: u32,
    /// Last step that touches it.
    pub last: u32,
    /// Whose memory it is in.
    pub device: Device,
}

/// Constants to derive once.
#[derive(Clone, Debug)]
pub struct PreparedConstant {
    /// The kernel whose `prepare` derives them.
    pub row: &'static KernelRow,
    /// Its geometry.
    pub geometry: u32,
    /// Addresses of all operands; null where `prepare` does not read them.
    pub addresses: Box<[Address]>,
    /// Size of the result.
    pub bytes: u64,
}

/// A tensor of the program that no step writes, in the layout that steps read it in.
#[derive(Clone, Debug)]
pub struct Relaid {
    /// The kernel that copies it.
    pub row: &'static KernelRow,
    /// Its geometry: the copy, then the tensor.
    pub geometry: u32,
    /// The tensor.
    pub source: Address,
    /// Bytes of the copy.
    pub bytes: u64,
}

/// A tensor that a run hands out.
#[derive(Clone, Debug)]
pub struct Download {
    /// The program's step, as steps of the plan name theirs.
    pub origin: u32,
    /// The program's host slot: its expected value or its name.
    pub host: HostId,
    /// What it is.
    pub ty: Type,
}

/// Contents that only a run can check.
#[derive(Clone, Debug)]
pub struct Check {
    /// The step of the plan before which it must hold; their number: at the end.
    pub before: u32,
    /// The program's step.
    pub origin: u32,
    /// The rule.
    pub rule: ContentCheck,
    /// Where the operand lies.
    pub address: Address,
    /// Its type and physical strides (the offset is in the address).
    pub view: View,
    /// Its dtype.
    pub dtype: DType,
    /// The bound that the rule needs, if any: a permutation's length, an axis' size.
    pub bound: i64,
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
    /// Kernel calls, in order.
    pub steps: Vec<Step>,
    /// What each step does.
    pub costs: Vec<StepCost>,
    /// Steps that run together, in order.
    pub fusions: Vec<Fusion>,
    /// The operands of their members.
    pub fused: Vec<Candidate>,
    /// Iteration spaces.
    pub geometries: Vec<Geometry>,
    /// Operands of all steps.
    pub addresses: Vec<Address>,
    /// The arena's buffers.
    pub buffers: Vec<Buffer>,
    /// Integer operands, each as eight little-endian bytes.
    pub pool: Vec<i64>,
    /// Tensors of the program to lay out otherwise before the first run.
    pub constants: Vec<Relaid>,
    /// Constants to derive before the first run.
    pub prepared: Vec<PreparedConstant>,
    /// Those of each index of an axis, launch by launch: indices into [`Plan::prepared`].
    pub prepared_units: Vec<u32>,
    /// Constants that a step derives before it runs, where it has several.
    pub dynamic: Vec<PreparedConstant>,
    /// Results, in order of their steps.
    pub downloads: Vec<Download>,
    /// Contents to check while running, in order of their steps.
    pub checks: Vec<Check>,
    /// Buffers that wait on disk.
    pub spilled: Vec<Spilled>,
    /// Calls of functions of the caller's, which all run in their order.
    pub calls: Vec<FunctionCall>,
    /// Which steps wait for which; none for a plan of one thread.
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
    /// What each device's part of the arena takes, in order; no two devices share a place.
    #[must_use]
    pub fn arenas(&self) -> Vec<(Device, u64)> {
        crate::arena::parts(&self.buffers)
    }

    /// What a run needs, in words; with several devices also what each of them holds.
    #[must_use]
    pub fn memory_text(&self) -> String {
        let mut text = self.memory.to_string();
        let arenas = self.arenas();
        if arenas.len() > 1 {
            let part = |(device, bytes): (Device, u64)| format!("{device} {}", format_bytes(bytes));
            let parts: Vec<String> = arenas.into_iter().map(part).collect();
            text = format!("{text}; of the arena {}", parts.join(", "));
        }
        text
    }

    /// Bytes that wait on disk, each buffer once.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        let bytes = self.spilled.iter().map(|spilled| spilled.bytes);
        bytes.fold(0, u64::saturating_add)
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
