//! Any text is read as a program that keeps all laws, or refused with a place.
#![no_main]

use cloakwork_testing::check_text;

libfuzzer_sys::fuzz_target!(|text: &str| assert_eq!(check_text(text), Ok(())));
