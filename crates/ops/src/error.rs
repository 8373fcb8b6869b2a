//! Why a call of an op is wrong.

use cloakwork_ir::{DType, Shape};
use std::fmt;

/// The kind of a finding about a call. Each is provoked by a program under `tests/programs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Too few or too many arguments.
    ArgumentCount,
    /// An argument of the wrong kind.
    ArgumentType,
    /// An element type that the op does not take.
    Dtype,
    /// Sizes that do not fit.
    Shape,
    /// An axis that does not exist.
    Axis,
    /// An index, count or width out of range.
    Range,
    /// A modulus outside `2 .. 2^62`.
    Modulus,
    /// A transform whose length is not a power of two.
    TransformLength,
    /// A list that should be a permutation and is not.
    Permutation,
    /// An element that is invalid or that the op refuses: a number that is not below its prime,
    /// a point off its curve or at infinity.
    Element,
    /// A result that overlaps an operand, or itself.
    Aliasing,
    /// Coefficients where values are due, or values where coefficients are.
    Repr,
    /// A transcript without room, or whose proof has another length.
    Transcript,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 13] = [
        Self::ArgumentCount,
        Self::ArgumentType,
        Self::Dtype,
        Self::Shape,
        Self::Axis,
        Self::Range,
        Self::Modulus,
        Self::TransformLength,
        Self::Permutation,
        Self::Element,
        Self::Aliasing,
        Self::Repr,
        Self::Transcript,
    ];

    /// The code as users see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ArgumentCount => "argument-count",
            Self::ArgumentType => "argument-type",
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::Axis => "axis",
            Self::Range => "range",
            Self::Modulus => "modulus",
            Self::TransformLength => "transform-length",
            Self::Permutation => "permutation",
            Self::Element => "element",
            Self::Aliasing => "aliasing",
            Self::Repr => "repr",
            Self::Transcript => "transcript",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that is wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpError {
    /// The kind.
    pub code: Code,
    /// The parameter it is about; empty if it is about the whole call.
    pub operand: &'static str,
    /// The expected value or property, in words.
    pub expected: String,
    /// The actual one.
    pub got: String,
    /// Advice; may be empty.
    pub hint: &'static str,
}

impl OpError {
    /// A finding about one operand.
    #[must_use]
    pub fn new(
        code: Code,
        operand: &'static str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self {
            code,
            operand,
            expected: expected.into(),
            got: got.into(),
            hint: "",
        }
    }

    /// A finding about an operand's shape.
    #[must_use]
    pub fn shape(operand: &'static str, expected: impl Into<String>, got: &Shape) -> Self {
        Self::new(Code::Shape, operand, expected, got.to_string())
    }

    /// A finding about an element type.
    #[must_use]
    pub fn dtype(operand: &'static str, expected: impl Into<String>, got: DType) -> Self {
        Self::new(Code::Dtype, operand, expected, got.name())
    }

    /// A finding about a number or an index.
    #[must_use]
    pub fn range(
        operand: &'static str,
        expected: impl Into<String>,
        got: impl fmt::Display,
    ) -> Self {
        Self::new(Code::Range, operand, expected, got.to_string())
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.operand.is_empty() {
            write!(f, "`{}`: ", self.operand)?;
        }
        write!(f, "expected {}, got {}", self.expected, self.got)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for OpError {}
