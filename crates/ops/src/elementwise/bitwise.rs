//! Bits of integers.

use super::{binary, unary};
use crate::Law;
use crate::reference::Number;
use crate::reference::number::Accuracy;
use cloakwork_ir::DType;

binary!(
    BITWISE_AND,
    "bitwise_and",
    Bits,
    Same,
    "`out = a & b`.",
    Accuracy::EXACT,
    |_, x| Number::Int(x[0].int() & x[1].int()),
    Law::Commutes
);

binary!(
    BITWISE_OR,
    "bitwise_or",
    Bits,
    Same,
    "`out = a | b`.",
    Accuracy::EXACT,
    |_, x| Number::Int(x[0].int() | x[1].int()),
    Law::Commutes
);

binary!(
    BITWISE_XOR,
    "bitwise_xor",
    Bits,
    Same,
    "`out = a ^ b`.",
    Accuracy::EXACT,
    |_, x| Number::Int(x[0].int() ^ x[1].int()),
    Law::Commutes
);

unary!(
    BITWISE_INVERT,
    "bitwise_invert",
    Bits,
    Same,
    "`out = ~a`; of bool, `not a`.",
    Accuracy::EXACT,
    |dtype, x| match dtype {
        DType::Bool => Number::truth(!x[0].is_true()),
        _ => Number::Int(!x[0].int()),
    }
);

binary!(
    BITWISE_LEFT_SHIFT,
    "bitwise_left_shift",
    Integers,
    Same,
    "`out = a << b`; 0 where `b` is the width of the type or more.",
    Accuracy::EXACT,
    |dtype, x| Number::Int(count(dtype, &x[1]).map_or(0, |bits| x[0].int() << bits))
);

binary!(
    BITWISE_RIGHT_SHIFT,
    "bitwise_right_shift",
    Integers,
    Same,
    "`out = a >> b`, filling with the sign; beyond the width, all sign.",
    Accuracy::EXACT,
    |dtype, x| Number::Int(x[0].int() >> count(dtype, &x[1]).unwrap_or(127))
);

/// How far bits are moved, if that is within the width.
fn count(dtype: DType, x: &Number) -> Option<i128> {
    let width = dtype.size_bytes() as i128 * 8;
    Some(x.int()).filter(|bits| (0..width).contains(bits))
}
