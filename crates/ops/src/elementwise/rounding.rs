//! Rounding to integers; integers do not change.

use super::unary;
use crate::reference::Number;
use crate::reference::number::Accuracy;

unary!(
    CEIL,
    "ceil",
    RealNumbers,
    Same,
    "The least integer that is not below `a`.",
    Accuracy::EXACT,
    |_, x| rounded(&x[0], f64::ceil)
);

unary!(
    FLOOR,
    "floor",
    RealNumbers,
    Same,
    "The greatest integer that is not above `a`.",
    Accuracy::EXACT,
    |_, x| rounded(&x[0], f64::floor)
);

unary!(
    TRUNC,
    "trunc",
    RealNumbers,
    Same,
    "`a` without its fraction.",
    Accuracy::EXACT,
    |_, x| rounded(&x[0], f64::trunc)
);

unary!(
    ROUND,
    "round",
    Numbers,
    Same,
    "The nearest integer, ties to even. For complex numbers, each part.",
    Accuracy::EXACT,
    |_, x| rounded(&x[0], f64::round_ties_even)
);

/// Floats are rounded, parts of complex ones each; an integer stays.
fn rounded(x: &Number, round: fn(f64) -> f64) -> Number {
    match x {
        Number::Real(x) => Number::Real(round(*x)),
        Number::Complex(re, im) => Number::Complex(round(*re), round(*im)),
        other => other.clone(),
    }
}
