//! Makes sense of a program: what each name is at each step, with type, view and storage.
//!
//! [`verify`] reports everything that it finds at once and never panics, whatever the program. Only
//! it makes a [`Verified`], so whoever holds one need check nothing again. It decides what a
//! program means; how to run it is the planner's work.
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

mod action;
mod annotate;
mod bind;
mod call;
mod check;
mod device;
mod ends;
mod finding;
mod frees;
mod kernel;
mod known;
mod names;
mod region;
mod report;
mod reprs;
mod single;
mod spelling;
mod threads;
mod values;
mod verified;

pub use action::{Action, ArgPlace, Bound, Call};
pub use annotate::{Annotated, annotate};
pub use check::{verify, verify_rewritten};
pub use device::{HealDevice, Misfit, for_device};
pub use ends::{downloads, opened, uploads};
pub use finding::{FINDING_CODES, Finding, MAX_FINDINGS, Severity};
pub use frees::with_frees;
pub use single::{check_composite_call, check_kernel_call, result_type};
pub use threads::{Linear, linearize};
pub use values::{StorageId, StorageInfo, StorageOrigin, ValueId, ValueInfo, upload_root};
pub use verified::{Verification, Verified};
