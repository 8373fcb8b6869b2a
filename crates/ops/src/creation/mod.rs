//! Tensors from nothing, and from functions of the caller's.

pub mod arange;
pub mod call_function;
pub mod random;
