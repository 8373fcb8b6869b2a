//! Programs made of the bytes: right ones, and what damage makes of them.
#![no_main]

use cloakwork_testing::{Source, check_all, check_program, generate, mutate};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut source = Source::from_bytes(bytes);
    let program = generate(&mut source);
    assert_eq!(check_program(mutate(&program, &mut source)), Ok(()));
    assert_eq!(check_all(program), Ok(()));
});
