//! Facts about this machine: its processor, caches, memory nodes and GPUs.
//!
//! Nothing here decides a result. Facts that the system does not tell are absent.

mod gpus;
mod linux;

pub use gpus::{Gpu, Gpus, NoGpus, gpus};

use std::path::Path;

/// The processor and its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// The maker's name of it: `AMD EPYC 9654 96-Core Processor`.
    pub model: Option<String>,
    /// Physical cores, of all sockets.
    pub cores: Option<usize>,
    /// Its caches, the smallest level first, data before instructions.
    pub caches: Vec<Cache>,
    /// Its memory nodes, in their order.
    pub numa_nodes: Vec<NumaNode>,
}

/// The caches of one level and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cache {
    /// 1 is next to the core.
    pub level: u32,
    /// Its content.
    pub kind: CacheKind,
    /// Bytes of one of them.
    pub bytes: u64,
    /// The number of them in the machine.
    pub count: usize,
}

/// The content of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

impl CacheKind {
    /// Its name, as Linux spells it in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Instruction => "instruction",
            Self::Unified => "unified",
        }
    }
}

/// A memory node: memory and the processors next to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaNode {
    /// Its number.
    pub index: u32,
    /// Its processors, as Linux lists them: `0-15,32-47`.
    pub cpus: String,
    /// Its memory.
    pub memory_bytes: Option<u64>,
}

/// The processor of this machine.
#[must_use]
pub fn processor() -> Processor {
    linux::processor(Path::new("/"))
}
