//! The elementwise kernels against Rust's own arithmetic.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod arithmetic;
mod cast;
mod comparison;
mod element;
mod harness;
mod select;
