//! References: the definition of each op, slow and obvious, in plain Rust over numbers.
//!
//! Integers and elements of fields are exact (integers of any size, a prime's residues by
//! division, polynomials over them term by term); points are affine, by the formulas of school;
//! sums, orders and transforms follow their definitions. Floats are computed in binary64, and each
//! result says how far a kernel's may be from it: the bound follows from the op's formula, not from
//! what kernels happen to give.
//!
//! A definition may leave a result open (the logarithm of a complex infinity, a product whose
//! order decides whether it overflows): there anything agrees. Factorisations of matrices have
//! many right results; they are judged by what makes them right.

pub mod arithmetic;
pub mod complex;
pub mod digests;
pub mod field;
pub mod matrices;
pub mod number;
pub mod points;
pub mod prime;
pub mod real;
pub mod sample;
pub mod walk;
pub mod words;

pub use number::Number;
pub use words::{Broadcast, add_truncated, canonical, multiply_truncated};

use crate::{Args, OpError};
use cloakwork_ir::DType;

/// Contents of the tensors that a reference reads, by parameter, row-major, as 64-bit words
/// (`HostTensor::words`). `out` is there too, as it was before.
pub trait Contents {
    /// Elements of a tensor parameter; an integer parameter gives one element.
    ///
    /// # Errors
    /// There is no such operand.
    fn words(&self, param: &str) -> Result<&[i64], OpError>;
}

/// Contents of `out` from the contents of the operands.
pub type ReferenceFn = fn(&Args, &dyn Contents) -> Result<Expected, OpError>;

/// Whether these contents of `out` are a right result.
pub type JudgeFn = fn(&Args, &dyn Contents, &[i64]) -> Result<Verdict, OpError>;

/// A judge's verdict on a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Right,
    /// It is wrong.
    Wrong {
        /// The first element, row-major, of the part that is wrong.
        at: u64,
        /// A right result, in words.
        expected: String,
    },
    /// Judging it takes too long.
    TooLarge,
}

/// The definition that an op's kernels are compared with.
#[derive(Clone, Copy)]
pub enum Reference {
    /// The one right result.
    Values(ReferenceFn),
    /// A test of a result, where several results are right.
    Judge(JudgeFn),
    /// No definition: the caller's own code is it.
    Callers,
}

/// The words of a result, and how far from them a kernel's may be.
#[derive(Clone, Debug)]
pub enum Expected {
    /// The same bits; NaN equals NaN.
    Exact(Vec<i64>),
    /// Within `slack` of these words, one a component.
    Near {
        /// The result.
        words: Vec<i64>,
        /// The bound of each component's error.
        slack: Vec<Slack>,
    },
    /// The definition takes too long for operands of this size.
    TooLarge,
}

/// How far a component may be from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slack {
    /// The same bits, or both NaN.
    Bits,
    /// So far, as a number; by 0 zeros of either sign are equal.
    Within(f64),
    /// The definition leaves it open.
    Open,
}

impl From<Vec<i64>> for Expected {
    fn from(words: Vec<i64>) -> Self {
        Self::Exact(words)
    }
}

impl Expected {
    /// The words, unless there are none.
    #[must_use]
    pub fn words(&self) -> Option<&[i64]> {
        match self {
            Self::Exact(words) | Self::Near { words, .. } => Some(words),
            Self::TooLarge => None,
        }
    }

    /// How far component `at` may be away.
    #[must_use]
    pub fn slack(&self, at: usize) -> Slack {
        match self {
            Self::Near { slack, .. } => slack.get(at).copied().unwrap_or(Slack::Bits),
            _ => Slack::Bits,
        }
    }
}

/// Operations that a definition may take: about a minute of a machine.
pub const MOST_OPERATIONS: u64 = 1 << 26;

/// Whether a component agrees with the expected one.
#[must_use]
pub fn agrees(component: DType, got: i64, want: i64, slack: Slack) -> bool {
    if got == want || slack == Slack::Open {
        return true;
    }
    if !component.is_real_float() {
        return false;
    }
    let (got, want) = (number::real(component, got), number::real(component, want));
    if got.is_nan() || want.is_nan() {
        return got.is_nan() && want.is_nan();
    }
    // Nothing is within a distance of an infinity but itself, which the bits told.
    let finite = got.is_finite() && want.is_finite();
    matches!(slack, Slack::Within(most) if finite && (got - want).abs() <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_cancel_are_as_near_as_their_operands_allow() {
        let near = number::Accuracy::units(5.0, 32.0);
        let operands = [Number::Real(-0.75), Number::Real(f64::NEG_INFINITY)];
        let slack =
            |own: number::Accuracy, result| own.slack(DType::F64, &Number::Real(result), &operands);
        assert_eq!(
            slack(near, 0.125),
            Slack::Within(5.0 * 0.125 * f64::EPSILON)
        );
        let sum = near.of_operands();
        assert_eq!(slack(sum, 0.125), Slack::Within(5.0 * 0.75 * f64::EPSILON));
        assert_eq!(slack(sum, -2.0), Slack::Within(5.0 * 2.0 * f64::EPSILON));
    }

    #[test]
    fn agreement_is_of_bits_of_numbers_or_of_nothing() {
        let word = |x: f64| x.to_bits() as i64;
        let within = |got: f64, want: f64, slack| agrees(DType::F64, word(got), word(want), slack);
        assert!(within(1.0, 1.0 + 1e-9, Slack::Within(1e-8)));
        assert!(!within(1.0, 1.0 + 1e-7, Slack::Within(1e-8)));
        assert!(!within(0.0, -0.0, Slack::Bits));
        assert!(within(0.0, -0.0, Slack::Within(0.0)));
        assert!(within(f64::NAN, -f64::NAN, Slack::Bits));
        assert!(!within(f64::NAN, 1.0, Slack::Within(1e300)));
        assert!(!within(
            f64::MAX,
            f64::INFINITY,
            Slack::Within(f64::INFINITY)
        ));
        assert!(!within(
            f64::NEG_INFINITY,
            f64::INFINITY,
            Slack::Within(f64::INFINITY)
        ));
        assert!(within(f64::NAN, 1.0, Slack::Open));
        assert!(!agrees(DType::I64, 1, 2, Slack::Within(5.0)));
    }
}
