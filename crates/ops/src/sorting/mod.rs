//! Ops that order elements, or look for them.

pub mod nonzero;
pub mod order;
pub mod scatter;
pub mod searchsorted;
