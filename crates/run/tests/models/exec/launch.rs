//! Units in the smallest number of pieces that can be shared.

pub const PIECES: u64 = 1;
pub const STRETCH_NS: u64 = u64::MAX;

pub const fn boundary(units: u64, piece: u64, pieces: u64) -> u64 {
    units * piece / pieces
}
