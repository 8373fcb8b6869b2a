//! Element types as tests see them: edge values, random ones, equality.

use crate::common::random::Random;
use cloakwork_ir::DType;
use std::fmt::Debug;

pub trait Element: Copy + Debug + 'static {
    const DTYPE: DType;
    /// Values at the edges of the type.
    fn pool() -> Vec<Self>;
    fn random(random: &mut Random) -> Self;
    /// The same bits, or both NaN.
    fn same(self, other: Self) -> bool;
}

/// A byte that is a bool; a kernel reads any but 0 as true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bit(pub u8);

impl Bit {
    pub fn truth(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bit {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Complex<T>(pub T, pub T);
pub type C64 = Complex<f32>;
pub type C128 = Complex<f64>;

impl Element for Bit {
    const DTYPE: DType = DType::Bool;
    fn pool() -> Vec<Self> {
        vec![Self(0), Self(1)]
    }
    fn random(random: &mut Random) -> Self {
        Self([0, 0, 1, 1, 2, 255][random.below(6) as usize])
    }
    fn same(self, other: Self) -> bool {
        self == other
    }
}

macro_rules! integer {
    ($type:ident, $dtype:ident) => {
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            fn pool() -> Vec<Self> {
                let (min, max) = ($type::MIN, $type::MAX);
                let mut all = vec![max - 41, 0, 1, 2, 3, 7, 100, max / 2, max - 1, max, min];
                all.extend([min + 1, min / 2, (0 as $type).wrapping_sub(1)]);
                all.extend([2, 7, 100].map(|x: $type| x.wrapping_neg()));
                all
            }
            fn random(random: &mut Random) -> Self {
                (random.word() as i64 >> random.below(64)) as $type
            }
            fn same(self, other: Self) -> bool {
                self == other
            }
        }
    };
}
integer!(i8, I8);
integer!(i16, I16);
integer!(i32, I32);
integer!(i64, I64);
integer!(u8, U8);
integer!(u16, U16);
integer!(u32, U32);
integer!(u64, U64);

macro_rules! float {
    ($type:ident, $dtype:ident, $complex:ident) => {
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            fn pool() -> Vec<Self> {
                let mut all = vec![-123.25, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5];
                all.extend([3.0, -7.0, 0.1, 1e-3, 100.7, -1e9, 3.3e20, $type::EPSILON]);
                all.extend([2_147_483_647.0, -2_147_483_648.5, 9.223_372e18, 1.7e19]);
                all.extend([$type::MAX, $type::MIN, $type::MIN_POSITIVE, 1e-40]);
                all.extend([$type::INFINITY, $type::NEG_INFINITY, $type::NAN]);
                all
            }
            fn random(random: &mut Random) -> Self {
                let scale = (random.below(60) - 30) as i32;
                (random.word() as i64 as $type) * (2 as $type).powi(scale - 63)
            }
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
        impl Element for Complex<$type> {
            const DTYPE: DType = DType::$complex;
            fn pool() -> Vec<Self> {
                let edges = [0.0, -0.0, 1.0, -2.5, 1e-40, 3.3e20, $type::MAX];
                let special = [$type::INFINITY, $type::NEG_INFINITY, $type::NAN];
                let mut all = vec![Self(-41.0, 43.0)];
                for re in edges.into_iter().chain(special) {
                    all.extend([Self(re, 1.5), Self(0.25, re), Self(re, re), Self(re, -re)]);
                }
                all
            }
            fn random(random: &mut Random) -> Self {
                Self($type::random(random), $type::random(random))
            }
            fn same(self, other: Self) -> bool {
                self.0.same(other.0) && self.1.same(other.1)
            }
        }
    };
}
float!(f32, F32, C64);
float!(f64, F64, C128);

/// Expands `$check!(type)` for each type of the group.
macro_rules! integers {
    ($check:ident) => {
        $check!(i8);
        $check!(i16);
        $check!(i32);
        $check!(i64);
        $check!(u8);
        $check!(u16);
        $check!(u32);
        $check!(u64);
    };
}
macro_rules! signed {
    ($check:ident) => {
        $check!(i8);
        $check!(i16);
        $check!(i32);
        $check!(i64);
    };
}
macro_rules! floats {
    ($check:ident) => {
        $check!(f32);
        $check!(f64);
    };
}
pub(crate) use {floats, integers, signed};
