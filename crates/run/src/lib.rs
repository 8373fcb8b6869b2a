//! Runs plans.
//!
//! Owns memory and threads, calls kernels in an order that gives what the plan's gives, and says
//! what it did. Decides what runs side by side and how far a step is split, which never changes a
//! result. Shapes, dtypes and aliasing are settled
//! before: what can still go wrong is contents that a program computes, memory, and the user's
//! wish to stop.
//!
//! ```
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

mod bisect;
mod cache;
mod check;
mod clock;
mod derived;
mod devices;
mod dispatch;
pub mod eager;
mod error;
mod execute;
mod function;
mod hosts;
mod in_order;
pub mod inspect;
mod interpret;
mod launch;
mod memory;
mod names;
mod outcome;
mod pool;
pub mod profile;
pub mod report;
mod results;
mod schedule;
#[cfg(test)]
mod schedule_tests;
mod share;
#[cfg(test)]
mod share_tests;
mod spill_file;
mod sync;
mod table;
mod wiping;
mod work;

pub use bisect::{Against, Bisection, WrongOp, bisect};
pub use cache::{MemoryStats, memory_stats, release_cached};
pub use dispatch::{Dispatch, last_dispatch};
pub use error::RunError;
pub use execute::{Executor, RunOptions};
pub use function::Functions;
pub use memory::Block;
pub use outcome::{Help, Mismatch, Outcome, Output, Profile, Progress, Span, show_word, unravel};
pub use wiping::{Wiping, is_wiping};
