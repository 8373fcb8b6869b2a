//! Where a plan's data lies: arenas, buffers with offsets, constants, results.

use super::step::{Address, Work};
use cloakwork_ir::{Device, HostId, Lifetime, Type};
use std::fmt;

/// The memory that holds an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// A device's memory; for a disk, a file.
    Device(Device),
    /// The spill file of a run, for buffers that do not fit the host's memory.
    Spill,
}

impl Home {
    /// The host's memory.
    pub const HOST: Self = Self::Device(Device::Cpu);

    /// Whether it is a file, and not part of a run's peak memory.
    #[must_use]
    pub const fn is_file(self) -> bool {
        matches!(self, Self::Device(Device::Disk(_)) | Self::Spill)
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(device) => device.fmt(f),
            Self::Spill => f.write_str("spill"),
        }
    }
}

/// Memory of one device that holds buffers at offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arena {
    /// The memory that holds it.
    pub home: Home,
    /// Its size.
    pub bytes: u64,
    /// Size of the block beside it that holds a device's constants.
    pub constant_bytes: u64,
    /// The size of the status words of checks, if a device makes some.
    pub status_bytes: u64,
}

impl Arena {
    /// An empty arena.
    pub(crate) const fn new(home: Home) -> Self {
        Self {
            home,
            bytes: 0,
            constant_bytes: 0,
            status_bytes: 0,
        }
    }

    /// All that it takes of a device's memory.
    #[must_use]
    pub const fn device_bytes(&self) -> u64 {
        let beside = self.constant_bytes.saturating_add(self.status_bytes);
        self.bytes.saturating_add(beside)
    }
}

/// A byte range in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes.
    pub bytes: u64,
    /// Bytes from the arena's start; a multiple of 64.
    pub offset: u64,
    /// The steps that touch it.
    pub life: Lifetime,
    /// Its arena: index into [`crate::Plan::arenas`].
    pub arena: u16,
}

/// A constant that is computed once for each plan, from tensors that no run changes: a tensor of
/// the program in the layout that steps read, or a block that a kernel prepares.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The work that computes it: a launch or a preparation.
    pub work: Work,
    /// Its geometry.
    pub geometry: u32,
    /// Its operands without the result; null for those that a preparation does not read.
    pub operands: Box<[Address]>,
    /// Size of the result.
    pub bytes: u64,
    /// Its arena, in whose constant block it lies: index into [`crate::Plan::arenas`].
    pub arena: u16,
    /// Bytes from the start of the block of a device's constants.
    pub offset: u64,
}

/// Constants up to this size are uploaded together: copying them into one memory first is cheaper
/// than one transfer for each.
pub(crate) const GATHERED_BYTES: u64 = 64 << 10;

impl Constant {
    /// Whether it is uploaded together with others, which come first in the device's block.
    #[must_use]
    pub const fn is_gathered(&self) -> bool {
        matches!(self.work, Work::Transfer(_)) && self.bytes <= GATHERED_BYTES
    }
}

/// A tensor that a run returns.
#[derive(Clone, Debug)]
pub struct Download {
    /// The step of the program, as in `Step::origin`.
    pub origin: u32,
    /// The program's host slot: its expected value or its name.
    pub host: HostId,
    /// Its type.
    pub ty: Type,
}
