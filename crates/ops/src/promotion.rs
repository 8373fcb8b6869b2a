//! The type that two operands have in common. Ops take operands of one type; whoever calls them
//! with two converts to this one first.

use cloakwork_ir::DType;

/// Two types that no type holds both of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no type holds both {0} and {1}; convert one of them with astype")]
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
    use cloakwork_ir::NUMBER_DTYPES;

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
