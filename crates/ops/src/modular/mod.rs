//! Element-wise arithmetic modulo word-sized integers.

pub mod modmul;
mod pairwise;
