//! Bits of integers.

use super::{binary, unary};
use crate::Law;

binary!(
    BITWISE_AND,
    "bitwise_and",
    Bits,
    Same,
    "`out = a & b`.",
    Law::Commutes
);

binary!(
    BITWISE_OR,
    "bitwise_or",
    Bits,
    Same,
    "`out = a | b`.",
    Law::Commutes
);

binary!(
    BITWISE_XOR,
    "bitwise_xor",
    Bits,
    Same,
    "`out = a ^ b`.",
    Law::Commutes
);

unary!(
    BITWISE_INVERT,
    "bitwise_invert",
    Bits,
    Same,
    "`out = ~a`; of bool, `not a`."
);

binary!(
    BITWISE_LEFT_SHIFT,
    "bitwise_left_shift",
    Integers,
    Same,
    "`out = a << b`; 0 where `b` is the width of the type or more."
);

binary!(
    BITWISE_RIGHT_SHIFT,
    "bitwise_right_shift",
    Integers,
    Same,
    "`out = a >> b`, filling with the sign; beyond the width, all sign."
);
