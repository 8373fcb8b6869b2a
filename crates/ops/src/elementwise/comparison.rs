//! Comparisons, tests and logic: results are bool.

use super::{binary, unary};
use crate::Law;

binary!(EQUAL, "equal", Any, Bool, "`out = a == b`.", Law::Commutes);

binary!(
    NOT_EQUAL,
    "not_equal",
    Any,
    Bool,
    "`out = a != b`.",
    Law::Commutes
);

binary!(
    LESS,
    "less",
    Comparable,
    Bool,
    "`out = a < b`; elements of fields by their canonical numbers."
);

binary!(
    LESS_EQUAL,
    "less_equal",
    Comparable,
    Bool,
    "`out = a <= b`."
);

binary!(GREATER, "greater", Comparable, Bool, "`out = a > b`.");

binary!(
    GREATER_EQUAL,
    "greater_equal",
    Comparable,
    Bool,
    "`out = a >= b`."
);

binary!(LOGICAL_AND, "logical_and", Bool, Bool, "`out = a and b`.");

binary!(LOGICAL_OR, "logical_or", Bool, Bool, "`out = a or b`.");

binary!(
    LOGICAL_XOR,
    "logical_xor",
    Bool,
    Bool,
    "`out = a != b` of truths."
);

unary!(LOGICAL_NOT, "logical_not", Bool, Bool, "`out = not a`.");

unary!(
    ISFINITE,
    "isfinite",
    Floats,
    Bool,
    "Whether `a` is neither infinite nor NaN."
);

unary!(
    ISINF,
    "isinf",
    Floats,
    Bool,
    "Whether `a` is infinite; of a complex number, whether a part is."
);

unary!(
    ISNAN,
    "isnan",
    Floats,
    Bool,
    "Whether `a` is NaN; of a complex number, whether a part is."
);

unary!(
    SIGNBIT,
    "signbit",
    RealFloats,
    Bool,
    "Whether the sign bit of `a` is set: of -0 and of NaN, too."
);
