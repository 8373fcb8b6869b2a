//! Analyses a program: the type, view and storage of each name at each step.
//!
//! [`verify`] reports all findings at once and never panics, for any program. Only
//! it makes a [`Verified`], which needs no further check. It decides what a
//! program means; how to run it is the planner's work.
//!
//! ```
//! use cloakwork_ir::{DType, text};
//! use cloakwork_verify::verify;
//! use std::sync::Arc;
//!
//! let program = text::parse("%a = empty [2], i64\n%a = modsum %a, %c, 17, %a\nfree %a")?;
//! let verification = verify(Arc::new(program));
//! assert!(verification.verified.is_none());
//! let codes: Vec<_> = verification.findings.iter().map(|found| found.code).collect();
//! assert_eq!(codes, ["undefined-name"]);
//!
//! let source = "%a = host_to_device i64[2] {3, 5}\n%a = modsum %a, %a, 7, %a\nfree %a";
//! let verified = verify(Arc::new(text::parse(source)?)).verified.unwrap();
//! assert_eq!(verified.values()[0].dtype, DType::I64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

mod action;
mod annotate;
mod bind;
mod call;
mod check;
mod codes;
mod custom;
mod device;
mod ends;
mod expand;
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
pub use codes::{FINDING_CODES, MAX_FINDINGS, is_finding_code};
pub use custom::declare;
pub use device::{HealDevice, Misfit, for_device};
pub use ends::{downloads, opened, uploads};
pub use expand::{Choose, by_parameter, expand, expand_once};
pub use frees::with_frees;
pub use single::{check_call, result_type};
pub use threads::{Linear, linearize};
pub use values::{StorageId, StorageInfo, StorageOrigin, ValueId, ValueInfo, upload_root};
pub use verified::{Mistake, Verification, Verified};
