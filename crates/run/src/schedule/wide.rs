//! A unit whose parts several workers compute.

use super::{Extent, Settings};
use crate::exec::launch::{PIECES, STRETCH_NS, boundary};
use crate::sync::atomic::{AtomicU64, Ordering};

/// A unit under way, in pieces.
pub struct Wide<W> {
    /// The task, and which of its units this is.
    pub task: (u32, usize),
    /// The unit.
    pub unit: u32,
    /// What it computes.
    pub work: W,
    /// How much is left of the graph from its task on.
    pub path_ns: u64,
    units: u64,
    pieces: u64,
    next: AtomicU64,
    done: AtomicU64,
}

/// How a unit is divided.
pub struct Division {
    /// Pieces, of which each worker takes one after another.
    pub pieces: u64,
    /// How many more workers than one are worth while.
    pub helpers: usize,
}

/// Into how many pieces a unit is divided: for several workers where it is long, and so that the
/// caller can be asked in between where it is very long.
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

    /// Whether there are pieces that no worker has taken.
    pub fn is_open(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.pieces
    }

    /// The parts of a piece that no worker has taken.
    pub fn take(&self) -> Option<(u64, u64)> {
        let piece = self.next.fetch_add(1, Ordering::AcqRel);
        let edge = |piece| boundary(self.units, piece, self.pieces);
        (piece < self.pieces).then(|| (edge(piece), edge(piece + 1)))
    }

    /// Notes that a piece is done. True if it was the last.
    pub fn done(&self) -> bool {
        self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.pieces
    }
}
