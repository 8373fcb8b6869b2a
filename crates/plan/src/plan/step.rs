//! What a plan does: launches, transfers and host calls over addresses.

use cloakwork_devices::Driver;
use cloakwork_ir::{DType, View};
use cloakwork_kernels::{KernelRow, LaunchShape};
use cloakwork_ops::{ContentCheck, named};

/// Which memory an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// A buffer, which has a place in an arena: index into [`crate::Plan::buffers`].
    Buffer,
    /// A host tensor of the program or an input of the run: a `HostId`.
    Host,
    /// What is computed once a plan: index into [`crate::Plan::constants`].
    Constant,
    /// What the run hands out: index into [`crate::Plan::downloads`].
    Output,
    /// An integer operand: index into [`crate::Plan::pool`].
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
    /// So many bytes one after another, under this many operands.
    pub(crate) fn of_bytes(bytes: u64, operands: u32) -> Self {
        Self {
            dims: [bytes as i64].into(),
            split: 0,
            operands,
            strides: (0..operands).map(|_| 1).collect(),
            params: [].into(),
        }
    }

    /// As kernels see it.
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

    /// Number of operands, also where there are no dimensions and so no strides.
    #[must_use]
    pub fn operands(&self) -> usize {
        self.operands as usize
    }
}

/// What a launch finds of what its kernel prepares. The blocks are further addresses of the step,
/// behind its operands: constants, or buffers that a step before has filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prepared {
    /// The kernel prepares nothing.
    None,
    /// One block.
    Block,
    /// A block for each of so many indices of the row's `prepared_axis`.
    Blocks(u32),
}

impl Prepared {
    /// How many blocks.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::None => 0,
            Self::Block => 1,
            Self::Blocks(count) => count as usize,
        }
    }
}

/// What a step does.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Runs a kernel. Operand 0 is the result.
    Launch {
        /// The kernel.
        row: &'static KernelRow,
        /// What it finds prepared.
        prepared: Prepared,
    },
    /// Runs the `prepare` of a kernel: operand 0 is the block that it writes, and the others are
    /// the kernel's operands.
    Prepare {
        /// The kernel.
        row: &'static KernelRow,
    },
    /// Moves the bytes of operand 1 to operand 0, which lies in another arena.
    Transfer(Way),
    /// Calls what only the host can do.
    Host(HostCall),
}

impl Work {
    /// Whether it writes operand 0.
    pub(crate) const fn writes(&self) -> bool {
        !matches!(self, Self::Host(HostCall::Check(_)))
    }
}

/// Which way a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the file of a run, where it waits.
    ToDisk,
    /// Back from there.
    FromDisk,
    /// From the host to a device.
    Upload,
    /// From a device to the host.
    Download,
}

impl Way {
    /// About how many nanoseconds it takes to a driver's memory or from there.
    pub(crate) fn ns(self, driver: &Driver, bytes: u64) -> u64 {
        match self {
            Self::ToDisk | Self::Upload => driver.costs().upload_ns(bytes),
            Self::FromDisk | Self::Download => driver.costs().download_ns(bytes),
        }
    }
}

/// What the host does between launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCall {
    /// Holds a rule to the contents of operand 0: index into [`crate::Plan::checks`].
    Check(u32),
    /// Calls a function of the caller's; operand 0 is its result: index into
    /// [`crate::Plan::calls`].
    Function(u32),
}

/// One launch, transfer or host call.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What it does.
    pub work: Work,
    /// The program's step that it serves.
    pub origin: u32,
    /// Index into [`crate::Plan::geometries`].
    pub geometry: u32,
    /// First operand's index in [`crate::Plan::addresses`].
    pub first_address: u32,
    /// About how long it takes, in nanoseconds on one core: decides how far to split it.
    pub weight: u32,
    /// Who does it: index into [`crate::Plan::queues`]; 0 is the host.
    pub queue: u16,
}

impl Step {
    /// The kernel that it launches.
    #[must_use]
    pub const fn row(&self) -> Option<&'static KernelRow> {
        match self.work {
            Work::Launch { row, .. } | Work::Prepare { row } => Some(row),
            Work::Transfer(_) | Work::Host(_) => None,
        }
    }

    /// The kernel that it runs, if it runs one.
    #[must_use]
    pub const fn launched(&self) -> Option<&'static KernelRow> {
        match self.work {
            Work::Launch { row, .. } => Some(row),
            _ => None,
        }
    }

    /// What its launch finds prepared.
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

    /// The same with what it does to it, where that is not to run it.
    pub(crate) fn verb(&self) -> String {
        match self.work {
            Work::Prepare { row } => format!("prepare {}", row.symbol),
            _ => self.symbol().to_owned(),
        }
    }

    /// What it is called in plans and profiles.
    #[must_use]
    pub const fn symbol(&self) -> &'static str {
        match self.work {
            Work::Launch { row, .. } | Work::Prepare { row } => row.symbol,
            Work::Transfer(Way::ToDisk) => "to_disk",
            Work::Transfer(Way::FromDisk) => "from_disk",
            Work::Transfer(Way::Upload) => "upload",
            Work::Transfer(Way::Download) => "download",
            Work::Host(HostCall::Check(_)) => "check",
            Work::Host(HostCall::Function(_)) => named::CALL_FUNCTION.name,
        }
    }
}

/// What a step costs, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// Elementary operations.
    pub operations: u64,
    /// Bytes read and written, each operand's elements once.
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

/// Contents that only a run can check.
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
    /// Operand 0 is the least and the greatest element, which a device found, and operand 1 the
    /// elements there: only if those do not show that the rule holds, the host looks at these.
    pub by_extremes: bool,
}
