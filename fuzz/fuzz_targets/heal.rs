//! Any bytes are read as a transcript whose program keeps all laws, or refused.
#![no_main]

use cloakwork_testing::check_heal_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assert_eq!(check_heal_bytes(bytes), Ok(())));
