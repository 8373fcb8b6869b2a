//! Lowers programs of the instruction set of `docs/zk.md` to ops. Decides the steps of each
//! instruction; `cloakwork-formats` reads the files, and the verifier checks races, leaks and the
//! types of ops.
//!
//! ```
//! use cloakwork_instructions::{FUNCTIONS, function};
//!
//! let product = function("mul").unwrap();
//! assert_eq!(product.name, "mul");
//! assert!(FUNCTIONS.iter().any(|other| other.name == product.name));
//! assert!(function("no such function").is_none());
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod frees;
mod functions;
mod lower;
mod window;

pub use frees::with_frees;
pub use functions::{Attr, FUNCTIONS, Function, function};
pub use lower::{Convert, KEY_INPUT, Lowered, Printed, lower};
