//! The form of a polynomial: coefficients or values.

/// The form of a polynomial: coefficients or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repr {
    /// Coefficients, the constant first.
    Coef,
    /// Values at points, such as the roots of unity.
    Lagrange,
}

impl Repr {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Coef, Self::Lagrange];

    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Coef => "coef",
            Self::Lagrange => "lagrange",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|repr| repr.name() == name)
    }

    /// It in words.
    #[must_use]
    pub const fn described(self) -> &'static str {
        match self {
            Self::Coef => "coefficients (coef)",
            Self::Lagrange => "values at points (lagrange)",
        }
    }
}
