//! The two curves that snarkjs has, their primes, and how wide their numbers and points are.

/// A pairing-friendly curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// BN254, which snarkjs calls bn128 and Ethereum alt_bn128.
    Bn254,
    /// BLS12-381.
    Bls12381,
}

const BN254_Q: [u64; 4] = [
    0x3c20_8c16_d87c_fd47,
    0x9781_6a91_6871_ca8d,
    0xb850_45b6_8181_585d,
    0x3064_4e72_e131_a029,
];
const BN254_R: [u64; 4] = [
    0x43e1_f593_f000_0001,
    0x2833_e848_79b9_7091,
    0xb850_45b6_8181_585d,
    0x3064_4e72_e131_a029,
];
const BLS12381_Q: [u64; 6] = [
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];
const BLS12381_R: [u64; 4] = [
    0xffff_ffff_0000_0001,
    0x53bd_a402_fffe_5bfe,
    0x3339_d808_09a1_d805,
    0x73ed_a753_299d_7d48,
];

impl Curve {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Bn254, Self::Bls12381];

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
        match self {
            Self::Bn254 => "bn254",
            Self::Bls12381 => "bls12_381",
        }
    }

    /// Reads either name, or snarkjs's other spellings of them.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let bare: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        match bare.as_str() {
            "bn128" | "bn254" | "altbn128" => Some(Self::Bn254),
            "bls12381" => Some(Self::Bls12381),
            _ => None,
        }
    }

    /// The prime of coordinates, little-endian words.
    #[must_use]
    pub const fn base_prime(self) -> &'static [u64] {
        match self {
            Self::Bn254 => &BN254_Q,
            Self::Bls12381 => &BLS12381_Q,
        }
    }

    /// The prime of scalars, which is the order of the groups; little-endian words.
    #[must_use]
    pub const fn scalar_prime(self) -> &'static [u64] {
        match self {
            Self::Bn254 => &BN254_R,
            Self::Bls12381 => &BLS12381_R,
        }
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
        2 * self.base_bytes()
    }

    /// Bytes of an affine point of G2: x.c0, x.c1, y.c0, y.c1.
    #[must_use]
    pub const fn g2_bytes(self) -> usize {
        4 * self.base_bytes()
    }

    /// The largest s with 2^s dividing the scalar prime less 1: domains have at most 2^s points.
    #[must_use]
    pub const fn two_adicity(self) -> u32 {
        match self {
            Self::Bn254 => 28,
            Self::Bls12381 => 32,
        }
    }
}
