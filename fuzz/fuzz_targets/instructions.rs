//! Any bytes are a program of the instruction set that both forms hold, or refused with a place.
#![no_main]

use cloakwork_testing::check_instructions;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assert_eq!(check_instructions(bytes), Ok(())));
