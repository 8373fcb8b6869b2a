//! Roots, exponentials, logarithms and angles, with the special cases of the array API standard.

use super::{binary, unary};
use crate::reference::number::Accuracy;
use crate::reference::{Number, complex, complex::C, real};

/// Kernels and the reference are each within two units of real functions, and within a few of
/// complex ones, whose parts share the error.
const NEAR: Accuracy = Accuracy::units(5.0, 32.0);

/// A function of a real number, or of a complex one whose parts are at most so large.
fn function(x: &Number, real: fn(f64) -> f64, complex: fn(C) -> C, most: f64) -> Number {
    match x {
        Number::Complex(re, im) => complex::within(C(*re, *im), most, complex),
        other => Number::Real(real(other.real())),
    }
}

/// Declares functions of floats: name, description, the function of a real and of a complex number,
/// and the largest parts of a complex number whose result is compared.
macro_rules! functions {
    ($($name:ident, $text:literal, $doc:literal, $real:expr, $complex:expr, $most:literal;)*) => {
        $(unary!($name, $text, Floats, Same, $doc, NEAR, |_, x| function(
            &x[0], $real, $complex, $most
        ));)*
    };
}

functions! {
    EXP, "exp", "`e ** a`.", f64::exp, complex::exp, 80.0;
    EXPM1, "expm1", "`e ** a - 1`, exact near 0.", f64::exp_m1, complex::expm1, 80.0;
    LOG, "log", "The natural logarithm.", f64::ln, complex::log, 1e300;
    LOG1P, "log1p", "`log(1 + a)`, exact near 0.", f64::ln_1p, complex::log1p, 1e300;
    LOG2, "log2", "The logarithm to base 2.", f64::log2, complex::log2, 1e300;
    LOG10, "log10", "The logarithm to base 10.", f64::log10, complex::log10, 1e300;
    SIN, "sin", "The sine of `a` radians.", f64::sin, complex::sin, 80.0;
    COS, "cos", "The cosine of `a` radians.", f64::cos, complex::cos, 80.0;
    TAN, "tan", "The tangent of `a` radians.", f64::tan, complex::tan, 80.0;
    ASIN, "asin", "The inverse sine, in radians.", f64::asin, complex::asin, 1e100;
    ACOS, "acos", "The inverse cosine, in radians.", f64::acos, complex::acos, 1e100;
    ATAN, "atan", "The inverse tangent, in radians.", f64::atan, complex::atan, 1e100;
    SINH, "sinh", "The hyperbolic sine.", f64::sinh, complex::sinh, 80.0;
    COSH, "cosh", "The hyperbolic cosine.", f64::cosh, complex::cosh, 80.0;
    TANH, "tanh", "The hyperbolic tangent.", f64::tanh, complex::tanh, 80.0;
    ASINH, "asinh", "The inverse hyperbolic sine.", real::asinh, complex::asinh, 1e100;
    ACOSH, "acosh", "The inverse hyperbolic cosine.", real::acosh, complex::acosh, 1e100;
    ATANH, "atanh", "The inverse hyperbolic tangent.", real::atanh, complex::atanh, 1e100;
}

unary!(
    SQRT,
    "sqrt",
    Floats,
    Same,
    "The square root; NaN for a negative `a`.",
    Accuracy::of_complex(16.0),
    |_, x| function(&x[0], f64::sqrt, complex::sqrt, 1e300)
);

binary!(
    ATAN2,
    "atan2",
    RealFloats,
    Same,
    "The angle of the point (`b`, `a`), in radians from -pi to pi.",
    NEAR,
    |_, x| Number::Real(x[0].real().atan2(x[1].real()))
);

binary!(
    LOGADDEXP,
    "logaddexp",
    RealFloats,
    Same,
    "`log(exp(a) + exp(b))` without intermediate overflow.",
    NEAR.of_operands(),
    |_, x| Number::Real(real::logaddexp(x[0].real(), x[1].real()))
);
