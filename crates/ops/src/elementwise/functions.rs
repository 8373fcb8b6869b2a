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

unary!(
    SQRT,
    "sqrt",
    Floats,
    Same,
    "The square root; NaN for a negative `a`.",
    Accuracy::of_complex(16.0),
    |_, x| function(&x[0], f64::sqrt, complex::sqrt, 1e300)
);

unary!(
    EXP,
    "exp",
    Floats,
    Same,
    "`e ** a`.",
    NEAR,
    |_, x| function(&x[0], f64::exp, complex::exp, 80.0)
);

unary!(
    EXPM1,
    "expm1",
    Floats,
    Same,
    "`e ** a - 1`, exact near 0.",
    NEAR,
    |_, x| function(&x[0], f64::exp_m1, complex::expm1, 80.0)
);

unary!(
    LOG,
    "log",
    Floats,
    Same,
    "The natural logarithm.",
    NEAR,
    |_, x| function(&x[0], f64::ln, complex::log, 1e300)
);

unary!(
    LOG1P,
    "log1p",
    Floats,
    Same,
    "`log(1 + a)`, exact near 0.",
    NEAR,
    |_, x| function(&x[0], f64::ln_1p, complex::log1p, 1e300)
);

unary!(
    LOG2,
    "log2",
    Floats,
    Same,
    "The logarithm to base 2.",
    NEAR,
    |_, x| function(&x[0], f64::log2, complex::log2, 1e300)
);

unary!(
    LOG10,
    "log10",
    Floats,
    Same,
    "The logarithm to base 10.",
    NEAR,
    |_, x| function(&x[0], f64::log10, complex::log10, 1e300)
);

unary!(
    SIN,
    "sin",
    Floats,
    Same,
    "The sine of `a` radians.",
    NEAR,
    |_, x| function(&x[0], f64::sin, complex::sin, 80.0)
);

unary!(
    COS,
    "cos",
    Floats,
    Same,
    "The cosine of `a` radians.",
    NEAR,
    |_, x| function(&x[0], f64::cos, complex::cos, 80.0)
);

unary!(
    TAN,
    "tan",
    Floats,
    Same,
    "The tangent of `a` radians.",
    NEAR,
    |_, x| function(&x[0], f64::tan, complex::tan, 80.0)
);

unary!(
    ASIN,
    "asin",
    Floats,
    Same,
    "The inverse sine, in radians.",
    NEAR,
    |_, x| function(&x[0], f64::asin, complex::asin, 1e100)
);

unary!(
    ACOS,
    "acos",
    Floats,
    Same,
    "The inverse cosine, in radians.",
    NEAR,
    |_, x| function(&x[0], f64::acos, complex::acos, 1e100)
);

unary!(
    ATAN,
    "atan",
    Floats,
    Same,
    "The inverse tangent, in radians.",
    NEAR,
    |_, x| function(&x[0], f64::atan, complex::atan, 1e100)
);

unary!(
    SINH,
    "sinh",
    Floats,
    Same,
    "The hyperbolic sine.",
    NEAR,
    |_, x| function(&x[0], f64::sinh, complex::sinh, 80.0)
);

unary!(
    COSH,
    "cosh",
    Floats,
    Same,
    "The hyperbolic cosine.",
    NEAR,
    |_, x| function(&x[0], f64::cosh, complex::cosh, 80.0)
);

unary!(
    TANH,
    "tanh",
    Floats,
    Same,
    "The hyperbolic tangent.",
    NEAR,
    |_, x| function(&x[0], f64::tanh, complex::tanh, 80.0)
);

unary!(
    ASINH,
    "asinh",
    Floats,
    Same,
    "The inverse hyperbolic sine.",
    NEAR,
    |_, x| function(&x[0], real::asinh, complex::asinh, 1e100)
);

unary!(
    ACOSH,
    "acosh",
    Floats,
    Same,
    "The inverse hyperbolic cosine.",
    NEAR,
    |_, x| function(&x[0], real::acosh, complex::acosh, 1e100)
);

unary!(
    ATANH,
    "atanh",
    Floats,
    Same,
    "The inverse hyperbolic tangent.",
    NEAR,
    |_, x| function(&x[0], real::atanh, complex::atanh, 1e100)
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
    NEAR,
    |_, x| Number::Real(real::logaddexp(x[0].real(), x[1].real()))
);
