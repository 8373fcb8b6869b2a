//! Programs as text, one step a line.
//!
//! ```text
//! ; a comment
//! generation first                          ; later, if it is not said
//! %q = host_to_device i64[2] {17, 97}       ; elements in row-major order
//! %a = host_to_device input "x" i64[3, 2]   ; given at each run
//! %t = host_to_device i64[2, 16] fortran iota
//! %c = host_to_device i32[4] fill 7
//! %o = empty [3, 2], i64
//! %o = _modmul_ttt %a, %a, %q, %o
//! segment "halves" {
//!   %v = get_slice %o:i64, [0:3:2, 1]       ; `:i64` is a dtype that the program claims
//!   device_to_host %v, none -> i64[2] {1, 2}
//! }
//! device_to_host %o, none -> output "y"
//! free %o
//! ```
//!
//! A program of several threads begins with `registers`; `docs/zk.md` says what its steps mean:
//!
//! ```text
//! registers
//! stream "s" at "gpu:0"
//! event "e" at "gpu:0"
//! budget "gpu:0" 1024                       ; bytes that the device may hold
//! consume "x"                               ; the program may write this input, and must free it
//! %a = empty [4], bn254.fr at "gpu:0" pool "gpu:0" 64 as "coef"
//! copy %x, %a on "s"
//! record "e" on "s"
//! fork "t"
//! join "t"
//! move %a, %b                               ; %b is what %a was
//! thread "t" {
//!   wait "e"                                ; on "s": the stream waits
//!   forget %view                            ; a register is given up, its memory stays
//! }
//! ```
//!
//! A line breaks only between steps and inside brackets. Names of tensors, ops and segments that
//! are no plain words stand in quotes. `segment_start "name"` and `segment_end` say what braces
//! cannot: segments that do not nest. `skip` is an entry without meaning. [`print`] and [`parse`]
//! are each other's inverse, but for the strides of host tensors that are neither row- nor
//! column-major: those come back row-major.

mod cursor;
mod literal;
mod parse;
mod print;
mod threads;

pub use cursor::ParseError;
pub use parse::parse;
pub use print::{page, print};

/// Words that begin a line and are no op.
const KEYWORDS: [&str; 19] = [
    "consume",
    "doubt",
    "event",
    "forget",
    "fork",
    "free",
    "generation",
    "join",
    "move",
    "record",
    "registers",
    "segment",
    "segment_end",
    "segment_start",
    "skip",
    "stream",
    "thread",
    "unknown",
    "wait",
];

/// Whether a text begins as a program does: the first line that is no comment with a tensor's name
/// or a word that is not an op, if there is one.
#[must_use]
pub fn begins_program(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let said = lines.find(|line| !line.is_empty() && !line.starts_with(';'));
    let Some(said) = said else {
        return text.trim_start().starts_with(';');
    };
    let word = said.split(|c: char| !is_name_char(c)).next();
    said.starts_with('%') || word.is_some_and(|word| KEYWORDS.contains(&word))
}

/// Whether a name can stand without quotes.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_char)
}

/// Characters of plain names.
fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

#[cfg(test)]
mod tests;
