//! Comparisons, tests and logic: results are bool.

use super::{binary, unary};
use crate::Law;
use crate::reference::Number;
use crate::reference::number::Accuracy;

/// Declares ops whose results are truths: the number of operands, name, types, description, test.
macro_rules! truths {
    ($($operands:ident $name:ident, $text:literal, $takes:ident, $doc:literal, $truth:expr
       $(, $law:expr)*;)*) => {
        $($operands!($name, $text, $takes, Bool, $doc, Accuracy::EXACT, |_, x| {
            let truth: fn(&[Number]) -> bool = $truth;
            Number::truth(truth(x))
        } $(, $law)*);)*
    };
}

truths! {
    binary EQUAL, "equal", Any, "`out = a == b`.", |x| x[0] == x[1], Law::Commutes;
    binary NOT_EQUAL, "not_equal", Any, "`out = a != b`.", |x| x[0] != x[1], Law::Commutes;
    binary LESS, "less", Comparable,
        "`out = a < b`; elements of prime fields by their canonical numbers.",
        |x| x[0].is_less(&x[1]);
    binary LESS_EQUAL, "less_equal", Comparable, "`out = a <= b`.",
        |x| x[0].is_less(&x[1]) || x[0] == x[1];
    binary GREATER, "greater", Comparable, "`out = a > b`.", |x| x[1].is_less(&x[0]);
    binary GREATER_EQUAL, "greater_equal", Comparable, "`out = a >= b`.",
        |x| x[1].is_less(&x[0]) || x[0] == x[1];
    binary LOGICAL_AND, "logical_and", Bool, "`out = a and b`.",
        |x| x[0].is_true() && x[1].is_true();
    binary LOGICAL_OR, "logical_or", Bool, "`out = a or b`.", |x| x[0].is_true() || x[1].is_true();
    binary LOGICAL_XOR, "logical_xor", Bool, "`out = bool(a) != bool(b)`.",
        |x| x[0].is_true() != x[1].is_true();
    unary LOGICAL_NOT, "logical_not", Bool, "`out = not a`.", |x| !x[0].is_true();
    unary ISFINITE, "isfinite", Floats, "Whether `a` is neither infinite nor NaN.",
        |x| x[0].real().is_finite() && x[0].imaginary().is_finite();
    unary ISINF, "isinf", Floats,
        "Whether `a` is infinite; of a complex number, whether a part is.",
        |x| x[0].real().is_infinite() || x[0].imaginary().is_infinite();
    unary ISNAN, "isnan", Floats, "Whether `a` is NaN; of a complex number, whether a part is.",
        |x| x[0].is_nan();
    unary SIGNBIT, "signbit", RealFloats,
        "Whether the sign bit of `a` is set, also for -0 and NaN.",
        |x| x[0].real().is_sign_negative();
}
