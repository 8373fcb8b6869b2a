//! Bits and truths.

use crate::element::{Bit, integers};
use crate::harness::check;

#[test]
fn bits_are_those_of_the_words() {
    macro_rules! words {
        ($type:ident) => {
            check::<2, $type, $type>("bitwise_and", |[a, b]| a & b);
            check::<2, $type, $type>("bitwise_or", |[a, b]| a | b);
            check::<2, $type, $type>("bitwise_xor", |[a, b]| a ^ b);
            check::<1, $type, $type>("bitwise_invert", |[a]| !a);
        };
    }
    integers!(words);
}

#[test]
fn shifts_beyond_the_width_leave_nothing_or_the_sign() {
    macro_rules! shifts {
        ($type:ident) => {
            let count = |b: $type| u32::try_from(b).unwrap_or(u32::MAX);
            check::<2, $type, $type>("bitwise_left_shift", |[a, b]| {
                a.checked_shl(count(b)).unwrap_or(0)
            });
            check::<2, $type, $type>("bitwise_right_shift", |[a, b]| {
                a.checked_shr(count(b))
                    .unwrap_or(a >> 1 >> ($type::BITS - 2) >> 1)
            });
        };
    }
    integers!(shifts);
}

#[test]
fn logic_takes_any_byte_but_zero_for_true() {
    for kernel in ["logical_and", "bitwise_and", "minimum"] {
        check::<2, Bit, Bit>(kernel, |[a, b]| (a.truth() && b.truth()).into());
    }
    for kernel in ["logical_or", "bitwise_or", "maximum"] {
        check::<2, Bit, Bit>(kernel, |[a, b]| (a.truth() || b.truth()).into());
    }
    for kernel in ["logical_xor", "bitwise_xor"] {
        check::<2, Bit, Bit>(kernel, |[a, b]| (a.truth() != b.truth()).into());
    }
    for kernel in ["logical_not", "bitwise_invert"] {
        check::<1, Bit, Bit>(kernel, |[a]| (!a.truth()).into());
    }
}
