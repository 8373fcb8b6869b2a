//! Any bytes are an array, a tensor or a container that can be judged, or refused.
#![no_main]

use cloakwork_testing::{check_container_bytes, check_tensor_bytes};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    assert_eq!(check_tensor_bytes(bytes), Ok(()));
    assert_eq!(check_container_bytes(bytes), Ok(()));
});
