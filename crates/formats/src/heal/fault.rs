//! Errors on their way up: each level adds where it was.

use crate::error::Place;
use crate::{LoadError, Mismatch, TensorError};

/// One step of a path into JSON.
#[derive(Clone, Debug)]
enum Part {
    Key(Box<str>),
    Index(usize),
}

/// An error of the reader. One pointer wide, for results are passed at each value.
#[derive(Clone, Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    offset: usize,
    why: Mismatch,
    step: Option<u64>,
    /// Innermost first.
    path: Vec<Part>,
}

impl Fault {
    pub(crate) fn new(offset: usize, expected: &str, got: &str) -> Self {
        Self(Box::new(Inner {
            offset,
            why: Mismatch::new(expected, got, ""),
            step: None,
            path: Vec::new(),
        }))
    }

    pub(crate) fn hint(mut self, hint: &str) -> Self {
        self.0.why.hint = hint.into();
        self
    }

    pub(crate) fn at_step(mut self, step: usize) -> Self {
        self.0.step = Some(step as u64);
        self
    }

    pub(crate) fn within_key(mut self, key: &str) -> Self {
        self.0.path.push(Part::Key(key.into()));
        self
    }

    pub(crate) fn within_index(mut self, index: usize) -> Self {
        self.0.path.push(Part::Index(index));
        self
    }

    /// The error as the caller gets it.
    pub(crate) fn finish(self, text: &[u8]) -> LoadError {
        let Inner {
            offset,
            why,
            step,
            path,
        } = *self.0;
        let mut shown = String::new();
        for part in path.iter().rev() {
            match part {
                Part::Key(key) if shown.is_empty() => shown.push_str(key),
                Part::Key(key) => shown.extend([".", key]),
                Part::Index(index) => shown.push_str(&format!("[{index}]")),
            }
        }
        let place = Place::of(text, offset);
        LoadError::Text {
            place,
            step,
            path: shown.into(),
            why,
        }
    }
}

/// The error of a payload whose text begins at `start`.
pub(crate) fn payload(
    text: &[u8],
    start: usize,
    step: usize,
    argument: Option<u32>,
    source: TensorError,
) -> LoadError {
    // A wrong character can be pointed at; other errors lie inside the decoded bytes.
    let inside = if let TensorError::Base64 { offset, .. } = source {
        offset as usize
    } else {
        0
    };
    LoadError::Payload {
        place: Place::of(text, start.saturating_add(inside)),
        step: step as u64,
        path: argument
            .map_or("out".to_owned(), |index| format!("args[{index}]"))
            .into(),
        source: Box::new(source),
    }
}
