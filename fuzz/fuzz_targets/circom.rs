//! Any bytes are a file of circom or snarkjs whose parts fit together, or refused with a place.
#![no_main]

use cloakwork_testing::check_circom_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assert_eq!(check_circom_bytes(bytes), Ok(())));
