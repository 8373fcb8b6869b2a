//! Rounding, tests of floats, signs.

use crate::element::{Bit, C64, C128, Complex, floats, integers};
use crate::harness::check;

#[test]
fn floats_round_and_integers_stay() {
    macro_rules! rounds {
        ($type:ident) => {
            check::<1, $type, $type>("ceil", |[a]| a.ceil());
            check::<1, $type, $type>("floor", |[a]| a.floor());
            check::<1, $type, $type>("trunc", |[a]| a.trunc());
            check::<1, $type, $type>("round", |[a]| a.round_ties_even());
            check::<2, $type, $type>("copysign", |[a, b]| a.copysign(b));
        };
    }
    floats!(rounds);
    macro_rules! stays {
        ($type:ident) => {
            for kernel in ["ceil", "floor", "trunc", "round"] {
                check::<1, $type, $type>(kernel, |[a]| a);
            }
        };
    }
    integers!(stays);
    macro_rules! parts {
        ($type:ident) => {
            check::<1, $type, $type>("round", |[a]| {
                Complex(a.0.round_ties_even(), a.1.round_ties_even())
            });
        };
    }
    parts!(C64);
    parts!(C128);
}

#[test]
fn floats_say_what_they_are() {
    macro_rules! tests {
        ($type:ident) => {
            check::<1, $type, Bit>("isfinite", |[a]| a.is_finite().into());
            check::<1, $type, Bit>("isinf", |[a]| a.is_infinite().into());
            check::<1, $type, Bit>("isnan", |[a]| a.is_nan().into());
            check::<1, $type, Bit>("signbit", |[a]| a.is_sign_negative().into());
        };
    }
    floats!(tests);
    macro_rules! parts {
        ($type:ident) => {
            check::<1, $type, Bit>("isfinite", |[a]| {
                (a.0.is_finite() && a.1.is_finite()).into()
            });
            check::<1, $type, Bit>("isinf", |[a]| {
                (a.0.is_infinite() || a.1.is_infinite()).into()
            });
            check::<1, $type, Bit>("isnan", |[a]| (a.0.is_nan() || a.1.is_nan()).into());
        };
    }
    parts!(C64);
    parts!(C128);
}

#[test]
fn complex_numbers_come_apart() {
    macro_rules! parts {
        ($type:ident, $part:ident) => {
            check::<1, $type, $type>("conj", |[a]| Complex(a.0, -a.1));
            check::<1, $type, $part>("real", |[a]| a.0);
            check::<1, $type, $part>("imag", |[a]| a.1);
        };
    }
    parts!(C64, f32);
    parts!(C128, f64);
}
