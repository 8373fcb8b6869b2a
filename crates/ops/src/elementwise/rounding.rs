//! Rounding to integers; an integer stays what it is.

use super::unary;

unary!(
    CEIL,
    "ceil",
    RealNumbers,
    Same,
    "The least integer that is not below `a`."
);

unary!(
    FLOOR,
    "floor",
    RealNumbers,
    Same,
    "The greatest integer that is not above `a`."
);

unary!(
    TRUNC,
    "trunc",
    RealNumbers,
    Same,
    "`a` without its fraction."
);

unary!(
    ROUND,
    "round",
    Numbers,
    Same,
    "The nearest integer; of two, the even one. Of a complex number, each part."
);
