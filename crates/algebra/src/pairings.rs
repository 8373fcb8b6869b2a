//! The curves with a pairing. Proofs and files of circuits are over them.

use crate::curves::{Curve, Group};

/// A curve with a pairing. Libraries compute it, so that each takes code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// BN254, which snarkjs calls bn128 and Ethereum alt_bn128.
    Bn254,
    /// BLS12-381.
    Bls12381,
}

impl Pairing {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Bn254, Self::Bls12381];

    /// The curve.
    #[must_use]
    pub const fn curve(self) -> Curve {
        match self {
            Self::Bn254 => Curve::BN254,
            Self::Bls12381 => Curve::BLS12_381,
        }
    }

    /// snarkjs's name: `bn128`, `bls12381`.
    #[must_use]
    pub const fn snarkjs_name(self) -> &'static str {
        match self {
            Self::Bn254 => "bn128",
            Self::Bls12381 => "bls12381",
        }
    }

    /// The name in dtypes: `bn254`, `bls12_381`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.curve().facts().name
    }

    /// Reads either name, or other spellings of them: letters of either case, with or without `-`
    /// and `_`, and no other character.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = |name: &str| -> String {
            let letters = name.chars().filter(char::is_ascii_alphanumeric);
            letters.map(|c| c.to_ascii_lowercase()).collect()
        };
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !name.chars().all(known) {
            return None;
        }
        let wanted = plain(name);
        Self::ALL.into_iter().find(|pairing| {
            let aliases = pairing.curve().facts().aliases;
            plain(pairing.name()) == wanted || aliases.contains(&wanted.as_str())
        })
    }

    /// Points of the curve.
    #[must_use]
    pub const fn g1(self) -> Group {
        self.curve().facts().g1
    }

    /// Points of its twist.
    #[must_use]
    pub const fn g2(self) -> Group {
        match self {
            Self::Bn254 => Group::BN254_G2,
            Self::Bls12381 => Group::BLS12_381_G2,
        }
    }

    /// The prime of coordinates, little-endian words.
    #[must_use]
    pub const fn base_prime(self) -> &'static [u64] {
        self.curve().facts().base.facts().prime().modulus
    }

    /// The prime of scalars, which is the order of the groups; little-endian words.
    #[must_use]
    pub const fn scalar_prime(self) -> &'static [u64] {
        self.curve().facts().scalar.facts().prime().modulus
    }

    /// Bytes of a coordinate.
    #[must_use]
    pub const fn base_bytes(self) -> usize {
        self.base_prime().len() * 8
    }

    /// Bytes of a scalar.
    #[must_use]
    pub const fn scalar_bytes(self) -> usize {
        self.scalar_prime().len() * 8
    }

    /// Bytes of an affine point of G1: x, y.
    #[must_use]
    pub const fn g1_bytes(self) -> usize {
        self.g1().facts().size_bytes()
    }

    /// Bytes of an affine point of G2: x.c0, x.c1, y.c0, y.c1.
    #[must_use]
    pub const fn g2_bytes(self) -> usize {
        self.g2().facts().size_bytes()
    }

    /// The largest s with 2^s dividing the scalar prime less 1: domains have at most 2^s points.
    #[must_use]
    pub const fn two_adicity(self) -> u32 {
        self.curve().facts().scalar.facts().prime().two_adicity()
    }
}
