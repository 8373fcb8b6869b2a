//! Programs of the instruction set: what they are lowered to, what is refused.
#![allow(clippy::unwrap_used)]

mod changed;
mod frees;
mod functions;
mod lowering;
mod refusals;
