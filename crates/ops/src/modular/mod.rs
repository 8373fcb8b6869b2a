//! Element-wise arithmetic modulo word-sized integers, and sums of it.

pub mod axis_modsum;
pub mod mod_op;
pub mod modmul;
pub mod modmul_axis_sum;
pub mod modmuladd;
pub mod modneg;
pub mod modsum;
mod pairwise;
