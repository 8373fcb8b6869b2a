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
}

/// Every dtype, in the order of declaration.
pub const ALL_DTYPES: [DType; 13] = [
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

impl DType {
    /// Bytes one element takes.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
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
        !matches!(
            self,
            Self::Bool | Self::F32 | Self::F64 | Self::C64 | Self::C128
        )
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

    /// What an element consists of: the real dtype of a complex one, else the dtype itself.
    #[must_use]
    pub const fn component(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => other,
        }
    }

    /// How many components an element has: 2 for complex dtypes, else 1.
    #[must_use]
    pub const fn components(self) -> usize {
        if self.is_complex() { 2 } else { 1 }
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
