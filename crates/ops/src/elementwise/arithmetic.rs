//! Sums, products, quotients and similar functions.

use super::{binary, unary};
use crate::reference::number::{Accuracy, rounded};
use crate::reference::{Number, arithmetic, complex, real, walk};
use crate::{Law, ReprRule};
use cloakwork_ir::DType;

const SUM: Law = Law::Reprs(ReprRule::Sum);
const PRODUCT: Law = Law::Reprs(ReprRule::Product);

binary!(
    ADD,
    "add",
    Sums,
    Same,
    "`out = a + b`. Integers wrap.",
    Accuracy::EXACT,
    |dtype, x| arithmetic::add(dtype, &x[0], &x[1]),
    Law::Commutes,
    SUM
);

binary!(
    SUBTRACT,
    "subtract",
    Sums,
    Same,
    "`out = a - b`. Integers wrap.",
    Accuracy::EXACT,
    |dtype, x| arithmetic::subtract(dtype, &x[0], &x[1]),
    SUM
);

binary!(
    MULTIPLY,
    "multiply",
    Rings,
    Same,
    "`out = a * b`. Integers wrap.",
    Accuracy::EXACT,
    |dtype, x| arithmetic::multiply(dtype, &x[0], &x[1]),
    Law::Commutes,
    PRODUCT
);

binary!(
    DIVIDE,
    "divide",
    Divisible,
    Same,
    "`out = a / b`. In a field, 0 where `b` is 0.",
    Accuracy::of_complex(8.0),
    |dtype, x| arithmetic::divide(dtype, &x[0], &x[1]),
    PRODUCT
);

binary!(
    FLOOR_DIVIDE,
    "floor_divide",
    RealNumbers,
    Same,
    "`out = floor(a / b)`. Integers divided by zero give 0.",
    Accuracy::units(2.0, 0.0),
    |_, x| quotient_down(x).0
);

binary!(
    REMAINDER,
    "remainder",
    RealNumbers,
    Same,
    "`out = a - b * floor(a / b)`: the sign of `b`, as in Python. Integers divided by zero \
     give 0.",
    Accuracy::EXACT,
    |dtype, x| rest(dtype, x)
);

binary!(
    POW,
    "pow",
    Numbers,
    Same,
    "`out = a ** b`. Integers wrap; a negative exponent of an integer gives the truncated quotient \
     `1 / a ** -b`, and 0 where `a` is 0.",
    Accuracy::units(4.0, 400.0),
    |_, x| power(x)
);

binary!(
    MAXIMUM,
    "maximum",
    Ordered,
    Same,
    "The larger of `a` and `b`; NaN where either is.",
    Accuracy::EQUAL,
    |_, x| if x[0].is_nan() || x[1].is_less(&x[0]) {
        x[0].clone()
    } else {
        x[1].clone()
    },
    Law::Commutes
);

binary!(
    MINIMUM,
    "minimum",
    Ordered,
    Same,
    "The smaller of `a` and `b`; NaN where either is.",
    Accuracy::EQUAL,
    |_, x| if x[0].is_nan() || x[0].is_less(&x[1]) {
        x[0].clone()
    } else {
        x[1].clone()
    },
    Law::Commutes
);

unary!(
    NEGATIVE,
    "negative",
    Sums,
    Same,
    "`out = -a`. Integers wrap.",
    Accuracy::EXACT,
    |dtype, x| arithmetic::negative(dtype, &x[0]),
    Law::Reprs(ReprRule::As("a"))
);

unary!(
    POSITIVE,
    "positive",
    Numbers,
    Same,
    "`out = +a`: a copy.",
    Accuracy::EXACT,
    |_, x| x[0].clone(),
    Law::Reprs(ReprRule::As("a"))
);

unary!(
    SQUARE,
    "square",
    Rings,
    Same,
    "`out = a * a`. Integers wrap.",
    Accuracy::EXACT,
    |dtype, x| arithmetic::multiply(dtype, &x[0], &x[0]),
    PRODUCT
);

unary!(
    RECIPROCAL,
    "reciprocal",
    Divisible,
    Same,
    "`out = 1 / a`. In a field, 0 where `a` is 0; elements share inversions.",
    Accuracy::of_complex(8.0),
    |dtype, x| arithmetic::divide(dtype, &walk::one(dtype), &x[0]),
    Law::Reprs(ReprRule::Values(&["a"])),
    Law::SharesWork
);

unary!(
    SIGN,
    "sign",
    Numbers,
    Same,
    "-1, 0 or 1 by the sign of `a`, NaN where `a` is; for complex numbers `a / |a|`, and 0 where \
     `a` is 0.",
    Accuracy::of_complex(8.0),
    |_, x| sign(&x[0])
);

unary!(
    CONJ,
    "conj",
    Complex,
    Same,
    "The complex conjugate.",
    Accuracy::EXACT,
    |_, x| Number::Complex(x[0].real(), -x[0].imaginary())
);

unary!(
    REAL,
    "real",
    Complex,
    Component,
    "The real part.",
    Accuracy::EXACT,
    |_, x| Number::Real(x[0].real())
);

unary!(
    IMAG,
    "imag",
    Complex,
    Component,
    "The imaginary part.",
    Accuracy::EXACT,
    |_, x| Number::Real(x[0].imaginary())
);

binary!(
    COPYSIGN,
    "copysign",
    RealFloats,
    Same,
    "The magnitude of `a` with the sign of `b`.",
    Accuracy::EXACT,
    |_, x| Number::Real(x[0].real().copysign(x[1].real()))
);

binary!(
    NEXTAFTER,
    "nextafter",
    RealFloats,
    Same,
    "The next representable number after `a` towards `b`.",
    Accuracy::EQUAL,
    |dtype, x| Number::Real(next_after(dtype, x[0].real(), x[1].real()))
);

binary!(
    HYPOT,
    "hypot",
    RealFloats,
    Same,
    "`sqrt(a^2 + b^2)` without intermediate overflow.",
    Accuracy::units(3.0, 0.0),
    |_, x| Number::Real(x[0].real().hypot(x[1].real()))
);

/// Integers and floats divided, rounded down; for integers the rest, too.
fn quotient_down(x: &[Number]) -> (Number, i128) {
    match (&x[0], &x[1]) {
        (Number::Int(a), Number::Int(b)) => {
            let (quotient, rest) = arithmetic::divide_down(*a, *b);
            (Number::Int(quotient), rest)
        }
        (a, b) => (Number::Real(real::floor_divide(a.real(), b.real())), 0),
    }
}

/// The remainder of a division rounded down.
fn rest(dtype: DType, x: &[Number]) -> Number {
    match &x[0] {
        Number::Int(_) => Number::Int(quotient_down(x).1),
        a => Number::Real(rounded(dtype, real::remainder(a.real(), x[1].real()))),
    }
}

fn power(x: &[Number]) -> Number {
    match (&x[0], &x[1]) {
        (Number::Int(a), Number::Int(b)) => Number::Int(arithmetic::integer_power(*a, *b)),
        (Number::Complex(a, b), Number::Complex(c, d)) => {
            complex::pow(complex::C(*a, *b), complex::C(*c, *d))
        }
        (a, b) => Number::Real(a.real().powf(b.real())),
    }
}

/// -1, 0 or 1, or the direction of a complex number that is neither huge nor tiny.
fn sign(a: &Number) -> Number {
    match a {
        Number::Int(a) => Number::Int(a.signum()),
        Number::Real(a) if *a == 0.0 => Number::Real(0.0),
        Number::Real(a) => Number::Real(a.signum()),
        Number::Complex(0.0, 0.0) => Number::Complex(0.0, 0.0),
        Number::Complex(re, im) if a.is_nan() => Number::Complex(re + im, re + im),
        Number::Complex(re, im) => {
            let size = re.hypot(*im);
            match (1e-30..1e30).contains(&size) {
                true => Number::Complex(re / size, im / size),
                false => Number::Open,
            }
        }
        _ => Number::Open,
    }
}

/// The next number of the type after `a` towards `b`.
fn next_after(dtype: DType, a: f64, b: f64) -> f64 {
    let (narrow, up) = (a as f32, a < b);
    match (dtype, up) {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        _ if a == b => b,
        (DType::F32, true) => narrow.next_up().into(),
        (DType::F32, false) => narrow.next_down().into(),
        (_, true) => a.next_up(),
        (_, false) => a.next_down(),
    }
}
