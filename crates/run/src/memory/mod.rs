//! Memory: blocks, those that wait for reuse, what is kept with tensors, spill files, and what is
//! overwritten when a run ends.

mod block;
pub mod cache;
pub mod derived;
pub mod spill_file;
pub mod wiping;

pub use block::{Block, into_bytes};
