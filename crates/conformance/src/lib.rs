//! Holds devices to the slow references of ops, and compares programs between devices.
//!
//! Owns the generators of calls and programs, which follow from declarations alone: tests,
//! fuzzers and [`conform`] share them. Decides what is tried on a device and whose fault a
//! difference is; it computes nothing itself. Contains no op names.
#![deny(unsafe_code)]

#[cfg(test)]
use cloakwork_csrc as _;

mod calls;
mod conform;
mod diff;
mod differences;
mod effort;
mod excerpt;
mod generators;
mod hold;
mod inputs;
mod rows;
mod shrink;
mod side;
mod sizes;
mod source;
mod speed;
mod strides;

pub use calls::Style;
pub use conform::{Conformance, OpHeld, Progress, Trying, conform, ops_held};
pub use diff::{Comparing, Comparison, Difference, Place, Shows, diff};
pub use differences::{Unequal, unequal};
pub use generators::{generate, generate_calls, generate_styled};
pub use hold::{Failure, Held, Holding, Reference};
pub use inputs::{Inputs, inputs};
pub use side::{GoOn, Refused, Side};
pub use sizes::{Sized, Sizes, sizes};
pub use source::Source;
pub use speed::Speed;
