//! The elementwise kernels against Rust's own arithmetic.
#![allow(clippy::unwrap_used)]

use cloakwork_csrc as _;

#[path = "../common/mod.rs"]
mod common;

mod arithmetic;
mod bitwise;
mod cast;
mod comparison;
mod division;
mod element;
mod functions;
mod harness;
mod rounding;
mod select;
