//! Sums, products, quotients and what is near them.

use super::{binary, unary};
use crate::{Law, ReprRule};

const SUM: Law = Law::Reprs(ReprRule::Sum);
const PRODUCT: Law = Law::Reprs(ReprRule::Product);

binary!(
    ADD,
    "add",
    Sums,
    Same,
    "`out = a + b`. Integers wrap.",
    Law::Commutes,
    SUM
);

binary!(
    SUBTRACT,
    "subtract",
    Sums,
    Same,
    "`out = a - b`. Integers wrap.",
    SUM
);

binary!(
    MULTIPLY,
    "multiply",
    Rings,
    Same,
    "`out = a * b`. Integers wrap.",
    Law::Commutes,
    PRODUCT
);

binary!(
    DIVIDE,
    "divide",
    Divisible,
    Same,
    "`out = a / b`. In a field, 0 where `b` is 0.",
    PRODUCT
);

binary!(
    FLOOR_DIVIDE,
    "floor_divide",
    RealNumbers,
    Same,
    "`out = floor(a / b)`. Integers divided by zero give 0."
);

binary!(
    REMAINDER,
    "remainder",
    RealNumbers,
    Same,
    "`out = a - b * floor(a / b)`: the sign of `b`, as Python has it. Integers divided by zero \
     give 0."
);

binary!(
    POW,
    "pow",
    Numbers,
    Same,
    "`out = a ** b`. Integers wrap; a negative exponent of an integer gives the truncated quotient \
     `1 / a ** -b`, and 0 where `a` is 0."
);

binary!(
    MAXIMUM,
    "maximum",
    Ordered,
    Same,
    "The larger of `a` and `b`; NaN where one of them is.",
    Law::Commutes
);

binary!(
    MINIMUM,
    "minimum",
    Ordered,
    Same,
    "The smaller of `a` and `b`; NaN where one of them is.",
    Law::Commutes
);

unary!(
    NEGATIVE,
    "negative",
    Sums,
    Same,
    "`out = -a`. Integers wrap.",
    Law::Reprs(ReprRule::As("a"))
);

unary!(
    POSITIVE,
    "positive",
    Numbers,
    Same,
    "`out = +a`: a copy.",
    Law::Reprs(ReprRule::As("a"))
);

unary!(
    SQUARE,
    "square",
    Rings,
    Same,
    "`out = a * a`. Integers wrap.",
    PRODUCT
);

unary!(
    RECIPROCAL,
    "reciprocal",
    Divisible,
    Same,
    "`out = 1 / a`. In a field, 0 where `a` is 0; elements share inversions.",
    Law::Reprs(ReprRule::Values(&["a"]))
);

unary!(
    SIGN,
    "sign",
    Numbers,
    Same,
    "-1, 0 or 1 by the sign of `a`, NaN where `a` is; for complex numbers `a / |a|`, and 0 where \
     `a` is 0."
);

unary!(CONJ, "conj", Complex, Same, "The complex conjugate.");

unary!(REAL, "real", Complex, Component, "The real part.");

unary!(IMAG, "imag", Complex, Component, "The imaginary part.");

binary!(
    COPYSIGN,
    "copysign",
    RealFloats,
    Same,
    "The magnitude of `a` with the sign of `b`."
);

binary!(
    NEXTAFTER,
    "nextafter",
    RealFloats,
    Same,
    "The next representable number after `a` towards `b`."
);

binary!(
    HYPOT,
    "hypot",
    RealFloats,
    Same,
    "`sqrt(a^2 + b^2)` without overflow on the way."
);
