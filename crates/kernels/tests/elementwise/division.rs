//! Quotients rounded down, remainders, and powers.

use crate::element::{C64, C128, Complex, Element, floats, integers, signed};
use crate::harness::{check, check_close};

#[test]
fn integers_divide_as_pythons_do_and_zero_divides_to_zero() {
    macro_rules! divides {
        ($type:ident) => {
            // Rounded down in 128 bits, where nothing overflows.
            let down = |a: $type, b: $type| {
                let (a, b) = (a as i128, b as i128);
                if b == 0 {
                    0
                } else {
                    a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)
                }
            };
            check::<2, $type, $type>("floor_divide", |[a, b]| down(a, b) as $type);
            check::<2, $type, $type>("remainder", |[a, b]| {
                if b == 0 {
                    0
                } else {
                    (a as i128 - down(a, b) * b as i128) as $type
                }
            });
        };
    }
    integers!(divides);
}

#[test]
fn float_remainders_have_the_divisors_sign() {
    macro_rules! remainders {
        ($type:ident) => {
            check::<2, $type, $type>("remainder", |[a, b]| {
                let rest = a % b;
                match rest {
                    0.0 => (0.0 as $type).copysign(b),
                    _ if (rest < 0.0) != (b < 0.0) => rest + b,
                    _ => rest,
                }
            });
        };
    }
    floats!(remainders);
}

#[test]
fn float_quotients_are_rounded_down_from_the_exact_ones() {
    macro_rules! quotients {
        ($type:ident) => {
            let fine = |[a, b]: [$type; 2], _: $type, got: $type| {
                if !a.is_finite() || !b.is_finite() || b == 0.0 {
                    return (a / b).floor().same(got);
                }
                // The quotient of what is left after the remainder is an integer; beyond its bits
                // its neighbours are as good.
                let ((a, b), got) = ((f64::from(a), f64::from(b)), f64::from(got));
                let rest = a % b;
                let below = rest != 0.0 && (rest < 0.0) != (b < 0.0);
                let exact = ((a - rest) / b).round() - f64::from(u8::from(below));
                let sign = exact != 0.0 || got.is_sign_negative() == (a / b).is_sign_negative();
                let same = exact == got || got.is_infinite() && exact.abs() > $type::MAX.into();
                sign && (same
                    || (exact - got).abs() <= 2.0 * exact.abs() * f64::from($type::EPSILON))
            };
            check_close::<2, $type, $type>("floor_divide", |[a, b]| (a / b).floor(), fine);
        };
    }
    floats!(quotients);
}

#[test]
fn a_quotient_that_rounds_up_to_an_integer_is_still_rounded_down() {
    // 1 / 0.1 rounds to 10, but 0.1 in binary is more than a tenth.
    check_close::<2, f64, f64>(
        "floor_divide",
        |[_, _]| 0.0,
        |[a, b], _, got| (a, b) != (1.0, 0.1) || got == 9.0,
    );
}

#[test]
fn integer_powers_wrap_and_negative_exponents_give_the_truncated_inverse() {
    macro_rules! powers {
        ($type:ident) => {
            check::<2, $type, $type>("pow", |[a, b]| {
                if b < 1 && b != 0 {
                    let odd = b & 1 == 1;
                    return match a {
                        1 => 1,
                        _ if a.wrapping_add(1) == 0 => {
                            if odd {
                                a
                            } else {
                                1
                            }
                        }
                        _ => 0,
                    };
                }
                let (mut power, mut base, mut left) = (1 as $type, a, b);
                while left != 0 {
                    if left & 1 == 1 {
                        power = power.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                power
            });
        };
    }
    integers!(powers);
    macro_rules! small {
        ($type:ident) => {
            check_close::<2, $type, $type>(
                "pow",
                |_| 0,
                |[a, b], _, got| {
                    u32::try_from(b).is_err() || b > 70 || got == a.wrapping_pow(b as u32)
                },
            );
        };
    }
    signed!(small);
}

#[test]
fn float_powers_are_the_librarys() {
    check_close::<2, f64, f64>("pow", |[a, b]| a.powf(b), |_, want, got| want.same(got));
    check_close::<2, f32, f32>(
        "pow",
        |[a, b]| f64::from(a).powf(b.into()) as f32,
        |_, want, got| want.same(got) || (want - got).abs() <= want.abs() * f32::EPSILON,
    );
}

/// `exp(b log a)`, whose error grows with the angle.
fn power(a: C128, b: C128) -> C128 {
    if b == Complex(0.0, 0.0) {
        return Complex(1.0, 0.0);
    }
    let (log, angle) = (a.0.hypot(a.1).ln(), a.1.atan2(a.0));
    let (re, im) = (b.0 * log - b.1 * angle, b.0 * angle + b.1 * log);
    Complex(re.exp() * im.cos(), re.exp() * im.sin())
}

#[test]
fn complex_powers_are_exponentials_of_logarithms() {
    let moderate = |x: C128| {
        let size = x.0.hypot(x.1);
        (1e-3..20.0).contains(&size)
    };
    let near = |want: C128, got: C128, epsilon: f64| {
        let size = want.0.hypot(want.1);
        !size.is_finite() || (want.0 - got.0).hypot(want.1 - got.1) <= 300.0 * epsilon * size
    };
    let wide = |x: C64| Complex(f64::from(x.0), f64::from(x.1));
    check_close::<2, C128, C128>(
        "pow",
        |[a, b]| power(a, b),
        |[a, b], want, got| !moderate(a) || !moderate(b) || near(want, got, f64::EPSILON),
    );
    check_close::<2, C64, C64>(
        "pow",
        |[a, _]| a,
        |[a, b], _, got| {
            let (a, b) = (wide(a), wide(b));
            let want = power(a, b);
            let fits = want.0.abs().max(want.1.abs()) < 1e38 && want.0.hypot(want.1) > 1e-35;
            !moderate(a) || !moderate(b) || !fits || near(want, wide(got), f32::EPSILON.into())
        },
    );
}
