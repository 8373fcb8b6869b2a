//! Functions of complex numbers, from those of real ones. Inverse functions by W. Kahan, "Branch
//! cuts for complex elementary functions" (1987). Arguments that are not finite, and results near
//! the ends of the range, are open: Annex G of C's standard has rules for them, which tests
//! against NumPy hold.

use super::{Number, real};

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct C(pub f64, pub f64);

impl C {
    fn scaled(self, factor: f64) -> Self {
        Self(self.0 * factor, self.1 * factor)
    }
    /// `i z`.
    fn turned(self) -> Self {
        Self(-self.1, self.0)
    }
    /// `-i z`.
    fn back(self) -> Self {
        Self(self.1, -self.0)
    }
    fn conjugate(self) -> Self {
        Self(self.0, -self.1)
    }
}

/// A function applied where it is defined: finite arguments of moderate size.
#[must_use]
pub fn within(z: C, most: f64, function: fn(C) -> C) -> Number {
    if !(z.0.abs() <= most && z.1.abs() <= most) {
        return Number::Open;
    }
    let C(re, im) = function(z);
    Number::Complex(re, im)
}

/// `a * b`.
#[must_use]
pub fn multiply(a: C, b: C) -> C {
    C(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// `a / b`, of numbers whose squares are in range.
#[must_use]
pub fn divide(a: C, b: C) -> C {
    multiply(a, b.conjugate()).scaled(1.0 / (b.0 * b.0 + b.1 * b.1))
}

/// `e ** z`.
#[must_use]
pub fn exp(z: C) -> C {
    C(z.0.exp() * z.1.cos(), z.0.exp() * z.1.sin())
}

/// `e ** z - 1`, with all bits near 0.
#[must_use]
pub fn expm1(z: C) -> C {
    let half = (z.1 / 2.0).sin();
    C(
        z.0.exp_m1() * z.1.cos() - 2.0 * half * half,
        z.0.exp() * z.1.sin(),
    )
}

/// The logarithm of the magnitude, and the angle.
#[must_use]
pub fn log(z: C) -> C {
    let near_one = (z.0 - 1.0).abs() < 0.5 && z.1.abs() < 0.5;
    let magnitude = if near_one {
        ((z.0 - 1.0) * (z.0 + 1.0) + z.1 * z.1).ln_1p() / 2.0
    } else {
        z.0.hypot(z.1).ln()
    };
    C(magnitude, z.1.atan2(z.0))
}

/// `log(1 + z)`, with all bits near 0.
#[must_use]
pub fn log1p(z: C) -> C {
    let near = z.0.abs() < 0.5 && z.1.abs() < 0.5;
    let magnitude = if near {
        (z.0 * (2.0 + z.0) + z.1 * z.1).ln_1p() / 2.0
    } else {
        (1.0 + z.0).hypot(z.1).ln()
    };
    C(magnitude, z.1.atan2(1.0 + z.0))
}

/// The logarithm to base 2.
#[must_use]
pub fn log2(z: C) -> C {
    log(z).scaled(std::f64::consts::LOG2_E)
}

/// The logarithm to base 10.
#[must_use]
pub fn log10(z: C) -> C {
    log(z).scaled(std::f64::consts::LOG10_E)
}

/// The root in the right half plane.
#[must_use]
pub fn sqrt(z: C) -> C {
    if z == C(0.0, 0.0) {
        return C(0.0, z.1);
    }
    let larger = ((z.0.abs() + z.0.hypot(z.1)) / 2.0).sqrt();
    let other = z.1.abs() / larger / 2.0;
    let (re, im) = if z.0 >= 0.0 {
        (larger, other)
    } else {
        (other, larger)
    };
    C(re, im.copysign(z.1))
}

/// The hyperbolic sine.
#[must_use]
pub fn sinh(z: C) -> C {
    C(z.0.sinh() * z.1.cos(), z.0.cosh() * z.1.sin())
}

/// The hyperbolic cosine.
#[must_use]
pub fn cosh(z: C) -> C {
    C(z.0.cosh() * z.1.cos(), z.0.sinh() * z.1.sin())
}

/// The hyperbolic tangent.
#[must_use]
pub fn tanh(z: C) -> C {
    if z.0.abs() > 20.0 {
        let rest = 4.0 * z.1.sin() * z.1.cos() * (-2.0 * z.0.abs()).exp();
        return C(1f64.copysign(z.0), rest);
    }
    let (sinh, cos) = (z.0.sinh(), z.1.cos());
    let size = sinh * sinh + cos * cos;
    C(sinh * z.0.cosh() / size, z.1.sin() * cos / size)
}

/// The sine.
#[must_use]
pub fn sin(z: C) -> C {
    sinh(z.turned()).back()
}

/// The cosine.
#[must_use]
pub fn cos(z: C) -> C {
    cosh(z.turned())
}

/// The tangent.
#[must_use]
pub fn tan(z: C) -> C {
    tanh(z.turned()).back()
}

/// The inverse sine.
#[must_use]
pub fn asin(z: C) -> C {
    let (below, above) = (sqrt(C(1.0 - z.0, -z.1)), sqrt(C(1.0 + z.0, z.1)));
    C(
        z.0.atan2(multiply(below, above).0),
        real::asinh(multiply(below.conjugate(), above).1),
    )
}

/// The inverse cosine.
#[must_use]
pub fn acos(z: C) -> C {
    let (below, above) = (sqrt(C(1.0 - z.0, -z.1)), sqrt(C(1.0 + z.0, z.1)));
    C(
        2.0 * below.0.atan2(above.0),
        real::asinh(multiply(above.conjugate(), below).1),
    )
}

/// The inverse hyperbolic sine.
#[must_use]
pub fn asinh(z: C) -> C {
    asin(z.back()).turned()
}

/// The inverse hyperbolic cosine.
#[must_use]
pub fn acosh(z: C) -> C {
    let (below, above) = (sqrt(C(z.0 - 1.0, z.1)), sqrt(C(z.0 + 1.0, z.1)));
    C(
        real::asinh(multiply(below.conjugate(), above).0),
        2.0 * below.1.atan2(above.0),
    )
}

/// The inverse hyperbolic tangent: `(log(1 + z) - log(1 - z)) / 2`.
#[must_use]
pub fn atanh(z: C) -> C {
    let (above, below) = (log1p(z), log1p(C(-z.0, -z.1)));
    C((above.0 - below.0) / 2.0, (above.1 - below.1) / 2.0)
}

/// The inverse tangent.
#[must_use]
pub fn atan(z: C) -> C {
    atanh(z.turned()).back()
}

/// `exp(b log a)`, 1 for an exponent of 0. Open where the logarithm's error is worth more than two
/// digits, and for a base of 0.
#[must_use]
pub fn pow(a: C, b: C) -> Number {
    if b == C(0.0, 0.0) {
        return Number::Complex(1.0, 0.0);
    }
    let exponent = multiply(b, log(a));
    let size = exponent.0.hypot(exponent.1);
    if a == C(0.0, 0.0) || size.is_nan() || size > 100.0 || exponent.0.abs() > 80.0 {
        return Number::Open;
    }
    let C(re, im) = exp(exponent);
    Number::Complex(re, im)
}
