//! Programs of the instruction set of `docs/zk.md`: what their instructions become as ops. Decides
//! which steps an instruction is lowered to; what a file says is known to `cloakwork-formats`, and
//! whether threads race, memory leaks or types of ops fit is the verifier's matter.
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
