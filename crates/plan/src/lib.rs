//! From a verified program and a target to a plan: which kernel runs each step, over which
//! geometry, the place of every buffer, and the constants that are prepared beforehand.
//!
//! Planning is pure: the same program and target give the same plan, which can be printed. It
//! touches no tensor data; running it is `cloakwork-run`'s work.
//!
//! ```
//! # use cloakwork_csrc as _;
//! use cloakwork_kernels::Isa;
//! use cloakwork_plan::{Options, plan};
//! use cloakwork_verify::verify;
//! use std::sync::Arc;
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
//! let plan = plan(Arc::new(verified), &Options::new(Isa::PORTABLE, 1))?;
//! assert_eq!(plan.steps[0].symbol(), "modmul_i64_portable");
//! assert!(plan.to_string().starts_with("peak "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
use cloakwork_csrc as _;

mod arena;
mod budget;
mod build;
mod error;
mod fuse;
mod graph;
mod layout;
mod lower;
mod memory;
mod placement;
mod plan;
mod print;
mod queues;
mod segments;
mod specialize;
mod spill;
mod unseen;

pub use build::plan;
pub use error::{PlanError, Refused};
pub use fuse::{Candidate, Fusion, MAX_OPERANDS, moves};
pub use graph::{Graph, SPLIT_NS, Task};
pub use lower::lower_for;
pub use memory::{Memory, format_bytes};
pub use placement::{Elsewhere, Lack, Why};
pub use plan::{
    Address, Arena, Buffer, Check, Constant, Download, FunctionCall, Geometry, Home, Options, Plan,
    Prepared, Resident, Space, Step, StepCost, Way, Work,
};
pub use queues::{Queue, Role, Wait};
pub use segments::{Segment, SegmentNode, SegmentRange};
pub use specialize::{Specialized, specialize};
