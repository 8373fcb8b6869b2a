//! The bytes that a run needs, counted before it starts.

use crate::{Arena, Home};
use std::fmt;

/// Memory of a run. The program's own host tensors are counted separately: they exist already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The arenas in memory: every buffer at its offset.
    pub arena_bytes: u64,
    /// Files for the buffers that the program puts on disks; not part of the peak.
    pub file_bytes: u64,
    /// Constants that the program reads. They are mapped or allocated before the run, so budgets do
    /// not count them.
    pub constant_bytes: u64,
    /// Constants derived from operands.
    pub prepared_bytes: u64,
    /// Scratch of all worker threads.
    pub scratch_bytes: u64,
    /// Results of a run.
    pub output_bytes: u64,
    /// Copies of the arguments and results of the caller's functions, for the largest call.
    pub call_bytes: u64,
    /// The flat array of steps with its operands.
    pub table_bytes: u64,
    /// A file on disk for spilled buffers; not part of the peak.
    pub disk_bytes: u64,
    /// Bytes written to the spill file during a run.
    pub spilled_bytes: u64,
    /// Bytes read from the spill file.
    pub reloaded_bytes: u64,
}

impl Memory {
    /// Sets the sizes of the arenas.
    pub(crate) fn place(&mut self, arenas: &[Arena]) {
        let sum = |is: fn(Home) -> bool| {
            let all = arenas.iter().filter(|arena| is(arena.home));
            all.fold(0, |sum: u64, arena| sum.saturating_add(arena.bytes))
        };
        self.arena_bytes = sum(|home| !home.is_file());
        self.file_bytes = sum(|home| home.is_file() && home != Home::Spill);
        self.disk_bytes = sum(|home| home == Home::Spill);
    }

    /// The total that a budget limits.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        let rest = [
            self.prepared_bytes,
            self.scratch_bytes,
            self.output_bytes,
            self.call_bytes,
            self.table_bytes,
        ];
        rest.into_iter().fold(self.arena_bytes, u64::saturating_add)
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "peak {} (arena {}, prepared constants {}, scratch {}, results {}, step table {})",
            format_bytes(self.peak_bytes()),
            format_bytes(self.arena_bytes),
            format_bytes(self.prepared_bytes),
            format_bytes(self.scratch_bytes),
            format_bytes(self.output_bytes),
            format_bytes(self.table_bytes),
        )?;
        if self.call_bytes > 0 {
            write!(
                f,
                "; of it for user functions {}",
                format_bytes(self.call_bytes)
            )?;
        }
        if self.constant_bytes > 0 {
            write!(
                f,
                "; constants beside it {}",
                format_bytes(self.constant_bytes)
            )?;
        }
        if self.file_bytes > 0 {
            write!(f, "; allocated on disk {}", format_bytes(self.file_bytes))?;
        }
        if self.disk_bytes > 0 {
            write!(
                f,
                "; on disk {}, {} written and {} read",
                format_bytes(self.disk_bytes),
                format_bytes(self.spilled_bytes),
                format_bytes(self.reloaded_bytes),
            )?;
        }
        Ok(())
    }
}

/// Bytes with a binary unit: `1.5 MiB`.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}
