//! Errors of loading and saving. Decides how places and hints read.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A place in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes before it.
    pub offset: u64,
    /// Line, counted from 1.
    pub line: u64,
    /// Byte within the line, counted from 1.
    pub column: u64,
}

impl Place {
    /// The place of a byte in a text.
    #[must_use]
    pub fn of(text: &[u8], offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let newlines = memchr::memchr_iter(b'\n', before).count();
        Self {
            offset: before.len() as u64,
            line: newlines as u64 + 1,
            column: (before.len() - line_start) as u64 + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {} (byte {})",
            self.line, self.column, self.offset
        )
    }
}

/// Content that differs from the expected content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The expected content, in words.
    pub expected: Box<str>,
    /// The content that was found, in words.
    pub got: Box<str>,
    /// Advice; may be empty.
    pub hint: Box<str>,
}

impl Mismatch {
    /// A mismatch: expected, got, and advice.
    pub fn new(
        expected: impl Into<Box<str>>,
        got: impl Into<Box<str>>,
        hint: impl Into<Box<str>>,
    ) -> Self {
        Self {
            expected: expected.into(),
            got: got.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            expected,
            got,
            hint,
        } = self;
        write!(f, "expected {expected}, got {got}{}", hinted(hint))
    }
}

/// Why a file is not a program or a tensor.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read at all.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not a readable file.
    #[error("{0}")]
    Source(Mismatch),
    /// A file became shorter, or its disk failed, while it was in use.
    #[error(
        "{}: the file was truncated, or could not be read, while in use: results computed from \
         it are discarded; load it again",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The text is not a transcript.
    #[error("{place}{}: {why}", within(*step, path))]
    Text {
        /// The place in the file.
        place: Place,
        /// The step that holds it, if one does.
        step: Option<u64>,
        /// The way to it through the JSON: `transcript[17][1].args[2]`.
        path: Box<str>,
        /// The mismatch at that place.
        why: Mismatch,
    },
    /// The data of a host tensor in a transcript.
    #[error("{place}{}: {source}", within(Some(*step), path))]
    Payload {
        /// The start of the data, or its first wrong character.
        place: Place,
        /// The step that holds it.
        step: u64,
        /// The argument of the step: `args[0]` or `out`.
        path: Box<str>,
        /// The error in the data.
        source: Box<TensorError>,
    },
    /// A file that should be one tensor.
    #[error("{}: {source}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The error in the file.
        source: TensorError,
    },
    /// The project's own container.
    #[error(
        "container, byte {offset}: expected {expected}, got {got}{}",
        hinted(hint)
    )]
    Container {
        /// Offset in the file, in bytes.
        offset: u64,
        /// The expected content, in words.
        expected: Box<str>,
        /// The content that was found, in words.
        got: Box<str>,
        /// Advice; may be empty.
        hint: Box<str>,
    },
    /// A file of circom or snarkjs.
    #[error("{file}{}, byte {offset}: {why}", comma(section))]
    Binary {
        /// `r1cs`, `wtns` or `zkey`.
        file: &'static str,
        /// The section, if one is being read.
        section: Option<Box<str>>,
        /// Offset in the file, in bytes.
        offset: u64,
        /// The mismatch at that place.
        why: Mismatch,
    },
    /// JSON of snarkjs.
    #[error("{file}{}: {why}", comma(place))]
    Json {
        /// `verifying key`, `proof` or `public signals`.
        file: &'static str,
        /// The way to it: `IC[3][1]`, or a line and column; may be none.
        place: Option<Box<str>>,
        /// The mismatch at that place.
        why: Mismatch,
    },
    /// A file of another kind.
    #[error("expected a program, got {got}{}", hinted(hint))]
    Kind {
        /// The kind that the file seems to have.
        got: Box<str>,
        /// Advice.
        hint: Box<str>,
    },
}

impl LoadError {
    /// The system's error at reading a file.
    pub(crate) fn read(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    /// Something wrong at a place of a text, outside any step.
    pub(crate) fn text(text: &[u8], offset: usize, why: Mismatch) -> Self {
        Self::Text {
            place: Place::of(text, offset),
            step: None,
            path: "".into(),
            why,
        }
    }
}

/// Why bytes are not a tensor. Offsets count from the start of the encoded tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The text is not base64.
    #[error("base64, character {offset}: {why}")]
    Base64 {
        /// Characters before the wrong one.
        offset: u64,
        /// The mismatch at that place.
        why: Mismatch,
    },
    /// The bytes are not a NumPy array that can be read.
    #[error("numpy array, byte {offset}: {why}")]
    Npy {
        /// Offset in the array, in bytes.
        offset: u64,
        /// The mismatch at that place.
        why: Mismatch,
    },
    /// The bytes are not a torch tensor that can be read.
    #[error("torch tensor, {part}, byte {offset}: {why}")]
    Torch {
        /// `archive`, or the entry of the archive.
        part: Box<str>,
        /// Offset in that part, in bytes.
        offset: u64,
        /// The mismatch at that place.
        why: Mismatch,
    },
}

/// Why a program cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file cannot be written. Nothing is left of it.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Something stands there that must not be replaced.
    #[error("{}: expected {expected} to write to, got {got}; {hint}", path.display())]
    Target {
        /// The name that was given.
        path: PathBuf,
        /// The kinds of file that may be written to.
        expected: Box<str>,
        /// The kind of file that is there.
        got: Box<str>,
        /// Advice.
        hint: Box<str>,
    },
    /// The form has no way to say this.
    #[error("step {step} ({op}), {argument}: {why}")]
    Unsayable {
        /// The step.
        step: u64,
        /// Its op, or kind.
        op: Box<str>,
        /// `args[2]`, `out`, or the like.
        argument: Box<str>,
        /// The mismatch: values of the form, and the program's value.
        why: Mismatch,
    },
    /// A program of several threads, in a form for programs of one.
    #[error(
        "expected a program of one thread, got one with registers and threads; save it as a \
         program of the instruction set (.json), or save what it was linearized to"
    )]
    Threads,
    /// More of something than the container's 32-bit counts can say.
    #[error("expected at most {limit} {what}, got {got}")]
    TooMany {
        /// The items that are counted.
        what: &'static str,
        /// The most there may be.
        limit: u64,
        /// The number in the program.
        got: u64,
    },
}

impl SaveError {
    /// The system's error at writing a file.
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}

fn within(step: Option<u64>, path: &str) -> String {
    match (step, path.is_empty()) {
        (Some(step), true) => format!(", step {step}"),
        (Some(step), false) => format!(", step {step}, {path}"),
        (None, true) => String::new(),
        (None, false) => format!(", {path}"),
    }
}

fn comma(place: &Option<Box<str>>) -> String {
    place
        .as_ref()
        .map_or_else(String::new, |place| format!(", {place}"))
}

fn hinted(hint: &str) -> String {
    if hint.is_empty() {
        String::new()
    } else {
        format!("; {hint}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_columns_from_one() {
        let text = b"ab\ncd\n";
        assert_eq!(
            Place::of(text, 0),
            Place {
                offset: 0,
                line: 1,
                column: 1
            }
        );
        assert_eq!(
            Place::of(text, 4),
            Place {
                offset: 4,
                line: 2,
                column: 2
            }
        );
        assert_eq!(
            Place::of(text, 6),
            Place {
                offset: 6,
                line: 3,
                column: 1
            }
        );
        assert_eq!(
            Place::of(text, 99),
            Place {
                offset: 6,
                line: 3,
                column: 1
            }
        );
    }
}
