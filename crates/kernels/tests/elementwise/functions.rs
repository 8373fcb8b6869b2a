//! Functions of real numbers against Rust's, and of complex ones against those.

use crate::element::{C64, C128, Complex, Element};
use crate::harness::check_close;

type RealFunction = fn(f64) -> f64;
type ComplexFunction = fn(C128) -> C128;

/// Whether two floats are equal, or within so many units in the last place. Kernels are within 2.3
/// of the exact value, Rust's functions within 1.
fn within(want: f64, got: f64, least: f64, epsilon: f64, units: f64) -> bool {
    want.same(got) || (want - got).abs() <= units * (want.abs() * epsilon).max(least)
}

fn check_real(kernel: &str, function: RealFunction) {
    check_close::<1, f64, f64>(
        kernel,
        |[a]| function(a),
        |_, want, got| within(want, got, 5e-324, f64::EPSILON, 3.0),
    );
    check_close::<1, f32, f32>(
        kernel,
        |[a]| function(a.into()) as f32,
        |_, want, got| within(want.into(), got.into(), 1e-45, f32::EPSILON.into(), 2.0),
    );
}

#[test]
fn real_functions_are_within_three_units_in_the_last_place() {
    let functions: [(&str, RealFunction); 18] = [
        ("exp", f64::exp),
        ("expm1", f64::exp_m1),
        ("log", f64::ln),
        ("log1p", f64::ln_1p),
        ("log2", f64::log2),
        ("log10", f64::log10),
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("asin", f64::asin),
        ("acos", f64::acos),
        ("atan", f64::atan),
        ("sinh", f64::sinh),
        ("cosh", f64::cosh),
        ("tanh", f64::tanh),
        ("sqrt", f64::sqrt),
        ("asinh", asinh),
        ("acosh", acosh),
    ];
    for (kernel, function) in functions {
        check_real(kernel, function);
    }
    check_real("atanh", atanh);
}

/// Rust's own lose bits near 0.
fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let sum = match size {
        s if s < 1e8 => (s + s * s / (1.0 + (s * s + 1.0).sqrt())).ln_1p(),
        s => s.ln() + std::f64::consts::LN_2,
    };
    sum.copysign(x)
}

fn acosh(x: f64) -> f64 {
    let over = x - 1.0;
    match x {
        x if x < 1.0 => f64::NAN,
        x if x > 1e8 => x.ln() + std::f64::consts::LN_2,
        _ => (over + (over * (over + 2.0)).sqrt()).ln_1p(),
    }
}

fn atanh(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * (2.0 * size / (1.0 - size)).ln_1p()).copysign(x)
}

fn check_pair(kernel: &str, function: fn(f64, f64) -> f64) {
    check_close::<2, f64, f64>(
        kernel,
        |[a, b]| function(a, b),
        |_, want, got| within(want, got, 5e-324, f64::EPSILON, 2.0),
    );
    check_close::<2, f32, f32>(
        kernel,
        |[a, b]| function(a.into(), b.into()) as f32,
        |_, want, got| within(want.into(), got.into(), 1e-45, f32::EPSILON.into(), 2.0),
    );
}

#[test]
fn functions_of_two_numbers_are_within_two_units_in_the_last_place() {
    check_pair("atan2", f64::atan2);
    check_pair("hypot", f64::hypot);
    check_pair("logaddexp", |a, b| {
        let (large, small) = if a > b { (a, b) } else { (b, a) };
        match (a, b) {
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            _ if large == small => large + std::f64::consts::LN_2,
            _ => large + (small - large).exp().ln_1p(),
        }
    });
    let next = |a: f64, b: f64| match () {
        () if a.is_nan() || b.is_nan() => f64::NAN,
        () if a == b => b,
        () if a < b => a.next_up(),
        () => a.next_down(),
    };
    let kernel = "nextafter";
    // The least subnormal keeps the sign of the side that it is reached from.
    let same = |want: f64, got: f64| want.same(got) || want == 0.0 && got == 0.0;
    check_close::<2, f64, f64>(kernel, |[a, b]| next(a, b), |_, want, got| same(want, got));
    check_close::<2, f32, f32>(
        kernel,
        |[a, b]| match () {
            () if a.is_nan() || b.is_nan() => f32::NAN,
            () if a == b => b,
            () if a < b => a.next_up(),
            () => a.next_down(),
        },
        |_, want, got| same(want.into(), got.into()),
    );
}

fn complex_exp(z: C128) -> C128 {
    Complex(z.0.exp() * z.1.cos(), z.0.exp() * z.1.sin())
}

fn times(a: C128, b: C128) -> C128 {
    Complex(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn quotient(a: C128, b: C128) -> C128 {
    let size = b.0 * b.0 + b.1 * b.1;
    let product = times(a, Complex(b.0, -b.1));
    Complex(product.0 / size, product.1 / size)
}

fn sinh(z: C128) -> C128 {
    Complex(z.0.sinh() * z.1.cos(), z.0.cosh() * z.1.sin())
}

fn cosh(z: C128) -> C128 {
    Complex(z.0.cosh() * z.1.cos(), z.0.sinh() * z.1.sin())
}

/// i z, and its inverse.
fn turned(z: C128) -> C128 {
    Complex(-z.1, z.0)
}

fn back(z: C128) -> C128 {
    Complex(z.1, -z.0)
}

fn log(z: C128) -> C128 {
    Complex(z.0.hypot(z.1).ln(), z.1.atan2(z.0))
}

/// Relative to the magnitude of the wanted number, and of `scale` where the oracle cancels.
fn near(want: C128, got: C128, scale: f64, epsilon: f64) -> bool {
    let size = want.0.hypot(want.1).max(scale);
    (want.0 - got.0).hypot(want.1 - got.1) <= 16.0 * epsilon * size
}

fn moderate(z: C128) -> bool {
    z.0.is_finite() && z.1.is_finite() && z.0.abs() < 20.0 && z.1.abs() < 20.0
}

fn wide(z: C64) -> C128 {
    Complex(z.0.into(), z.1.into())
}

fn check_complex(kernel: &str, scale: f64, function: ComplexFunction) {
    check_close::<1, C128, C128>(
        kernel,
        |[a]| function(a),
        |[a], want, got| !moderate(a) || near(want, got, scale, f64::EPSILON),
    );
    check_close::<1, C64, C64>(
        kernel,
        |[a]| a,
        |[a], _, got| {
            !moderate(wide(a)) || near(function(wide(a)), wide(got), scale, f32::EPSILON.into())
        },
    );
}

#[test]
fn complex_functions_are_sums_of_real_ones() {
    check_complex("exp", 0.0, complex_exp);
    check_complex("sinh", 0.0, sinh);
    check_complex("cosh", 0.0, cosh);
    check_complex("sin", 0.0, |z| back(sinh(turned(z))));
    check_complex("cos", 0.0, |z| cosh(turned(z)));
    check_complex("tanh", 0.0, |z| quotient(sinh(z), cosh(z)));
    check_complex("tan", 0.0, |z| {
        back(quotient(sinh(turned(z)), cosh(turned(z))))
    });
    check_complex("expm1", 1.0, |z| {
        let exp = complex_exp(z);
        Complex(exp.0 - 1.0, exp.1)
    });
    check_complex("log1p", 1.0, |z| log(Complex(1.0 + z.0, z.1)));
}

fn sqrt(z: C128) -> C128 {
    let (size, half) = (z.0.hypot(z.1).sqrt(), z.1.atan2(z.0) / 2.0);
    Complex(size * half.cos(), size * half.sin())
}

#[test]
fn complex_logarithms_and_roots_have_a_magnitude_and_an_angle() {
    let finite = |z: C128| {
        let size = z.0.abs().max(z.1.abs());
        if (1e-30..1e30).contains(&size) {
            z
        } else {
            Complex(0.5, 2.0)
        }
    };
    let kernels: [(&str, ComplexFunction); 4] = [
        ("log", log),
        ("log2", |z| {
            times(log(z), Complex(std::f64::consts::LOG2_E, 0.0))
        }),
        ("log10", |z| {
            times(log(z), Complex(std::f64::consts::LOG10_E, 0.0))
        }),
        ("sqrt", sqrt),
    ];
    for (kernel, function) in kernels {
        check_close::<1, C128, C128>(
            kernel,
            |[a]| function(a),
            |[a], want, got| finite(a) != a || near(want, got, 1.0, f64::EPSILON),
        );
        check_close::<1, C64, C64>(
            kernel,
            |[a]| a,
            |[a], _, got| {
                let a = wide(a);
                finite(a) != a || near(function(a), wide(got), 1.0, f32::EPSILON.into())
            },
        );
    }
}

#[test]
fn inverses_lead_back() {
    let sin = |z| back(sinh(turned(z)));
    let tan = |z| back(quotient(sinh(turned(z)), cosh(turned(z))));
    let functions: [(&str, &dyn Fn(C128) -> C128); 6] = [
        ("asin", &sin),
        ("acos", &|z| cosh(turned(z))),
        ("atan", &tan),
        ("asinh", &sinh),
        ("acosh", &cosh),
        ("atanh", &|z| quotient(sinh(z), cosh(z))),
    ];
    for (kernel, function) in functions {
        // Near 1 and i, where the inverse is steep, much is lost on the way back.
        let tame = |z: C128| moderate(z) && ((z.0.hypot(z.1) - 1.0).abs() > 0.1);
        check_close::<1, C128, C128>(
            kernel,
            |[a]| a,
            |[a], _, got| !tame(a) || near(a, function(got), 20.0, f64::EPSILON),
        );
        check_close::<1, C64, C64>(
            kernel,
            |[a]| a,
            |[a], _, got| {
                !tame(wide(a)) || near(wide(a), function(wide(got)), 20.0, f32::EPSILON.into())
            },
        );
    }
}

#[test]
fn magnitudes_and_directions_of_complex_numbers_neither_overflow_nor_vanish() {
    check_close::<1, C128, f64>(
        "abs",
        |[a]| a.0.hypot(a.1),
        |_, want, got| within(want, got, 5e-324, f64::EPSILON, 1.0),
    );
    check_close::<1, C64, f32>(
        "abs",
        |[a]| f64::from(a.0).hypot(a.1.into()) as f32,
        |_, want, got| within(want.into(), got.into(), 1e-45, f32::EPSILON.into(), 1.0),
    );
    let unit = |z: C128| {
        // Halved twice in the exponent, so that the magnitude is finite.
        let (re, im) = (z.0 * 0.25, z.1 * 0.25);
        let size = re.hypot(im);
        let finite = size.is_finite() && size > 1e-300;
        finite.then(|| Complex(re / size, im / size))
    };
    let fine = |a: C128, got: C128, epsilon| match unit(a) {
        Some(want) => near(want, got, 0.0, epsilon),
        None if a == Complex(0.0, 0.0) => got == a,
        None if a.0.is_nan() || a.1.is_nan() => got.0.is_nan() && got.1.is_nan(),
        None => true,
    };
    check_close::<1, C128, C128>("sign", |[a]| a, |[a], _, got| fine(a, got, f64::EPSILON));
    check_close::<1, C64, C64>(
        "sign",
        |[a]| a,
        |[a], _, got| fine(wide(a), wide(got), f32::EPSILON.into()),
    );
}
