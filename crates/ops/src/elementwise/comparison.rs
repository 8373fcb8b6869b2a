//! Comparisons, tests and logic: results are bool.

use super::{binary, unary};
use crate::Law;
use crate::reference::Number;
use crate::reference::number::Accuracy;

binary!(
    EQUAL,
    "equal",
    Any,
    Bool,
    "`out = a == b`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0] == x[1]),
    Law::Commutes
);

binary!(
    NOT_EQUAL,
    "not_equal",
    Any,
    Bool,
    "`out = a != b`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0] != x[1]),
    Law::Commutes
);

binary!(
    LESS,
    "less",
    Comparable,
    Bool,
    "`out = a < b`; elements of prime fields by their canonical numbers.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].is_less(&x[1]))
);

binary!(
    LESS_EQUAL,
    "less_equal",
    Comparable,
    Bool,
    "`out = a <= b`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].is_less(&x[1]) || x[0] == x[1])
);

binary!(
    GREATER,
    "greater",
    Comparable,
    Bool,
    "`out = a > b`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[1].is_less(&x[0]))
);

binary!(
    GREATER_EQUAL,
    "greater_equal",
    Comparable,
    Bool,
    "`out = a >= b`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[1].is_less(&x[0]) || x[0] == x[1])
);

binary!(
    LOGICAL_AND,
    "logical_and",
    Bool,
    Bool,
    "`out = a and b`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].is_true() && x[1].is_true())
);

binary!(
    LOGICAL_OR,
    "logical_or",
    Bool,
    Bool,
    "`out = a or b`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].is_true() || x[1].is_true())
);

binary!(
    LOGICAL_XOR,
    "logical_xor",
    Bool,
    Bool,
    "`out = bool(a) != bool(b)`.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].is_true() != x[1].is_true())
);

unary!(
    LOGICAL_NOT,
    "logical_not",
    Bool,
    Bool,
    "`out = not a`.",
    Accuracy::EXACT,
    |_, x| Number::truth(!x[0].is_true())
);

unary!(
    ISFINITE,
    "isfinite",
    Floats,
    Bool,
    "Whether `a` is neither infinite nor NaN.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].real().is_finite() && x[0].imaginary().is_finite())
);

unary!(
    ISINF,
    "isinf",
    Floats,
    Bool,
    "Whether `a` is infinite; of a complex number, whether a part is.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].real().is_infinite() || x[0].imaginary().is_infinite())
);

unary!(
    ISNAN,
    "isnan",
    Floats,
    Bool,
    "Whether `a` is NaN; of a complex number, whether a part is.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].is_nan())
);

unary!(
    SIGNBIT,
    "signbit",
    RealFloats,
    Bool,
    "Whether the sign bit of `a` is set, also for -0 and NaN.",
    Accuracy::EXACT,
    |_, x| Number::truth(x[0].real().is_sign_negative())
);
