//! Recording: ops that are called on tensors without elements become steps of a program.
//!
//! A [`Trace`] is the recording of one thread. It decides which calls become steps and which
//! tensors become constants, inputs or parts of these, and reports errors of a call at the call, by
//! the declaration that the verifier uses, too. A batch is a trace of existing tensors: its program
//! runs when a result is needed. This crate does not run programs.
//!
//! ```
//! # use cloakwork_csrc as _;
//! use cloakwork_ir::{DType, HostSlot, Shape, Type};
//! use cloakwork_kernels::best_isa;
//! use cloakwork_trace::{Tensor, Trace};
//! use std::sync::Arc;
//!
//! let trace = Arc::new(Trace::new(best_isa()));
//! let x = trace.input("x".into(), Type::new(DType::I64, Shape::new(&[2]).unwrap()));
//! trace.output(&Tensor::Traced(Box::new(x)), "y".into()).unwrap();
//! let program = trace.finish();
//! let slots: Vec<_> = program.hosts.iter().collect();
//! assert!(matches!(slots[0], HostSlot::Input { name, .. } if name == "x"));
//! assert!(matches!(slots[1], HostSlot::Output { name } if name == "y"));
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
use cloakwork_csrc as _;

mod active;
mod batch;
mod call;
mod constants;
mod error;
mod parts;
mod recording;
mod value;

pub use active::{
    Paused, Recording, Within, active, begin_batch, computes_small_calls, end_batch, is_active,
};
pub use batch::{Place, Slot, Steps};
pub use constants::held;
pub use error::TraceError;
pub use recording::{Trace, Traced};
pub use value::{Route, Tensor, Value};
