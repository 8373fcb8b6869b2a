//! Programs of the instruction set of `docs/zk.md`, in JSON and as text. Decides what a file says;
//! what instructions mean is known to `cloakwork-instructions`.

mod ast;
mod constants;
mod fields;
mod gathered;
mod graph;
mod instructions;
mod kinds;
mod packed;
mod read;
mod syntax;
mod value;
mod write;

pub use ast::{
    Ast, Constant, Data, Entry, Event, Input, Instruction, Placed, Register, Returned, Signature,
    Sliced, Table, Type, Viewed, scalars,
};
pub use constants::{Canonical, Files, load_constants};
pub use gathered::{GatherError, gathered};
pub use graph::to_dot;
pub use instructions::Operation;
pub use packed::{files_of, names_of_files, pack, unpack};
pub use read::Parsed;
pub use value::{Value, print};

use crate::{LoadError, Mismatch};

/// Whether a file looks like a program of the instruction set: JSON with `"format": "program"`
/// near its start, or the text form.
#[must_use]
pub fn is_program(start: &[u8]) -> bool {
    const LOOKED_AT: usize = 4096;
    let head = start.get(..LOOKED_AT).unwrap_or(start);
    let trimmed = head.trim_ascii_start();
    if let Some(rest) = trimmed.strip_prefix(b"program ") {
        return rest.trim_ascii_start().starts_with(b"version=");
    }
    if trimmed.first() != Some(&b'{') {
        return false;
    }
    let key = memchr::memmem::find(head, b"\"format\"");
    let after = key
        .and_then(|at| head.get(at + 8..))
        .unwrap_or(&[])
        .trim_ascii_start();
    let value = after.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
    value.is_some_and(|value| value.starts_with(b"\"program\""))
}

/// Reads a program: JSON, or the text form. What is wrong with its parts is in the findings.
///
/// # Errors
/// The text is neither, is empty, nests more than 64 deep, or has a key twice.
pub fn parse(text: &[u8]) -> Result<Parsed, LoadError> {
    let start = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let tree = if start.trim_ascii_start().first() == Some(&b'{') {
        program_object(text)?
    } else {
        syntax::parse(start)?
    };
    Ok(read::read(&tree))
}

/// The tree of a JSON object that says it is a program, or that has instructions.
fn program_object(text: &[u8]) -> Result<Value, LoadError> {
    let tree = value::parse(text)?;
    if tree.get("format").is_some() || tree.get("main").is_some() {
        return Ok(tree);
    }
    let expected = "a program: an object with \"format\": \"program\" and \"main\"";
    let hint = "other files, such as transcripts, are read by load";
    let why = Mismatch::new(expected, "an object with neither key", hint);
    Err(LoadError::text(text, 0, why))
}

/// The JSON of a program, always the same of the same program.
#[must_use]
pub fn to_json(ast: &Ast) -> String {
    let mut out = String::new();
    value::print_lines(&write::tree(ast, false), 0, &mut out);
    out.push('\n');
    out
}

/// The text of a program, one declaration or instruction a line.
#[must_use]
pub fn to_text(ast: &Ast) -> String {
    syntax::print(&write::tree(ast, true))
}
