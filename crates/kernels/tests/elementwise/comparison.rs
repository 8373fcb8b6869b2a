//! Questions.

use crate::element::{Bit, C64, C128, floats, integers};
use crate::harness::check;

#[test]
fn comparisons_are_those_of_the_numbers() {
    macro_rules! ordered {
        ($type:ident) => {
            check::<2, $type, Bit>("equal", |[a, b]| (a == b).into());
            check::<2, $type, Bit>("not_equal", |[a, b]| (a != b).into());
            check::<2, $type, Bit>("less", |[a, b]| (a < b).into());
            check::<2, $type, Bit>("less_equal", |[a, b]| (a <= b).into());
            check::<2, $type, Bit>("greater", |[a, b]| (a > b).into());
            check::<2, $type, Bit>("greater_equal", |[a, b]| (a >= b).into());
        };
    }
    integers!(ordered);
    floats!(ordered);
    check::<2, C64, Bit>("equal", |[a, b]| (a == b).into());
    check::<2, C64, Bit>("not_equal", |[a, b]| (a != b).into());
    check::<2, C128, Bit>("equal", |[a, b]| (a == b).into());
    check::<2, C128, Bit>("not_equal", |[a, b]| (a != b).into());
}

#[test]
fn bools_compare_as_truths_whatever_their_byte() {
    check::<2, Bit, Bit>("equal", |[a, b]| (a.truth() == b.truth()).into());
    check::<2, Bit, Bit>("not_equal", |[a, b]| (a.truth() != b.truth()).into());
    check::<2, Bit, Bit>("less", |[a, b]| (!a.truth() & b.truth()).into());
    check::<2, Bit, Bit>("less_equal", |[a, b]| (a.truth() <= b.truth()).into());
    check::<2, Bit, Bit>("greater", |[a, b]| (a.truth() & !b.truth()).into());
    check::<2, Bit, Bit>("greater_equal", |[a, b]| (a.truth() >= b.truth()).into());
}
