//! HEAL's transcripts: the `"__type__"` form, the simplified form of its documents, and the parts
//! of its overview's sketch that can mean only one thing. Decides what a file says; whether that
//! makes sense is the verifier's matter.

mod arg;
pub(crate) mod cursor;
mod describe;
mod entry;
pub(crate) mod fault;
mod generation;
mod payload;
mod pretty;
mod scalar;
mod text;
mod upload;
mod write;

pub use write::save_heal;

use crate::LoadError;
use cloakwork_ir::{HostSlot, Program};
use cursor::{Cursor, Kind};
pub(crate) use describe::number_length;
use entry::Sink;
use fault::Fault;

/// Reads a transcript from its text.
///
/// # Errors
/// Malformed JSON, an entry of no known kind, or a host tensor that cannot be decoded. Unknown ops,
/// argument types and enums are no errors here: they stay in the program as they are written.
pub fn parse_heal(text: &[u8]) -> Result<Program, LoadError> {
    let mut sink = Sink::default();
    transcript(&mut Cursor::new(text), &mut sink).map_err(|fault| fault.finish(text))?;
    let Sink {
        mut program,
        payloads,
        ..
    } = sink;
    let tensors = payload::decode(text, &payloads)?;
    program.hosts = tensors.into_iter().map(HostSlot::Data).collect();
    program.generation = generation::detect(&program);
    upload::convert(&mut program);
    Ok(program)
}

fn transcript<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<(), Fault> {
    match cursor.peek()? {
        Kind::Array => entry::entries(cursor, sink)?,
        Kind::Object => {
            let (start, mut found) = (cursor.at(), false);
            cursor.object(|cursor, key| match key {
                "__type__" => scalar::require_type(cursor, "ExecutionTranscript"),
                "transcript" if !found => {
                    found = true;
                    entry::entries(cursor, sink)
                }
                "transcript" => Err(cursor.fault("one transcript")),
                _ => cursor.skip(),
            })?;
            if !found {
                let hint = "a transcript is a list of entries, or an object that holds one";
                let fault = Fault::new(start, "the key transcript", "an object without it");
                return Err(fault.hint(hint));
            }
        }
        _ => return Err(cursor.fault("a transcript: an array or an object")),
    }
    cursor.end()
}
