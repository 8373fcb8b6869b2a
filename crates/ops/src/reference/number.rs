//! Elements as numbers, free of how memory holds them.

use super::field::{Element, Field};
use super::points::Point;
use super::{Expected, Slack};
use cloakwork_ir::DType;
use num_bigint::BigUint;

/// The value of an element.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// Of an integer type; a truth is 0 or 1.
    Int(i128),
    /// Of a float type.
    Real(f64),
    /// Of a complex type.
    Complex(f64, f64),
    /// Of a field: the canonical numbers of its coefficients.
    Element(Element),
    /// Of a curve; `None` is infinity.
    Point(Point),
    /// Whatever comes: the definition leaves it open.
    Open,
}

impl Number {
    /// A truth.
    #[must_use]
    pub fn truth(value: bool) -> Self {
        Self::Int(value.into())
    }

    /// Whether it is not 0; NaN is not 0.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Int(value) => *value != 0,
            Self::Real(value) => *value != 0.0,
            Self::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Self::Element(value) => value.iter().any(|residue| *residue != BigUint::ZERO),
            Self::Point(point) => point.is_some(),
            Self::Open => false,
        }
    }

    /// An integer; 0 for other numbers.
    #[must_use]
    pub fn int(&self) -> i128 {
        match self {
            Self::Int(value) => *value,
            _ => 0,
        }
    }

    /// The real part, of an integer itself; NaN for elements and points.
    #[must_use]
    pub fn real(&self) -> f64 {
        match self {
            Self::Int(value) => *value as f64,
            Self::Real(value) | Self::Complex(value, _) => *value,
            _ => f64::NAN,
        }
    }

    /// The imaginary part.
    #[must_use]
    pub fn imaginary(&self) -> f64 {
        match self {
            Self::Complex(_, im) => *im,
            _ => 0.0,
        }
    }

    /// The coefficients of a field's element.
    #[must_use]
    pub fn element(&self) -> Element {
        match self {
            Self::Element(value) => value.clone(),
            _ => vec![],
        }
    }

    /// The canonical number of a prime field's element.
    #[must_use]
    pub fn residue(&self) -> BigUint {
        self.element().into_iter().next().unwrap_or_default()
    }

    /// Whether a part is NaN.
    #[must_use]
    pub fn is_nan(&self) -> bool {
        match self {
            Self::Real(value) => value.is_nan(),
            Self::Complex(re, im) => re.is_nan() || im.is_nan(),
            _ => false,
        }
    }

    /// The magnitude of a real or complex number.
    #[must_use]
    pub fn magnitude(&self) -> f64 {
        self.real().hypot(self.imaginary())
    }

    /// Whether `self` comes before `other`, by their values or canonical numbers.
    #[must_use]
    pub fn is_less(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a < b,
            (Self::Real(a), Self::Real(b)) => a < b,
            (Self::Element(a), Self::Element(b)) => a < b,
            _ => false,
        }
    }
}

/// The value of a float's word.
#[must_use]
pub fn real(component: DType, word: i64) -> f64 {
    match component {
        DType::F32 => f32::from_bits(word as u32).into(),
        _ => f64::from_bits(word as u64),
    }
}

/// A real number rounded to the precision of a dtype.
#[must_use]
pub fn rounded(dtype: DType, value: f64) -> f64 {
    match dtype.component() {
        DType::F32 => f64::from(value as f32),
        _ => value,
    }
}

/// The distance from 1 to the next number of a float type.
#[must_use]
pub fn epsilon(dtype: DType) -> f64 {
    match dtype.component() {
        DType::F32 => f32::EPSILON.into(),
        _ => f64::EPSILON,
    }
}

/// The least number above 0 of a float type.
#[must_use]
pub fn least(dtype: DType) -> f64 {
    match dtype.component() {
        DType::F32 => f32::from_bits(1).into(),
        _ => f64::from_bits(1),
    }
}

/// The largest number of a float type.
#[must_use]
pub fn largest(dtype: DType) -> f64 {
    match dtype.component() {
        DType::F32 => f32::MAX.into(),
        _ => f64::MAX,
    }
}

/// The number that an element's words are.
#[must_use]
pub fn decode(dtype: DType, words: &[i64]) -> Number {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    match dtype {
        DType::Bool => Number::truth(word(0) != 0),
        DType::U64 => Number::Int(i128::from(word(0) as u64)),
        DType::F32 | DType::F64 => Number::Real(real(dtype, word(0))),
        DType::C64 | DType::C128 => {
            let part = dtype.component();
            Number::Complex(real(part, word(0)), real(part, word(1)))
        }
        _ if dtype.is_field() => Number::Element(Field::of(dtype).decode(words)),
        _ if dtype.is_point() => Number::Point(super::points::decode(dtype, words)),
        _ => Number::Int(i128::from(word(0))),
    }
}

/// Appends an element's words. Integers keep their low bits.
pub fn encode(dtype: DType, number: &Number, words: &mut Vec<i64>) {
    let float = |value: f64| match dtype.component() {
        DType::F32 => i64::from((value as f32).to_bits()),
        _ => value.to_bits() as i64,
    };
    match (dtype, number) {
        (_, Number::Open) => words.extend(std::iter::repeat_n(0, dtype.components())),
        (DType::C64 | DType::C128, _) => {
            words.extend([float(number.real()), float(number.imaginary())]);
        }
        (DType::F32 | DType::F64, _) => words.push(float(number.real())),
        (_, Number::Element(value)) => Field::of(dtype).encode(value, words),
        (_, Number::Point(point)) => super::points::encode(dtype, point, words),
        _ => words.push(low_bits(dtype, number.int())),
    }
}

fn low_bits(dtype: DType, value: i128) -> i64 {
    match dtype {
        DType::Bool => i64::from(value != 0),
        DType::I8 => i64::from(value as i8),
        DType::I16 => i64::from(value as i16),
        DType::I32 => i64::from(value as i32),
        DType::U8 => i64::from(value as u8),
        DType::U16 => i64::from(value as u16),
        DType::U32 => i64::from(value as u32),
        _ => value as i64,
    }
}

/// How far floats of an op's results may be from the reference's, in units in the last place: of
/// the number itself, or of a complex number's magnitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    real: Option<f64>,
    complex: Option<f64>,
    /// Units are those of the largest operand, where that is larger than the result.
    cancels: bool,
}

impl Accuracy {
    /// The bits.
    pub const EXACT: Self = Self {
        real: None,
        complex: None,
        cancels: false,
    };
    /// The number; zeros of either sign are equal.
    pub const EQUAL: Self = Self {
        real: Some(0.0),
        complex: Some(0.0),
        cancels: false,
    };

    /// So many units of real numbers, so many of complex ones.
    #[must_use]
    pub const fn units(real: f64, complex: f64) -> Self {
        Self {
            real: Some(real),
            complex: Some(complex),
            cancels: false,
        }
    }

    /// Exact reals, and so many units of complex numbers.
    #[must_use]
    pub const fn of_complex(complex: f64) -> Self {
        Self {
            real: None,
            complex: Some(complex),
            cancels: false,
        }
    }

    /// Of a sum in which operands may cancel.
    #[must_use]
    pub const fn of_operands(self) -> Self {
        Self {
            cancels: true,
            ..self
        }
    }

    /// The slack of each component of a result of operands.
    #[must_use]
    pub fn slack(self, dtype: DType, number: &Number, operands: &[Number]) -> Slack {
        let units = match number {
            Number::Open => return Slack::Open,
            Number::Real(_) => self.real,
            Number::Complex(..) => self.complex,
            _ => None,
        };
        match units {
            None => Slack::Bits,
            Some(units) => {
                let sizes = operands.iter().map(Number::magnitude);
                let finite = sizes.filter(|size| self.cancels && size.is_finite());
                let size = finite.fold(number.magnitude(), f64::max);
                let unit = (size * epsilon(dtype)).max(least(dtype));
                Slack::Within(if unit.is_finite() { units * unit } else { 0.0 })
            }
        }
    }
}

/// A result of numbers, each with its slack.
pub fn expected(dtype: DType, numbers: impl IntoIterator<Item = (Number, Slack)>) -> Expected {
    let (mut words, mut slack) = (Vec::new(), Vec::new());
    for (number, own) in numbers {
        encode(dtype, &number, &mut words);
        let own = if number == Number::Open {
            Slack::Open
        } else {
            own
        };
        slack.resize(words.len(), own);
    }
    Expected::Near { words, slack }
}

/// A result of exact numbers.
pub fn exact(dtype: DType, numbers: impl IntoIterator<Item = Number>) -> Expected {
    let all = numbers.into_iter().map(|number| (number, Slack::Bits));
    expected(dtype, all)
}
