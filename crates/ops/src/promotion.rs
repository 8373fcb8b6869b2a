//! The type that two operands have in common. Ops take operands of one type; their callers
//! with two converts to this one first.

use cloakwork_ir::DType;

/// Two types that no dtype holds both of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no dtype holds both {0} and {1}; convert one of them with astype")]
pub struct NoCommonType(pub DType, pub DType);

/// The smallest type that holds both: the array API's table within a kind, and NumPy's across
/// kinds (bool gives way to everything, integers to floats that hold them, floats to complex).
///
/// # Errors
/// u64 and a signed integer: no integer type holds both, and a float would round silently.
/// Elements of a field and anything but its extensions; points and anything else.
pub fn promote(a: DType, b: DType) -> Result<DType, NoCommonType> {
    if a == b {
        return Ok(a);
    }
    if let Some(extension) = [(a, b), (b, a)]
        .into_iter()
        .find_map(|(field, other)| (other.extends() == Some(field)).then_some(other))
    {
        return Ok(extension);
    }
    if !a.is_number() || !b.is_number() {
        return Err(NoCommonType(a, b));
    }
    let (low, high) = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
    if low == DType::Bool {
        return Ok(high);
    }
    match (kind(low), kind(high)) {
        (Kind::Integer, Kind::Integer) => integers(a, b).ok_or(NoCommonType(a, b)),
        (Kind::Integer, _) => Ok(float_for(low, high)),
        (Kind::Float, Kind::Complex) if low == DType::F64 => Ok(DType::C128),
        _ => Ok(high),
    }
}

/// A number of the host language: weak, so that it takes the type of the tensor that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weak {
    /// True or false.
    Bool,
    /// An integer of any size.
    Int,
    /// A float.
    Float,
    /// A complex number.
    Complex,
}

impl Weak {
    /// The type of the result where it meets a tensor of this type.
    #[must_use]
    pub const fn meets(self, dtype: DType) -> DType {
        match self {
            Self::Bool => dtype,
            Self::Int if matches!(dtype, DType::Bool) => DType::I64,
            Self::Int => dtype,
            Self::Float if dtype.is_integer() || matches!(dtype, DType::Bool) => DType::F64,
            Self::Float => dtype,
            Self::Complex => match dtype {
                DType::F32 | DType::C64 => DType::C64,
                _ => DType::C128,
            },
        }
    }

    /// The type of an array of it alone.
    #[must_use]
    pub const fn dtype(self) -> DType {
        match self {
            Self::Bool => DType::Bool,
            Self::Int => DType::I64,
            Self::Float => DType::F64,
            Self::Complex => DType::C128,
        }
    }
}

/// An operand, as far as it determines the type in which a call computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A tensor of this type.
    Tensor(DType),
    /// A number.
    Number(Weak),
}

/// The type that two operands of a call have in common.
///
/// # Errors
/// As for [`promote`].
pub fn common(a: Operand, b: Operand) -> Result<DType, NoCommonType> {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => promote(a, b),
        (Operand::Number(a), Operand::Number(b)) => Ok(b.meets(a.meets(b.dtype()))),
        (Operand::Number(number), Operand::Tensor(dtype))
        | (Operand::Tensor(dtype), Operand::Number(number)) => Ok(number.meets(dtype)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Integer,
    Float,
    Complex,
}

const fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::Bool => Kind::Bool,
        DType::F32 | DType::F64 => Kind::Float,
        DType::C64 | DType::C128 => Kind::Complex,
        _ => Kind::Integer,
    }
}

fn rank(dtype: DType) -> (Kind, usize) {
    (kind(dtype), dtype.size_bytes())
}

fn integers(a: DType, b: DType) -> Option<DType> {
    let signed = |bytes| match bytes {
        1 => Some(DType::I8),
        2 => Some(DType::I16),
        4 => Some(DType::I32),
        8 => Some(DType::I64),
        _ => None,
    };
    if a.is_signed_integer() == b.is_signed_integer() {
        return Some(if a.size_bytes() >= b.size_bytes() {
            a
        } else {
            b
        });
    }
    let (own, other) = if a.is_signed_integer() {
        (a, b)
    } else {
        (b, a)
    };
    signed(own.size_bytes().max(2 * other.size_bytes()))
}

/// A float, or a complex type of such floats, for an integer: 16 bits fit a float32.
fn float_for(integer: DType, float: DType) -> DType {
    match float {
        DType::F32 if integer.size_bytes() > 2 => DType::F64,
        DType::C64 if integer.size_bytes() > 2 => DType::C128,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloakwork_ir::{FIELD_DTYPES, NUMBER_DTYPES};

    #[test]
    fn the_common_type_is_symmetric_and_holds_both() {
        for a in NUMBER_DTYPES {
            assert_eq!(promote(a, a), Ok(a));
            for b in NUMBER_DTYPES {
                let both = promote(a, b);
                assert_eq!(both.ok(), promote(b, a).ok());
                if let Ok(both) = both {
                    assert_eq!(promote(both, a), Ok(both), "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn a_number_takes_the_type_of_the_tensor_unless_it_is_of_a_wider_kind() {
        let tensor = |dtype| Operand::Tensor(dtype);
        let number = |weak| Operand::Number(weak);
        let cases = [
            (tensor(DType::U8), number(Weak::Int), DType::U8),
            (number(Weak::Float), tensor(DType::F32), DType::F32),
            (tensor(DType::I16), number(Weak::Float), DType::F64),
            (tensor(DType::Bool), number(Weak::Int), DType::I64),
            (tensor(DType::F32), number(Weak::Complex), DType::C64),
            (number(Weak::Int), number(Weak::Float), DType::F64),
            (number(Weak::Bool), number(Weak::Bool), DType::Bool),
            (tensor(DType::I8), tensor(DType::U8), DType::I16),
        ];
        for (a, b, expected) in cases {
            assert_eq!(common(a, b), Ok(expected), "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_field_gives_way_to_its_extensions_and_to_no_other() {
        for a in FIELD_DTYPES {
            for b in FIELD_DTYPES {
                let expected = match (a.extends(), b.extends()) {
                    _ if a == b => Some(a),
                    (Some(base), _) if base == b => Some(a),
                    (_, Some(base)) if base == a => Some(b),
                    _ => None,
                };
                assert_eq!(promote(a, b).ok(), expected, "{a} {b}");
            }
        }
    }

    #[test]
    fn kinds_meet_as_in_numpy() {
        let cases = [
            (DType::I8, DType::U8, DType::I16),
            (DType::I32, DType::U32, DType::I64),
            (DType::I16, DType::F32, DType::F32),
            (DType::I32, DType::F32, DType::F64),
            (DType::U8, DType::C64, DType::C64),
            (DType::F64, DType::C64, DType::C128),
            (DType::Bool, DType::I8, DType::I8),
        ];
        for (a, b, expected) in cases {
            assert_eq!(promote(a, b), Ok(expected), "{a} {b}");
        }
        assert!(promote(DType::U64, DType::I8).is_err());
        assert_eq!(promote(DType::U64, DType::F32), Ok(DType::F64));
    }
}
