//! Functions of real numbers that Rust's library lacks, or computes with fewer bits.

use std::f64::consts::LN_2;

/// The inverse hyperbolic sine.
#[must_use]
pub fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let sum = match size {
        s if s < 1e8 => (s + s * s / (1.0 + (s * s + 1.0).sqrt())).ln_1p(),
        s => s.ln() + LN_2,
    };
    sum.copysign(x)
}

/// The inverse hyperbolic cosine; NaN below 1.
#[must_use]
pub fn acosh(x: f64) -> f64 {
    let over = x - 1.0;
    match x {
        x if x < 1.0 => f64::NAN,
        x if x > 1e8 => x.ln() + LN_2,
        _ => (over + (over * (over + 2.0)).sqrt()).ln_1p(),
    }
}

/// The inverse hyperbolic tangent.
#[must_use]
pub fn atanh(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * (2.0 * size / (1.0 - size)).ln_1p()).copysign(x)
}

/// `log(exp(a) + exp(b))`.
#[must_use]
pub fn logaddexp(a: f64, b: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    match () {
        () if a.is_nan() || b.is_nan() => f64::NAN,
        () if large == small => large + LN_2,
        () => large + (small - large).exp().ln_1p(),
    }
}

/// `floor(a / b)` of the exact quotient; of the rounded one where it is no number of many digits.
#[must_use]
pub fn floor_divide(a: f64, b: f64) -> f64 {
    let ratio = a / b;
    if !a.is_finite() || !b.is_finite() || b == 0.0 || ratio.abs() > 2f64.powi(53) {
        return ratio.floor();
    }
    // The rounded quotient is off by one at most, and the fused product tells to which side.
    let floor = ratio.floor();
    match floor.mul_add(-b, a) {
        rest if rest != 0.0 && (rest < 0.0) != (b < 0.0) => floor - 1.0,
        rest if (rest - b) * b >= 0.0 => floor + 1.0,
        _ => floor,
    }
}

/// `a - b floor(a / b)`, exact but for one rounding; the sign of b, also of a zero.
#[must_use]
pub fn remainder(a: f64, b: f64) -> f64 {
    match a % b {
        0.0 => 0f64.copysign(b),
        rest if (rest < 0.0) != (b < 0.0) => rest + b,
        rest => rest,
    }
}
