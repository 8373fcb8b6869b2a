//! Tensors from nothing.

pub mod arange;
pub mod random;
