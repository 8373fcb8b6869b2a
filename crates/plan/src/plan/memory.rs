//! Where a plan's data lies: arenas, buffers with places in them, constants, results.

use super::step::{Address, Work};
use cloakwork_ir::{Device, HostId, Lifetime, Type};
use std::fmt;

/// Whose memory an arena is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// A device's; a disk's is a file.
    Device(Device),
    /// The file of a run in which buffers wait for which there is no room in the host's memory.
    Spill,
}

impl Home {
    /// The host's memory.
    pub const HOST: Self = Self::Device(Device::Cpu);

    /// Whether it is a file, and no part of what memory a run takes.
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

/// Memory of one device in which buffers have their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arena {
    /// Whose.
    pub home: Home,
    /// Its size.
    pub bytes: u64,
    /// The size of the block beside it, in which a device's constants lie.
    pub constant_bytes: u64,
}

impl Arena {
    /// One without bytes.
    pub(crate) const fn new(home: Home) -> Self {
        Self {
            home,
            bytes: 0,
            constant_bytes: 0,
        }
    }
}

/// A place in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes.
    pub bytes: u64,
    /// Bytes from the arena's start; a multiple of 64.
    pub offset: u64,
    /// The steps that touch it.
    pub life: Lifetime,
    /// Whose memory it is in: index into [`crate::Plan::arenas`].
    pub arena: u16,
}

/// What is computed once a plan, from tensors that no run changes: a tensor of the program in the
/// layout that steps read it in, or what a kernel prepares.
#[derive(Clone, Debug)]
pub struct Constant {
    /// What computes it: a launch or a preparation.
    pub work: Work,
    /// Its geometry.
    pub geometry: u32,
    /// Its operands without the result; null where a preparation does not read them.
    pub operands: Box<[Address]>,
    /// Size of the result.
    pub bytes: u64,
    /// Whose memory it is in: index into [`crate::Plan::arenas`], where it takes no place.
    pub arena: u16,
    /// Bytes from the start of the block of a device's constants.
    pub offset: u64,
}

/// Constants of at most so many bytes are uploaded together: copying them into one memory first is
/// cheaper than a transfer each.
const GATHERED_BYTES: u64 = 64 << 10;

impl Constant {
    /// Whether a device gets it in one transfer with others, which lie first in its block.
    #[must_use]
    pub const fn is_gathered(&self) -> bool {
        matches!(self.work, Work::Transfer(_)) && self.bytes <= GATHERED_BYTES
    }
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
