//! Memory: blocks, cached blocks, constants kept with tensors, spill files, and the wiping of
//! secret runs.

mod block;
pub mod cache;
pub mod derived;
mod medium;
mod pages;
pub mod spill_file;
pub mod wiping;

pub use block::{Block, into_bytes};
