//! The steps of a plan: launches, transfers and host calls over addresses.

use cloakwork_devices::Driver;
use cloakwork_ir::{DType, View};
use cloakwork_kernels::{KernelRow, LaunchShape};
use cloakwork_ops::{ContentCheck, named};

/// The kind of memory of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// A buffer, which lies in an arena: index into [`crate::Plan::buffers`].
    Buffer,
    /// A host tensor of the program or an input of the run: a `HostId`.
    Host,
    /// A constant that is computed once for each plan: index into [`crate::Plan::constants`].
    Constant,
    /// A result of the run: index into [`crate::Plan::downloads`].
    Output,
    /// An integer operand: index into [`crate::Plan::pool`].
    Pool,
    /// The status word of a check, in the memory of its launch: index into
    /// [`crate::Plan::checks`].
    Status,
    /// A block of a fusion, in the scratch memory of the computing thread.
    Slot,
    /// No memory: an absent operand.
    Null,
}

/// The start of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The kind of memory.
    pub space: Space,
    /// Index among the memories of this kind.
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

    /// The start of a buffer.
    #[must_use]
    pub const fn of_buffer(index: u32) -> Self {
        Self {
            space: Space::Buffer,
            index,
            offset: 0,
        }
    }
}

/// An iteration space with the strides of all operands; steps with equal ones share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Sizes, outermost first.
    pub dims: Box<[i64]>,
    /// Number of leading dimensions that enumerate units.
    pub split: u32,
    /// Number of operands.
    pub(crate) operands: u32,
    /// Strides in elements, operands times dimensions.
    pub strides: Box<[i64]>,
    /// Integers that the kernel interprets.
    pub params: Box<[i64]>,
}

impl Geometry {
    /// `bytes` consecutive bytes, for this many operands.
    pub(crate) fn of_bytes(bytes: u64, operands: u32) -> Self {
        Self {
            dims: [bytes as i64].into(),
            split: 0,
            operands,
            strides: (0..operands).map(|_| 1).collect(),
            params: [].into(),
        }
    }

    /// The form that kernels receive.
    #[must_use]
    pub fn shape(&self) -> LaunchShape<'_> {
        LaunchShape {
            dims: &self.dims,
            strides: &self.strides,
            params: &self.params,
        }
    }

    /// Number of independent units.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.dims
            .iter()
            .take(self.split as usize)
            .map(|&d| d as u64)
            .product()
    }

    /// Number of operands; the strides alone do not tell it when there are no dimensions.
    #[must_use]
    pub fn operands(&self) -> usize {
        self.operands as usize
    }
}

/// Blocks that the kernel prepares for a launch. They are further addresses of the step, after its
/// operands: constants, or buffers that an earlier step has filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prepared {
    /// The kernel prepares nothing.
    None,
    /// One block.
    Block,
    /// One block for each index of the row's `prepared_axis`.
    Blocks(u32),
}

impl Prepared {
    /// Number of blocks.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::None => 0,
            Self::Block => 1,
            Self::Blocks(count) => count as usize,
        }
    }
}

/// The work of a step.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Runs a kernel. Operand 0 is the result.
    Launch {
        /// The kernel.
        row: &'static KernelRow,
        /// Blocks prepared for it.
        prepared: Prepared,
    },
    /// Runs the `prepare` of a kernel: operand 0 is the block that it writes, the others are the
    /// kernel's operands.
    Prepare {
        /// The kernel.
        row: &'static KernelRow,
    },
    /// Moves the bytes of operand 1 to operand 0, which lies in another arena.
    Transfer(Way),
    /// Reads the status word, operand 0, that the launch of a check wrote; operand 1 is the checked
    /// tensor. Index into [`crate::Plan::checks`].
    Check(u32),
    /// Calls one of the caller's functions on the host; operand 0 is its result. Index into
    /// [`crate::Plan::calls`].
    Function(u32),
}

impl Work {
    /// Whether it writes operand 0.
    pub(crate) const fn writes(&self) -> bool {
        !matches!(self, Self::Check(_))
    }
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the spill file of a run.
    ToDisk,
    /// Back from the spill file.
    FromDisk,
    /// From the host to a device.
    Upload,
    /// From a device to the host.
    Download,
}

impl Way {
    /// Estimated nanoseconds of a transfer to or from a driver's memory.
    pub(crate) fn ns(self, driver: &Driver, bytes: u64) -> u64 {
        match self {
            Self::ToDisk | Self::Upload => driver.costs().upload_ns(bytes),
            Self::FromDisk | Self::Download => driver.costs().download_ns(bytes),
        }
    }
}

/// One launch, transfer, check or call of a function.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The work.
    pub work: Work,
    /// The program's step that it belongs to.
    pub origin: u32,
    /// Index into [`crate::Plan::geometries`].
    pub geometry: u32,
    /// Index of the first operand in [`crate::Plan::addresses`].
    pub first_address: u32,
    /// Estimated nanoseconds on one core; decides how far the step is split.
    pub weight: u32,
    /// The queue that runs it: index into [`crate::Plan::queues`]; 0 is the host.
    pub queue: u16,
}

impl Step {
    /// The kernel that it launches.
    #[must_use]
    pub const fn row(&self) -> Option<&'static KernelRow> {
        match self.work {
            Work::Launch { row, .. } | Work::Prepare { row } => Some(row),
            Work::Transfer(_) | Work::Check(_) | Work::Function(_) => None,
        }
    }

    /// The kernel that it launches or prepares for, if any.
    #[must_use]
    pub const fn launched(&self) -> Option<&'static KernelRow> {
        match self.work {
            Work::Launch { row, .. } => Some(row),
            _ => None,
        }
    }

    /// The blocks prepared for its launch.
    #[must_use]
    pub const fn prepared(&self) -> Prepared {
        match self.work {
            Work::Launch { prepared, .. } => prepared,
            _ => Prepared::None,
        }
    }

    /// Whether it writes its operand 0.
    #[must_use]
    pub const fn writes(&self) -> bool {
        self.work.writes()
    }

    /// The symbol, followed by the action if that is not a launch.
    pub(crate) fn verb(&self) -> String {
        match self.work {
            Work::Prepare { row } => format!("prepare {}", row.symbol),
            _ => self.symbol().to_owned(),
        }
    }

    /// Its name in plans and profiles.
    #[must_use]
    pub const fn symbol(&self) -> &'static str {
        match self.work {
            Work::Launch { row, .. } | Work::Prepare { row } => row.symbol,
            Work::Transfer(Way::ToDisk) => "to_disk",
            Work::Transfer(Way::FromDisk) => "from_disk",
            Work::Transfer(Way::Upload) => "upload",
            Work::Transfer(Way::Download) => "download",
            Work::Check(_) => "check",
            Work::Function(_) => named::CALL_FUNCTION.name,
        }
    }
}

/// Cost of a step, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// Elementary operations.
    pub operations: u64,
    /// Bytes read and written; each operand's elements count once.
    pub bytes: u64,
}

/// A call of one of the caller's functions.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// Index of the function.
    pub function: u32,
    /// Index of the call.
    pub call: u32,
    /// Index of the result.
    pub result: u32,
    /// The step's operands, the result first: types, and views relative to their addresses.
    pub operands: Vec<(DType, View)>,
}

/// A check of contents that are known only during a run.
#[derive(Clone, Debug)]
pub struct Check {
    /// The rule.
    pub rule: ContentCheck,
    /// The operand's physical strides (the offset is in the address).
    pub view: View,
    /// Its dtype.
    pub dtype: DType,
    /// The bound that the rule needs, if any: a permutation's length, an axis' size.
    pub bound: i64,
    /// The arena of the device that checks it; 0 is the host.
    pub arena: u16,
}
