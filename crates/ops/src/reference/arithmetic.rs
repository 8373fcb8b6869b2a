//! Sums, products and quotients of numbers of any kind. Integers keep all their bits until they
//! are stored; floats are rounded after each operation, as IEEE 754 has it.

use super::Number::{self, Complex, Element, Int, Open, Point, Real};
use super::field::Field;
use super::number::rounded;
use super::points::Curve;
use super::{complex, complex::C};
use cloakwork_ir::DType;

/// `a + b`.
#[must_use]
pub fn add(dtype: DType, a: &Number, b: &Number) -> Number {
    match (a, b) {
        (Int(a), Int(b)) => Int(a.wrapping_add(*b)),
        (Real(a), Real(b)) => Real(rounded(dtype, a + b)),
        (Complex(a, b), Complex(c, d)) => Complex(rounded(dtype, a + c), rounded(dtype, b + d)),
        (Element(a), Element(b)) => Element(Field::of(dtype).add(a, b)),
        (Point(a), Point(b)) => Point(Curve::of(dtype).add(a, b)),
        _ => Open,
    }
}

/// `-a`.
#[must_use]
pub fn negative(dtype: DType, a: &Number) -> Number {
    match a {
        Int(a) => Int(a.wrapping_neg()),
        Real(a) => Real(-a),
        Complex(re, im) => Complex(-re, -im),
        Element(a) => Element(Field::of(dtype).negative(a)),
        Point(a) => Point(Curve::of(dtype).negative(a)),
        Open => Open,
    }
}

/// `a - b`.
#[must_use]
pub fn subtract(dtype: DType, a: &Number, b: &Number) -> Number {
    add(dtype, a, &negative(dtype, b))
}

/// `a * b`.
#[must_use]
pub fn multiply(dtype: DType, a: &Number, b: &Number) -> Number {
    let round = |x| rounded(dtype, x);
    match (a, b) {
        (Int(a), Int(b)) => Int(a.wrapping_mul(*b)),
        (Real(a), Real(b)) => Real(round(a * b)),
        (Complex(a, b), Complex(c, d)) => Complex(
            round(round(a * c) - round(b * d)),
            round(round(a * d) + round(b * c)),
        ),
        (Element(a), Element(b)) => Element(Field::of(dtype).multiply(a, b)),
        _ => Open,
    }
}

/// `a / b`; in a field 0 where b is 0. Quotients of complex numbers near the ends of their range
/// are open.
#[must_use]
pub fn divide(dtype: DType, a: &Number, b: &Number) -> Number {
    match (a, b) {
        (Real(a), Real(b)) => Real(rounded(dtype, a / b)),
        (Complex(a, b), Complex(c, d)) => quotient(dtype, C(*a, *b), C(*c, *d)),
        (Element(a), Element(b)) => {
            let field = Field::of(dtype);
            Element(field.multiply(a, &field.inverse(b)))
        }
        _ => Open,
    }
}

fn quotient(dtype: DType, a: C, b: C) -> Number {
    let usual = |z: C| (1e-30..1e30).contains(&z.0.abs().max(z.1.abs()));
    let is_zero = a == C(0.0, 0.0) && usual(b);
    let is_usual = usual(a) && usual(b);
    if !is_usual && !is_zero {
        return Open;
    }
    let quotient = complex::divide(a, b);
    // What underflows on the way in binary32 is lost.
    if is_zero || usual(quotient) || dtype == DType::C128 {
        Complex(quotient.0, quotient.1)
    } else {
        Open
    }
}

/// The quotient of integers rounded down, and the remainder; zeros for a divisor of 0.
#[must_use]
pub fn divide_down(a: i128, b: i128) -> (i128, i128) {
    if b == 0 {
        return (0, 0);
    }
    let (quotient, rest) = (a / b, a % b);
    if rest != 0 && (rest < 0) != (b < 0) {
        (quotient - 1, rest + b)
    } else {
        (quotient, rest)
    }
}

/// An integer to an integer's power: its low bits, or for a negative exponent the
/// truncated quotient, 0 for a base of 0.
#[must_use]
pub fn integer_power(a: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match a {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut power, mut base, mut left) = (1i128, a, exponent);
    while left != 0 {
        if left % 2 != 0 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        left /= 2;
    }
    power
}
