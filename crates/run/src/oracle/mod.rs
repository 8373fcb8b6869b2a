//! The oracles of a run: the interpreter by the ops' references, and the search for the first op
//! that differs from it.

pub mod bisect;
pub mod interpret;
