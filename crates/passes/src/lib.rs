//! Passes over verified programs: they remove repeated, unused and merely moving steps.
//!
//! Each pass is a function over a [`Draft`] of a verified program, which records dropped steps,
//! replaced values and rewritten steps. A changed draft becomes an ordinary program, which passes
//! the same verifier. Results are equal to the bit; steps keep the numbers of the program as
//! written, outputs their order. Passes read the declarations of ops; no pass knows an op by name.
//!
//! ```
//! use cloakwork_passes::{Extent, optimize};
//! use std::sync::Arc;
//!
//! let program = cloakwork_ir::text::parse(
//!     "%a = host_to_device input \"a\" i64[2]
//!      %b = empty [2], i64
//!      %b = multiply %a, %a, %b
//!      %c = empty [2], i64
//!      %c = multiply %a, %a, %c
//!      %d = empty [2], i64
//!      %d = add %b, %c, %d
//!      device_to_host %d, none -> output \"d\"",
//! )
//! .unwrap();
//! let verified = Arc::new(cloakwork_verify::verify(Arc::new(program)).verified.unwrap());
//! let cleaned = optimize(&verified, Extent::Everywhere).unwrap().unwrap();
//! assert_eq!(cleaned.program().steps.len(), 6);
//! ```
#![forbid(unsafe_code)]

mod common;
mod composites;
mod constants;
mod copies;
mod dead;
mod draft;
mod facts;
mod inversions;
mod memory;
mod numbers;
mod pass;
mod template;
mod uses;
mod write;

pub use composites::recognized;
pub use draft::Draft;
pub use pass::{Extent, PASSES, Pass, Shown, optimize, shown};
