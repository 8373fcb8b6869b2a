//! A unit whose parts several workers compute.

use super::{Extent, Settings};
use crate::exec::launch::{PIECES, STRETCH_NS, boundary};
use crate::sync::atomic::{AtomicU64, Ordering};

/// A unit that is being computed, in pieces.
pub struct Wide<W> {
    /// The task, and the index of this unit in it.
    pub task: (u32, usize),
    /// The unit.
    pub unit: u32,
    /// Its work.
    pub work: W,
    /// Estimated time from its task to the end of the longest chain of successors.
    pub path_ns: u64,
    units: u64,
    pieces: u64,
    next: AtomicU64,
    done: AtomicU64,
}

/// How a unit is divided.
pub struct Division {
    /// Number of pieces, which workers take one after another.
    pub pieces: u64,
    /// Number of useful workers beside the first.
    pub helpers: usize,
}

/// The number of pieces of a unit: more for several workers if it is long, and more to ask the
/// caller in between if it is very long.
pub fn divide(extent: Extent, settings: &Settings) -> Division {
    let Extent { units, weight_ns } = extent;
    let parts = (weight_ns / settings.split_ns.max(1)).min(settings.threads as u64);
    let parts = parts.min(units).max(1);
    let stretches = weight_ns / STRETCH_NS;
    let pieces = if parts > 1 { parts * PIECES } else { 1 };
    Division {
        pieces: pieces.max(stretches).min(units),
        helpers: parts as usize - 1,
    }
}

impl<W> Wide<W> {
    pub fn new(
        task: (u32, usize),
        unit: u32,
        work: W,
        extent: Extent,
        (pieces, path_ns): (u64, u64),
    ) -> Self {
        Self {
            task,
            unit,
            work,
            path_ns,
            units: extent.units,
            pieces,
            next: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
    }

    /// Whether some pieces are not taken yet.
    pub fn is_open(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.pieces
    }

    /// Takes a piece, and returns its parts.
    pub fn take(&self) -> Option<(u64, u64)> {
        let piece = self.next.fetch_add(1, Ordering::AcqRel);
        let edge = |piece| boundary(self.units, piece, self.pieces);
        (piece < self.pieces).then(|| (edge(piece), edge(piece + 1)))
    }

    /// Records that a piece is done. Returns true if it was the last.
    pub fn done(&self) -> bool {
        self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.pieces
    }
}
