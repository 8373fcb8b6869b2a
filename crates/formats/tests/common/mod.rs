//! Helpers that the tests share.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cloakwork_formats::LoadError;
use cloakwork_ir::{Arg, HostSlot, HostTensor, Program, Step};
use std::path::PathBuf;

/// A file of `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", name]
        .iter()
        .collect()
}

/// The calls, frees and segments of a program, with names instead of numbers.
pub fn described(program: &Program) -> Vec<String> {
    let arg = |arg: &Arg| match arg {
        Arg::Device(symbol, dtype) => format!("%{}:{dtype:?}", program.symbol_name(*symbol)),
        Arg::Host(id) => format!("{:?}", program.host(*id)),
        other => format!("{other:?}"),
    };
    let step = |step: &Step| match step {
        Step::Op(op) => {
            let args: Vec<String> = program.args(op).iter().map(arg).collect();
            let out = program.out(op).map_or("nothing".to_owned(), arg);
            format!(
                "{} = {}({})",
                out,
                program.text_name(op.name),
                args.join(", ")
            )
        }
        Step::Free(symbol) => format!("free {}", program.symbol_name(*symbol)),
        Step::SegmentStart(text) => format!("segment {}", program.text_name(*text)),
        Step::SegmentEnd => "end".to_owned(),
        Step::Skip => "skip".to_owned(),
        Step::Threaded(step) => format!("{step:?}"),
    };
    program.steps.iter().map(step).collect()
}

/// Asserts that two programs say the same, tensors included.
pub fn assert_same(got: &Program, expected: &Program) {
    assert_eq!(described(got), described(expected));
    assert_eq!(got.generation, expected.generation);
    assert_eq!(got.hosts.len(), expected.hosts.len());
    for (got, expected) in got.hosts.iter().zip(&expected.hosts) {
        match (got, expected) {
            (HostSlot::Data(got), HostSlot::Data(expected)) => assert_same_tensor(got, expected),
            _ => assert_eq!(format!("{got:?}"), format!("{expected:?}")),
        }
    }
}

pub fn assert_same_tensor(got: &HostTensor, expected: &HostTensor) {
    assert_eq!(got.ty(), expected.ty());
    assert_eq!(got.words(), expected.words());
}

/// The message of an error that must be there, checked for its parts.
pub fn assert_refused<T>(result: Result<T, LoadError>, parts: &[&str]) {
    let Err(error) = result else {
        panic!("loaded, although {parts:?} is wrong")
    };
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "\"{message}\" lacks \"{part}\"");
    }
}
