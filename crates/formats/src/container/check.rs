//! Checks of a program before it is written to a container.

use crate::{Mismatch, SaveError};
use cloakwork_ir::{Arg, Op, Program, Step};

/// Counts are 32 bits wide in the file.
pub(super) fn counts(program: &Program) -> Result<(), SaveError> {
    if program.threads.is_some() {
        return Err(SaveError::Threads);
    }
    for (what, count) in [
        ("steps", program.steps.len()),
        ("hosts", program.hosts.len()),
    ] {
        if u32::try_from(count).is_err() {
            let (limit, got) = (u64::from(u32::MAX), count as u64);
            return Err(SaveError::TooMany { what, limit, got });
        }
    }
    Ok(())
}

/// The reader refuses numbers that name nothing, so the writer does too.
pub(super) fn references(program: &Program) -> Result<(), SaveError> {
    let symbol_missing = |id: u32| id as usize >= program.symbols.len();
    let text_missing = |id: u32| id as usize >= program.texts.len();
    let arg_missing = |arg: &Arg| match arg {
        Arg::Device(symbol, _) => symbol_missing(symbol.0),
        Arg::Host(id) => program.host(*id).is_none(),
        _ => false,
    };
    let op_missing = |op: &Op| {
        text_missing(op.name.0)
            || program
                .args(op)
                .iter()
                .chain(program.out(op))
                .any(arg_missing)
    };
    let missing = program.steps.iter().position(|step| match step {
        Step::Op(op) => op_missing(op),
        Step::Free(symbol) => symbol_missing(symbol.0),
        Step::SegmentStart(text) => text_missing(text.0),
        Step::SegmentEnd | Step::Skip | Step::Threaded(_) => false,
    });
    missing.map_or(Ok(()), |step| {
        Err(SaveError::Unsayable {
            step: step as u64,
            op: "any".into(),
            argument: "its names".into(),
            why: Mismatch::new(
                "names and hosts of the program",
                "a number that the program never gave",
                "append steps through the program's own functions",
            ),
        })
    })
}
