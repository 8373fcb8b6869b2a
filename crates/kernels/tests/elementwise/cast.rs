//! Every type as every other.

use crate::element::{Bit, C64, C128, Complex};
use crate::harness::check;

/// C's conversions as x86 has them: out of range, the least integer of 32 or 64 bits.
fn to_i32(x: f64) -> i32 {
    let x = x.trunc();
    if (-2_147_483_648.0..2_147_483_648.0).contains(&x) {
        x as i32
    } else {
        i32::MIN
    }
}

fn to_i64(x: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) {
        x as i64
    } else {
        i64::MIN
    }
}

fn to_u64(x: f64) -> u64 {
    if (9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&x) {
        x as u64
    } else {
        to_i64(x) as u64
    }
}

/// From the types whose values a closure gives as (i128 or f64, truth) to every type.
macro_rules! casts_of_integer {
    ($($from:ident)*) => {$(
        casts_of_integer!(@to $from: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
        check::<1, $from, Bit>("cast", |[a]| (a != 0).into());
        check::<1, $from, C64>("cast", |[a]| Complex(a as f32, 0.0));
        check::<1, $from, C128>("cast", |[a]| Complex(a as f64, 0.0));
    )*};
    (@to $from:ident: $($to:ident)*) => {$(
        if stringify!($from) != stringify!($to) {
            check::<1, $from, $to>("cast", |[a]| a as $to);
        }
    )*};
}

#[test]
fn integers_keep_their_low_bits_and_round_to_floats() {
    casts_of_integer!(i8 i16 i32 i64 u8 u16 u32 u64);
}

macro_rules! casts_of_parts {
    ($from:ident, $re:expr, $im:expr) => {
        let (re, im) = ($re, $im);
        check::<1, $from, i8>("cast", |[a]| to_i32(re(a)) as i8);
        check::<1, $from, i16>("cast", |[a]| to_i32(re(a)) as i16);
        check::<1, $from, i32>("cast", |[a]| to_i32(re(a)));
        check::<1, $from, i64>("cast", |[a]| to_i64(re(a)));
        check::<1, $from, u8>("cast", |[a]| to_i32(re(a)) as u8);
        check::<1, $from, u16>("cast", |[a]| to_i32(re(a)) as u16);
        check::<1, $from, u32>("cast", |[a]| to_i64(re(a)) as u32);
        check::<1, $from, u64>("cast", |[a]| to_u64(re(a)));
        check::<1, $from, Bit>("cast", |[a]| (re(a) != 0.0 || im(a) != 0.0).into());
    };
}

#[test]
fn floats_lose_their_fraction_and_complex_numbers_their_imaginary_part() {
    casts_of_parts!(f32, |a: f32| f64::from(a), |_: f32| 0.0);
    casts_of_parts!(f64, |a: f64| a, |_: f64| 0.0);
    casts_of_parts!(C64, |a: C64| f64::from(a.0), |a: C64| f64::from(a.1));
    casts_of_parts!(C128, |a: C128| a.0, |a: C128| a.1);
}

#[test]
fn floats_change_precision_by_rounding_once() {
    check::<1, f32, f64>("cast", |[a]| f64::from(a));
    check::<1, f64, f32>("cast", |[a]| a as f32);
    check::<1, f32, C64>("cast", |[a]| Complex(a, 0.0));
    check::<1, f32, C128>("cast", |[a]| Complex(f64::from(a), 0.0));
    check::<1, f64, C64>("cast", |[a]| Complex(a as f32, 0.0));
    check::<1, f64, C128>("cast", |[a]| Complex(a, 0.0));
    check::<1, C64, f32>("cast", |[a]| a.0);
    check::<1, C64, f64>("cast", |[a]| f64::from(a.0));
    check::<1, C128, f32>("cast", |[a]| a.0 as f32);
    check::<1, C128, f64>("cast", |[a]| a.0);
    check::<1, C64, C128>("cast", |[a]| Complex(a.0.into(), a.1.into()));
    check::<1, C128, C64>("cast", |[a]| Complex(a.0 as f32, a.1 as f32));
}

#[test]
fn a_bool_becomes_zero_or_one() {
    macro_rules! to {
        ($($type:ident)*) => {$(
            check::<1, Bit, $type>("cast", |[a]| a.truth().into());
        )*};
    }
    to!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
    check::<1, Bit, C64>("cast", |[a]| Complex(a.truth().into(), 0.0));
    check::<1, Bit, C128>("cast", |[a]| Complex(a.truth().into(), 0.0));
}
