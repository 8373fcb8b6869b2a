//! Programs in the text form: [`cloakwork_ir::text`], as a file.

use crate::{LoadError, Mismatch};
use cloakwork_ir::Program;
use cloakwork_ir::text::{self, ParseError};

/// Bytes of a file that are looked at to know what it is.
const LOOKED_AT: usize = 4096;

/// Whether a file looks like a program in the text form.
pub fn is_program(start: &[u8]) -> bool {
    let head = start.get(..LOOKED_AT).unwrap_or(start);
    text::begins_program(unmarked(&String::from_utf8_lossy(head)))
}

/// A text without the byte order mark that some editors put in front.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads a program.
pub fn parse(bytes: &[u8]) -> Result<Program, LoadError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let why = Mismatch::new("text in UTF-8", "other bytes", "");
        LoadError::text(bytes, error.valid_up_to(), why)
    })?;
    let text = unmarked(text);
    text::parse(text).map_err(|error| {
        let at = offset(text, &error);
        LoadError::text(bytes, at, Mismatch::new(error.expected, error.got, ""))
    })
}

/// Bytes before the place of an error, which counts lines and characters.
fn offset(text: &str, error: &ParseError) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines.by_ref().take(error.line - 1).map(str::len).sum();
    let line = lines.next().unwrap_or("");
    let column = line.char_indices().nth(error.column - 1);
    before + column.map_or(line.len(), |(at, _)| at)
}
