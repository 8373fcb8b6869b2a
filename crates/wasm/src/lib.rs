//! Circuits that circom compiled to WebAssembly: their witnesses, by wasmtime's library.
//!
//! The library is loaded at run time from a path; [`Circuit`] compiles a module once and computes
//! any number of witnesses, each in an instance of its own, whose memory is overwritten afterwards.
//! A module reaches nothing of the host but four functions that report errors and log messages; its
//! time and memory are limited.
//!
//! Sources: `wasmtime.h` of wasmtime 50; circom's documentation of the exports of its modules.
#![deny(unsafe_op_in_unsafe_fn)]

mod api;
mod circuit;
mod engine;
mod error;
mod host;
mod session;
mod stack;

pub use circuit::{Circuit, Facts, Input, Limits};
pub use engine::Compiler;
pub use error::WasmError;
pub use host::Reports;
