//! Holds devices to the slow references of ops, and compares programs between devices.
//!
//! Owns the generators of calls and programs, which follow from declarations alone: tests,
//! fuzzers and [`conform`] share them. Decides what is tried on a device and whose fault a
//! difference is; it computes nothing itself. Contains no op names.
#![forbid(unsafe_code)]

mod calls;
mod generators;
mod inputs;
mod source;

pub use generators::{generate, generate_calls};
pub use inputs::{Inputs, inputs};
pub use source::Source;
