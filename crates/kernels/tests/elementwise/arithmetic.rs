//! Sums, products, quotients, signs and extremes.

use crate::element::{C64, C128, Complex, Element, floats, integers, signed};
use crate::harness::{check, check_close};

#[test]
fn integers_wrap() {
    macro_rules! wraps {
        ($type:ident) => {
            check::<2, $type, $type>("add", |[a, b]| a.wrapping_add(b));
            check::<2, $type, $type>("subtract", |[a, b]| a.wrapping_sub(b));
            check::<2, $type, $type>("multiply", |[a, b]| a.wrapping_mul(b));
            check::<1, $type, $type>("negative", |[a]| a.wrapping_neg());
            check::<1, $type, $type>("square", |[a]| a.wrapping_mul(a));
            check::<1, $type, $type>("positive", |[a]| a);
            check::<2, $type, $type>("maximum", |[a, b]| a.max(b));
            check::<2, $type, $type>("minimum", |[a, b]| a.min(b));
        };
    }
    macro_rules! signs {
        ($type:ident) => {
            check::<1, $type, $type>("abs", |[a]| a.wrapping_abs());
            check::<1, $type, $type>("sign", |[a]| a.signum());
        };
    }
    macro_rules! unsigned {
        ($($type:ident)*) => {$(
            check::<1, $type, $type>("abs", |[a]| a);
            check::<1, $type, $type>("sign", |[a]| a.min(1));
        )*};
    }
    integers!(wraps);
    signed!(signs);
    unsigned!(u8 u16 u32 u64);
}

#[test]
fn floats_are_those_of_ieee_754() {
    macro_rules! rounds {
        ($type:ident) => {
            check::<2, $type, $type>("add", |[a, b]| a + b);
            check::<2, $type, $type>("subtract", |[a, b]| a - b);
            check::<2, $type, $type>("multiply", |[a, b]| a * b);
            check::<2, $type, $type>("divide", |[a, b]| a / b);
            check::<1, $type, $type>("negative", |[a]| -a);
            check::<1, $type, $type>("square", |[a]| a * a);
            check::<1, $type, $type>("positive", |[a]| a);
            check::<1, $type, $type>("reciprocal", |[a]| 1.0 / a);
            check::<1, $type, $type>("abs", |[a]| $type::from_bits(a.to_bits() << 1 >> 1));
            check::<1, $type, $type>("sqrt", |[a]| a.sqrt());
            check::<1, $type, $type>("sign", |[a]| if a == 0.0 { 0.0 } else { a.signum() });
        };
    }
    floats!(rounds);
}

#[test]
fn what_is_not_a_number_wins_over_extremes() {
    macro_rules! extremes {
        ($type:ident) => {
            let nan = |[a, b]: [$type; 2]| (a.is_nan() || b.is_nan()).then_some($type::NAN);
            let either = |_, want: $type, got| want.same(got) || want == 0.0 && got == 0.0;
            let larger = |[a, b]: [$type; 2]| nan([a, b]).unwrap_or(a.max(b));
            let smaller = |[a, b]: [$type; 2]| nan([a, b]).unwrap_or(a.min(b));
            check_close("maximum", larger, either);
            check_close("minimum", smaller, either);
        };
    }
    floats!(extremes);
}

#[test]
fn complex_numbers_add_and_multiply_by_parts() {
    macro_rules! parts {
        ($type:ident) => {
            check::<2, $type, $type>("add", |[a, b]| Complex(a.0 + b.0, a.1 + b.1));
            check::<2, $type, $type>("subtract", |[a, b]| Complex(a.0 - b.0, a.1 - b.1));
            check::<1, $type, $type>("negative", |[a]| Complex(-a.0, -a.1));
            check::<1, $type, $type>("positive", |[a]| a);
            let product =
                |a: $type, b: $type| Complex(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
            check::<2, $type, $type>("multiply", |[a, b]| product(a, b));
            check::<1, $type, $type>("square", |[a]| product(a, a));
        };
    }
    parts!(C64);
    parts!(C128);
}

/// Whether complex numbers are neighbours, relative to the magnitude of the wanted one.
fn near(want: C128, got: C128, epsilon: f64) -> bool {
    let distance = (want.0 - got.0).hypot(want.1 - got.1);
    distance <= 4.0 * epsilon * want.0.hypot(want.1)
}

#[test]
fn complex_quotients_keep_their_accuracy_over_the_whole_range() {
    let quotient = |a: C128, b: C128| {
        // Powers of two keep squares in range and change no bit.
        let scale = 2f64.powi(-(b.0.abs().max(b.1.abs()).log2().floor() as i32).clamp(-1000, 1000));
        let (c, d) = (b.0 * scale, b.1 * scale);
        let square = c * c + d * d;
        let part = |x: f64, y: f64| (x / square * c + y / square * d) * scale;
        Complex(part(a.0, a.1), part(a.1, -a.0))
    };
    let wide = |a: C64| Complex(f64::from(a.0), f64::from(a.1));
    let usual = |x: C128| {
        let size = x.0.abs().max(x.1.abs());
        x.0.is_finite() && x.1.is_finite() && (1e-30..1e30).contains(&size)
    };
    let fine = |a, b, got: C128, epsilon| {
        let want = quotient(a, b);
        !usual(a) || !usual(b) || !usual(want) || near(want, got, epsilon)
    };
    check_close::<2, C128, C128>(
        "divide",
        |[a, b]| quotient(a, b),
        |[a, b], _, got| fine(a, b, got, f64::EPSILON),
    );
    check_close::<2, C64, C64>(
        "divide",
        |[a, _]| a,
        |[a, b], _, got| fine(wide(a), wide(b), wide(got), f32::EPSILON.into()),
    );
    check_close::<1, C128, C128>(
        "reciprocal",
        |[a]| quotient(Complex(1.0, 0.0), a),
        |[a], _, got| fine(Complex(1.0, 0.0), a, got, f64::EPSILON),
    );
    check_close::<1, C64, C64>(
        "reciprocal",
        |[a]| a,
        |[a], _, got| fine(Complex(1.0, 0.0), wide(a), wide(got), f32::EPSILON.into()),
    );
}
