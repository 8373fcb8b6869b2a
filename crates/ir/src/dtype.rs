//! Element types. Decides their names and sizes; says nothing about what an op accepts.

use std::fmt;

/// The type of one element of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed 8-bit integer: HEAL's digits.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer: HEAL's residues.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Two binary32: real and imaginary part.
    C64,
    /// Two binary64: real and imaginary part.
    C128,
    /// The scalar field of BN254: 4 words, Montgomery form with R = 2^256.
    Bn254Fr,
    /// The base field of BN254: 4 words, Montgomery form with R = 2^256.
    Bn254Fq,
    /// The scalar field of BLS12-381: 4 words, Montgomery form with R = 2^256.
    Bls381Fr,
    /// The base field of BLS12-381: 6 words, Montgomery form with R = 2^384.
    Bls381Fq,
    /// The field modulo 2^64 - 2^32 + 1: a canonical word.
    Goldilocks,
    /// The field modulo 15 * 2^27 + 1: 32 bits, Montgomery form with R = 2^32.
    BabyBear,
    /// An affine point of BN254 over its base field: x, y; infinity is all zeros.
    Bn254G1,
    /// An affine point of BN254 over the quadratic extension: the parts of x, then of y.
    Bn254G2,
    /// An affine point of BLS12-381 over its base field.
    Bls381G1,
    /// An affine point of BLS12-381 over the quadratic extension.
    Bls381G2,
}

/// The dtypes of numbers, in the order of declaration.
pub const NUMBER_DTYPES: [DType; 13] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

/// The dtypes of elements of prime fields.
pub const FIELD_DTYPES: [DType; 6] = [
    DType::Bn254Fr,
    DType::Bn254Fq,
    DType::Bls381Fr,
    DType::Bls381Fq,
    DType::Goldilocks,
    DType::BabyBear,
];

/// The dtypes of points of curves.
pub const POINT_DTYPES: [DType; 4] = [
    DType::Bn254G1,
    DType::Bn254G2,
    DType::Bls381G1,
    DType::Bls381G2,
];

/// Every dtype, in the order of declaration.
pub const ALL_DTYPES: [DType; 23] = {
    let mut all = [DType::Bool; 23];
    let mut at = 0;
    while at < all.len() {
        all[at] = match at {
            0..13 => NUMBER_DTYPES[at],
            13..19 => FIELD_DTYPES[at - 13],
            _ => POINT_DTYPES[at - 19],
        };
        at += 1;
    }
    all
};

/// Bytes of the largest element.
pub const MAX_ELEMENT_BYTES: usize = 192;

impl DType {
    /// Bytes one element takes.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::BabyBear => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 | Self::Goldilocks => 8,
            Self::C128 => 16,
            Self::Bn254Fr | Self::Bn254Fq | Self::Bls381Fr => 32,
            Self::Bls381Fq => 48,
            Self::Bn254G1 => 64,
            Self::Bls381G1 => 96,
            Self::Bn254G2 => 128,
            Self::Bls381G2 => MAX_ELEMENT_BYTES,
        }
    }

    /// The short name: `i64`, `f32`, `bool`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C64 => "c64",
            Self::C128 => "c128",
            Self::Bn254Fr => "bn254.fr",
            Self::Bn254Fq => "bn254.fq",
            Self::Bls381Fr => "bls12_381.fr",
            Self::Bls381Fq => "bls12_381.fq",
            Self::Goldilocks => "goldilocks",
            Self::BabyBear => "babybear",
            Self::Bn254G1 => "bn254.g1",
            Self::Bn254G2 => "bn254.g2",
            Self::Bls381G1 => "bls12_381.g1",
            Self::Bls381G2 => "bls12_381.g2",
        }
    }

    /// NumPy's and torch's name without a prefix: `int64`, `float32`, `bool`.
    #[must_use]
    pub const fn long_name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
            other => other.name(),
        }
    }

    /// Reads a short name, a long name, either behind `torch.` or `numpy.`, or torch's `float`,
    /// `double`, `int`, `long`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = name
            .strip_prefix("torch.")
            .or_else(|| name.strip_prefix("numpy."))
            .or_else(|| name.strip_prefix("np."))
            .unwrap_or(name);
        let alias = match bare {
            "float" => "float32",
            "double" => "float64",
            "int" => "int32",
            "long" => "int64",
            other => other,
        };
        ALL_DTYPES
            .into_iter()
            .find(|d| d.name() == alias || d.long_name() == alias)
    }

    /// Whether elements are integers (`bool` is not one).
    #[must_use]
    pub const fn is_integer(self) -> bool {
        self.is_signed_integer() || matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Whether elements are integers with a sign.
    #[must_use]
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether elements are real floating-point numbers.
    #[must_use]
    pub const fn is_real_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether elements are complex numbers.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }

    /// Whether elements are numbers: bool, integers, floats, complex ones.
    #[must_use]
    pub const fn is_number(self) -> bool {
        !self.is_field() && !self.is_point()
    }

    /// Whether elements are those of a prime field.
    #[must_use]
    pub const fn is_field(self) -> bool {
        matches!(
            self,
            Self::Bn254Fr
                | Self::Bn254Fq
                | Self::Bls381Fr
                | Self::Bls381Fq
                | Self::Goldilocks
                | Self::BabyBear
        )
    }

    /// Whether elements are points of a curve.
    #[must_use]
    pub const fn is_point(self) -> bool {
        matches!(
            self,
            Self::Bn254G1 | Self::Bn254G2 | Self::Bls381G1 | Self::Bls381G2
        )
    }

    /// The field of a point's multiples; `None` for what is no point.
    #[must_use]
    pub const fn scalar_field(self) -> Option<Self> {
        match self {
            Self::Bn254G1 | Self::Bn254G2 => Some(Self::Bn254Fr),
            Self::Bls381G1 | Self::Bls381G2 => Some(Self::Bls381Fr),
            _ => None,
        }
    }

    /// The prime field of a point's coordinates; `None` for what is no point.
    #[must_use]
    pub const fn base_field(self) -> Option<Self> {
        match self {
            Self::Bn254G1 | Self::Bn254G2 => Some(Self::Bn254Fq),
            Self::Bls381G1 | Self::Bls381G2 => Some(Self::Bls381Fq),
            _ => None,
        }
    }

    /// What an element consists of: the real dtype of a complex one, words of a field's element or
    /// of a point, else the dtype itself.
    #[must_use]
    pub const fn component(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            Self::BabyBear => Self::U32,
            other if other.is_number() => other,
            _ => Self::U64,
        }
    }

    /// How many components an element has.
    #[must_use]
    pub const fn components(self) -> usize {
        self.size_bytes() / self.component().size_bytes()
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for dtype in ALL_DTYPES {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
            assert_eq!(DType::from_name(dtype.long_name()), Some(dtype));
            assert_eq!(
                DType::from_name(&format!("torch.{}", dtype.long_name())),
                Some(dtype)
            );
        }
        assert_eq!(DType::from_name("torch.long"), Some(DType::I64));
        assert_eq!(DType::from_name("complex256"), None);
    }
}
