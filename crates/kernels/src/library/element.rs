//! Elements in memory, and the types that the factorisations run in for them.

use cloakwork_library::{Complex, Scalar};

/// An element of a matrix. Single precision is computed in double and rounded once at the end.
pub(super) trait Element: Copy + 'static {
    /// The type in which it is computed.
    type Wide: Scalar;
    /// Its real counterpart.
    type Real: Element<Wide = f64>;
    /// Its complex counterpart.
    type Complex: Element<Wide = Complex<f64>>;
    /// Both parts, where there are two.
    const NAN: Self;
    /// Exactly.
    fn wide(self) -> Self::Wide;
    /// Rounded.
    fn rounded(value: Self::Wide) -> Self;
    /// Exactly.
    fn real(value: f64) -> Self::Wide;
}

impl Element for f32 {
    type Wide = f64;
    type Real = Self;
    type Complex = Complex<Self>;
    const NAN: Self = Self::NAN;

    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn rounded(value: f64) -> Self {
        value as Self
    }

    fn real(value: f64) -> f64 {
        value
    }
}

impl Element for f64 {
    type Wide = Self;
    type Real = Self;
    type Complex = Complex<Self>;
    const NAN: Self = Self::NAN;

    fn wide(self) -> Self {
        self
    }

    fn rounded(value: Self) -> Self {
        value
    }

    fn real(value: Self) -> Self {
        value
    }
}

impl Element for Complex<f32> {
    type Wide = Complex<f64>;
    type Real = f32;
    type Complex = Self;
    const NAN: Self = Self::new(f32::NAN, f32::NAN);

    fn wide(self) -> Complex<f64> {
        Complex::new(f64::from(self.re), f64::from(self.im))
    }

    fn rounded(value: Complex<f64>) -> Self {
        Self::new(value.re as f32, value.im as f32)
    }

    fn real(value: f64) -> Complex<f64> {
        Complex::new(value, 0.0)
    }
}

impl Element for Complex<f64> {
    type Wide = Self;
    type Real = f64;
    type Complex = Self;
    const NAN: Self = Self::new(f64::NAN, f64::NAN);

    fn wide(self) -> Self {
        self
    }

    fn rounded(value: Self) -> Self {
        value
    }

    fn real(value: f64) -> Self {
        Self::new(value, 0.0)
    }
}
