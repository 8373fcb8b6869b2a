//! Shared by tests, seeded fuzz loops and fuzz targets: sources of bytes, generated programs, laws
//! of all programs, and oracles that run and judge a program.
//!
//! This crate does not depend on its drivers, and contains no op names.
//!
//! ```
//! use cloakwork_testing::{FileTest, check_program};
//!
//! let test = FileTest::new("%a = empty [2], i64\nfree %a\n\n; type %a i64[2]\n");
//! assert_eq!(test.actual(), test.expected);
//! assert_eq!(check_program(test.parsed().unwrap()), Ok(()));
//! ```
#![forbid(unsafe_code)]

// Whatever is tested runs kernels.
use cloakwork_csrc as _;

mod circom;
mod execution;
mod filetest;
mod instructions;
mod mutations;
mod oracles;
mod tensors;

pub use circom::{SAMPLE_CIRCOM_FILES, check_circom_bytes, damaged_circom_file};
pub use cloakwork_conformance::{Inputs, Source, generate, generate_calls, inputs};
pub use execution::{Failure, execute, planned, programs_without_devices};
pub use filetest::FileTest;
pub use instructions::{SAMPLE_INSTRUCTIONS, check_instructions, damaged_instructions};
pub use mutations::{SAMPLE_TRANSCRIPT, mutate, mutate_bytes};
pub use oracles::{
    check_all, check_heal_bytes, check_program, check_text, same_program, well_typed,
};
pub use tensors::{
    SAMPLE_CONTAINER, SAMPLE_TENSORS, check_container_bytes, check_tensor_bytes, damaged_container,
    damaged_tensor,
};

/// Whether tests take minutes each: `CLOAKWORK_TEST_ALL` is set, as by `dev.py test --all`.
#[must_use]
pub fn is_whole() -> bool {
    std::env::var_os("CLOAKWORK_TEST_ALL").is_some()
}

/// How many random programs a test tries of a number: a third, or all of a whole run.
#[must_use]
pub fn tries(all: u64) -> u64 {
    if is_whole() { all } else { all.div_ceil(3) }
}
