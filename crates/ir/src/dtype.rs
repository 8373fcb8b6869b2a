//! Element types: their names and sizes. Declarations of ops decide which ones an op accepts.

use cloakwork_algebra::{FIELDS, Field, FieldDecl, GROUPS, Group};
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
    /// An element of a field: of a prime field, or of an extension.
    Field(Field),
    /// An affine point of a curve: x, y; infinity is all zeros.
    Point(Group),
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

/// The dtypes of elements of fields.
pub const FIELD_DTYPES: [DType; FIELDS.len()] = {
    let mut all = [DType::Bool; FIELDS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = DType::Field(Field::at(at));
        at += 1;
    }
    all
};

/// Those of prime fields.
pub const PRIME_FIELD_DTYPES: [DType; PRIMES] = {
    let mut primes = [DType::Bool; PRIMES];
    let (mut at, mut found) = (0, 0);
    while at < FIELDS.len() {
        if FIELD_DTYPES[at].is_prime_field() {
            primes[found] = FIELD_DTYPES[at];
            found += 1;
        }
        at += 1;
    }
    primes
};
const PRIMES: usize = {
    let (mut at, mut count) = (0, 0);
    while at < FIELDS.len() {
        count += FIELD_DTYPES[at].is_prime_field() as usize;
        at += 1;
    }
    count
};

/// The dtypes of points of curves.
pub const POINT_DTYPES: [DType; GROUPS.len()] = {
    let mut all = [DType::Bool; GROUPS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = DType::Point(Group::at(at));
        at += 1;
    }
    all
};

const COUNT: usize = NUMBER_DTYPES.len() + FIELDS.len() + GROUPS.len();

/// Every dtype, in the order of declaration.
pub const ALL_DTYPES: [DType; COUNT] = {
    let mut all = [DType::Bool; COUNT];
    let mut at = 0;
    while at < COUNT {
        let field = at.saturating_sub(NUMBER_DTYPES.len());
        all[at] = if at < NUMBER_DTYPES.len() {
            NUMBER_DTYPES[at]
        } else if field < FIELDS.len() {
            FIELD_DTYPES[field]
        } else {
            POINT_DTYPES[field - FIELDS.len()]
        };
        at += 1;
    }
    all
};

/// Bytes of the largest element.
pub const MAX_ELEMENT_BYTES: usize = {
    let (mut most, mut at) = (0, 0);
    while at < COUNT {
        let size = ALL_DTYPES[at].size_bytes();
        most = if size > most { size } else { most };
        at += 1;
    }
    most
};

impl DType {
    /// Bytes one element takes.
    #[must_use]
    #[inline]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
            Self::Field(field) => field.facts().size_bytes(),
            Self::Point(group) => group.facts().size_bytes(),
        }
    }

    /// The number in the ABI of kernels; files have 1 less. It never changes.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Field(field) => field.facts().number,
            Self::Point(group) => group.facts().number,
            Self::Bool => 1,
            Self::I8 => 2,
            Self::I16 => 3,
            Self::I32 => 4,
            Self::I64 => 5,
            Self::U8 => 6,
            Self::U16 => 7,
            Self::U32 => 8,
            Self::U64 => 9,
            Self::F32 => 10,
            Self::F64 => 11,
            Self::C64 => 12,
            Self::C128 => 13,
        }
    }

    /// The place in [`ALL_DTYPES`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Field(field) => NUMBER_DTYPES.len() + field.index(),
            Self::Point(group) => NUMBER_DTYPES.len() + FIELDS.len() + group.index(),
            other => other.number() as usize - 1,
        }
    }

    /// The dtype of a number in the ABI of kernels.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        static BY_NUMBER: [Option<DType>; 256] = {
            let (mut found, mut place) = ([None; 256], 0);
            while place < ALL_DTYPES.len() {
                found[ALL_DTYPES[place].number() as usize] = Some(ALL_DTYPES[place]);
                place += 1;
            }
            found
        };
        BY_NUMBER.get(number as usize).copied().flatten()
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
            Self::Field(field) => field.facts().name,
            Self::Point(group) => group.facts().name,
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

    /// Whether elements are those of a field.
    #[must_use]
    pub const fn is_field(self) -> bool {
        matches!(self, Self::Field(_))
    }

    /// Whether elements are residues modulo a prime: numbers, which have an order.
    #[must_use]
    pub const fn is_prime_field(self) -> bool {
        match self {
            Self::Field(field) => field.facts().degree() == 1,
            _ => false,
        }
    }

    /// The prime field that an extension's elements are polynomials over; `None` for what is no
    /// extension.
    #[must_use]
    pub const fn extends(self) -> Option<Self> {
        match self {
            Self::Field(field) => match field.facts().extension() {
                Some(extension) => Some(Self::Field(extension.base)),
                None => None,
            },
            _ => None,
        }
    }

    /// Whether elements are points of a curve.
    #[must_use]
    pub const fn is_point(self) -> bool {
        matches!(self, Self::Point(_))
    }

    /// The field of a point's multiples; `None` for other dtypes.
    #[must_use]
    pub const fn scalar_field(self) -> Option<Self> {
        match self {
            Self::Point(group) => Some(Self::Field(group.facts().curve.facts().scalar)),
            _ => None,
        }
    }

    /// The prime field of a point's coordinates; `None` for other dtypes.
    #[must_use]
    pub const fn base_field(self) -> Option<Self> {
        match self {
            Self::Point(group) => Some(Self::Field(group.facts().curve.facts().base)),
            _ => None,
        }
    }

    /// The facts of a field, or of the field of a point's coordinates; `None` for numbers.
    #[must_use]
    pub const fn field_facts(self) -> Option<&'static FieldDecl> {
        match self {
            Self::Field(field) => Some(field.facts()),
            Self::Point(group) => Some(group.facts().curve.facts().base.facts()),
            _ => None,
        }
    }

    /// How many residues modulo a prime an element consists of: coefficients, or parts of
    /// coordinates. Of a number 1.
    #[must_use]
    pub const fn residues(self) -> usize {
        match self.field_facts() {
            Some(facts) => self.size_bytes() / facts.prime().size_bytes(),
            None => 1,
        }
    }

    /// How many words of 64 bits its canonical numbers take together.
    #[must_use]
    pub const fn canonical_words(self) -> usize {
        match self.field_facts() {
            Some(facts) => self.residues() * facts.prime().modulus.len(),
            None => self.size_bytes().div_ceil(8),
        }
    }

    /// The dtype of an element's components: the real dtype of a complex one, the words of an
    /// element of a field or of a point, else the dtype itself.
    #[must_use]
    pub const fn component(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => match other.field_facts() {
                None => other,
                Some(facts) if facts.prime().size_bytes() == 4 => Self::U32,
                Some(_) => Self::U64,
            },
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
    fn every_number_and_place_reads_back() {
        for (index, dtype) in ALL_DTYPES.into_iter().enumerate() {
            assert_eq!(dtype.index(), index);
            assert_eq!(DType::from_number(dtype.number().into()), Some(dtype));
        }
    }

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
