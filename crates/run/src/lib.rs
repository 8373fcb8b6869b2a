//! Runs plans.
//!
//! Owns memory and threads, calls kernels in an order that is equivalent to the plan's, and reports
//! the run. Decides which steps run in parallel and how a step is split, which never changes a
//! result. Shapes, dtypes and aliasing were checked before; a run can still fail because of
//! computed contents, memory, devices, user functions, or an interrupt.
//!
//! ```
//! # use cloakwork_csrc as _;
//! use cloakwork_kernels::best_isa;
//! use cloakwork_plan::{Options, plan};
//! use cloakwork_run::{Executor, RunOptions};
//! use cloakwork_verify::verify;
//! use std::{collections::HashMap, sync::Arc};
//!
//! let program = cloakwork_ir::text::parse(
//!     "%a = host_to_device i64[2] {3, 5}
//!      %b = empty [2], i64
//!      %b = modmul %a, %a, 7, %b
//!      device_to_host %b, none -> output \"squares\"
//!      free %a
//!      free %b",
//! )?;
//! let verified = verify(Arc::new(program)).verified.unwrap();
//! let plan = plan(Arc::new(verified), &Options::new(best_isa(), 1))?;
//! let mut executor = Executor::new(Arc::new(plan))?;
//! let outcome = executor.run(&HashMap::new(), &RunOptions::default(), &mut |_| true)?;
//! assert_eq!(outcome.outputs[0].tensor.words(), [2, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(test)]
use cloakwork_csrc as _;

pub mod eager;
mod error;
mod exec;
mod memory;
mod on_device;
mod oracle;
mod report;
mod schedule;
mod share;
mod sync;
#[cfg(test)]
mod tests;

pub use error::RunError;
pub use exec::dispatch::{Dispatch, last_dispatch};
pub use exec::executor::{Executor, RunOptions};
pub use exec::function::Functions;
pub use exec::hosts::Inputs;
pub use exec::launch::{set_split_ns, split_ns};
pub use exec::measured;
pub use memory::Block;
pub use memory::cache::{MemoryStats, memory_stats, release_cached};
pub use memory::wiping::{Wiping, is_wiping};
pub use on_device::{OnDevice, opened};
pub use oracle::bisect::{Against, Bisection, WrongOp, bisect};
pub use report::outcome::{
    Help, Mismatch, Outcome, Output, Profile, Progress, Span, show_word, unravel,
};
pub use report::{coverage, inspect, profile, totals};
