//! Roots, exponentials, logarithms and angles, with the special cases of the array API standard.

use super::{binary, unary};

unary!(
    SQRT,
    "sqrt",
    Floats,
    Same,
    "The square root; NaN of what is below 0."
);

unary!(EXP, "exp", Floats, Same, "`e ** a`.");

unary!(EXPM1, "expm1", Floats, Same, "`e ** a - 1`, exact near 0.");

unary!(LOG, "log", Floats, Same, "The natural logarithm.");

unary!(LOG1P, "log1p", Floats, Same, "`log(1 + a)`, exact near 0.");

unary!(LOG2, "log2", Floats, Same, "The logarithm to base 2.");

unary!(LOG10, "log10", Floats, Same, "The logarithm to base 10.");

unary!(SIN, "sin", Floats, Same, "The sine of `a` radians.");

unary!(COS, "cos", Floats, Same, "The cosine of `a` radians.");

unary!(TAN, "tan", Floats, Same, "The tangent of `a` radians.");

unary!(ASIN, "asin", Floats, Same, "The inverse sine, in radians.");

unary!(
    ACOS,
    "acos",
    Floats,
    Same,
    "The inverse cosine, in radians."
);

unary!(
    ATAN,
    "atan",
    Floats,
    Same,
    "The inverse tangent, in radians."
);

unary!(SINH, "sinh", Floats, Same, "The hyperbolic sine.");

unary!(COSH, "cosh", Floats, Same, "The hyperbolic cosine.");

unary!(TANH, "tanh", Floats, Same, "The hyperbolic tangent.");

unary!(ASINH, "asinh", Floats, Same, "The inverse hyperbolic sine.");

unary!(
    ACOSH,
    "acosh",
    Floats,
    Same,
    "The inverse hyperbolic cosine."
);

unary!(
    ATANH,
    "atanh",
    Floats,
    Same,
    "The inverse hyperbolic tangent."
);

binary!(
    ATAN2,
    "atan2",
    RealFloats,
    Same,
    "The angle of the point (`b`, `a`), in radians from -pi to pi."
);

binary!(
    LOGADDEXP,
    "logaddexp",
    RealFloats,
    Same,
    "`log(exp(a) + exp(b))` without overflow on the way."
);
