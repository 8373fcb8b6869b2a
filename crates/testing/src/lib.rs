//! What tests, seeded fuzz loops and fuzz targets share: where bytes come from, programs made of
//! them, laws that hold for every program, and the interpreter that runs one by its references.
//!
//! Nothing here knows who drives it, and nothing knows an op by name.
#![forbid(unsafe_code)]

mod calls;
mod filetest;
mod generators;
mod interpreter;
mod mutations;
mod oracles;
mod source;

pub use filetest::FileTest;
pub use generators::generate;
pub use interpreter::{Download, InterpretError, Mismatch, first_mismatch, interpret};
pub use mutations::{SAMPLE_TRANSCRIPT, mutate, mutate_bytes};
pub use oracles::{
    check_all, check_heal_bytes, check_program, check_text, same_program, well_typed,
};
pub use source::Source;
