//! The declarations of all ops: one file per op, one list.
//!
//! A declaration contains everything that is particular to an op: its names and argument orders,
//! the shapes and dtypes of operands and results, its reads and writes, its kernel calls or its
//! expansion, and its slow, obvious reference. Parser, verifier, planner, documentation, fuzzers
//! and conformance tests loop over [`ALL`]; none of them knows an op by name.
//!
//! ```
//! use cloakwork_ops::{ALL, Family, find};
//!
//! let modmul = find("modmul").unwrap();
//! assert_eq!(modmul.family, Family::Modular);
//! let names: Vec<&str> = modmul.params.iter().map(|param| param.name).collect();
//! assert_eq!(names[..3], ["a", "b", "q"]);
//! assert!(ALL.is_sorted_by_key(|def| def.name));
//! assert!(find("no such op").is_none());
//! ```
#![forbid(unsafe_code)]

mod args;
mod contents;
mod creation;
mod curve;
pub mod custom;
mod cut;
pub mod elementwise;
mod error;
mod expansion;
mod field;
mod gadget;
mod geometry;
mod hash;
mod joined;
mod launch;
mod layout;
mod linear;
mod list;
mod modular;
pub mod named;
mod ntt;
mod op;
mod permutation;
mod poly;
pub mod promotion;
mod reduction;
pub mod reference;
mod repr;
mod rlwe;
mod rns;
mod rules;
mod runtimes;
mod sorting;

pub use args::{Args, Operand, Value};
pub use contents::{Checking, ContentCheck, MAX_MODULUS, check_known};
pub use creation::call_function::FUNCTION;
pub use cut::{Cut, CutsFn};
pub use elementwise::Elementwise;
pub use error::{Code, OpError};
pub use expansion::{Expansion, Named, Part, write_expansion, write_expansion_apart};
pub use field::elements;
pub use hash::transcript::head_words as transcript_head;
pub use joined::Joined;
pub use launch::{
    COPY_KERNEL, Extents, FILL_KERNEL, Launch, LaunchInput, LaunchOperand, Launches, Source,
};
pub use list::{ALL, FormError, VENDORS_OP, find, find_form};
pub use op::{
    Access, Aliasing, Body, BytesFn, Effect, ExpandBody, Family, Form, KernelBody, Law, OpDef,
    Origin, OutRule, Param, ParamKind, Viewed,
};
pub use reference::{Contents, Expected, JudgeFn, Reference, ReferenceFn, Slack, Verdict, agrees};
pub use repr::{ReprOf, ReprRule};
pub use runtimes::runtime_ops;
