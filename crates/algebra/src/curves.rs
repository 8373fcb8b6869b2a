//! The curves y^2 = x^3 + b, and the groups of points on them and on their twists.

use crate::fields::Field;
use crate::table::table;

/// The facts of a curve.
#[derive(Debug)]
pub struct CurveDecl {
    /// Its name in dtypes: `bn254`.
    pub name: &'static str,
    /// Other names, in small letters and digits alone.
    pub aliases: &'static [&'static str],
    /// The field of the coordinates.
    pub base: Field,
    /// The field of the scalars; its prime is the order of the groups.
    pub scalar: Field,
    /// The b of the curve's equation.
    pub b: u32,
    /// Points of the curve.
    pub g1: Group,
    /// Points of its twist, where it has a pairing.
    pub g2: Option<Group>,
}

/// The facts of a group of points: affine, x and y; zeros are the point at infinity.
#[derive(Debug)]
pub struct GroupDecl {
    /// The dtype's name: `bn254.g1`.
    pub name: &'static str,
    /// Its name in C++: `Bn254G1`.
    pub ident: &'static str,
    /// Its description in the docs.
    pub doc: &'static str,
    /// The dtype's number in the ABI of kernels; less 1, that in files. It never changes.
    pub number: u8,
    /// The curve.
    pub curve: Curve,
    /// Parts of a coordinate: 1, or 2 in the extension of the base field by u^2 = -1.
    pub degree: u8,
    /// The customary generator: x, then y, each as its parts in hexadecimal digits.
    pub generator: [&'static [&'static str]; 2],
    /// The origin of the choice.
    pub convention: &'static str,
}

impl GroupDecl {
    /// Bytes of a point in memory.
    #[must_use]
    pub const fn size_bytes(&self) -> usize {
        let base = self.curve.facts().base.facts();
        2 * self.degree as usize * base.size_bytes()
    }
}

/// A curve of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Curve(u8);

impl Curve {
    /// Its facts.
    #[must_use]
    pub const fn facts(self) -> &'static CurveDecl {
        &CURVES[self.0 as usize]
    }

    /// All of them, in the order of declaration.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..CURVES.len()).map(|index| Self(index as u8))
    }

    /// The curve of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|curve| curve.facts().name == name)
    }

    /// Its name in dtypes: `bn254`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().name
    }
}

impl std::fmt::Debug for Curve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.facts().name)
    }
}

/// A group of points of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Group(u8);

impl Group {
    /// Its facts.
    #[must_use]
    pub const fn facts(self) -> &'static GroupDecl {
        &GROUPS[self.0 as usize]
    }

    /// Its place in [`GROUPS`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The group at a place in [`GROUPS`].
    #[must_use]
    pub const fn at(index: usize) -> Self {
        assert!(index < GROUPS.len());
        Self(index as u8)
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.facts().ident)
    }
}

table! { CURVES: CurveDecl of Curve,
    /// BN254, which snarkjs calls bn128 and Ethereum alt_bn128.
    BN254 = CurveDecl {
        name: "bn254",
        aliases: &["bn128", "altbn128"],
        base: Field::BN254_FQ,
        scalar: Field::BN254_FR,
        b: 3,
        g1: Group::BN254_G1,
        g2: Some(Group::BN254_G2),
    };
    /// BLS12-381.
    BLS12_381 = CurveDecl {
        name: "bls12_381",
        aliases: &[],
        base: Field::BLS12_381_FQ,
        scalar: Field::BLS12_381_FR,
        b: 4,
        g1: Group::BLS12_381_G1,
        g2: Some(Group::BLS12_381_G2),
    };
    /// Pallas.
    PALLAS = CurveDecl {
        name: "pallas",
        aliases: &[],
        base: Field::PASTA_FP,
        scalar: Field::PASTA_FQ,
        b: 5,
        g1: Group::PALLAS_G1,
        g2: None,
    };
    /// Vesta.
    VESTA = CurveDecl {
        name: "vesta",
        aliases: &[],
        base: Field::PASTA_FQ,
        scalar: Field::PASTA_FP,
        b: 5,
        g1: Group::VESTA_G1,
        g2: None,
    };
}

table! { GROUPS: GroupDecl of Group,
    /// Points of BN254 over its base field.
    BN254_G1 = GroupDecl {
        name: "bn254.g1",
        ident: "Bn254G1",
        doc: "affine points of BN254",
        number: 20,
        curve: Curve::BN254,
        degree: 1,
        generator: [&["1"], &["2"]],
        convention: "EIP-196",
    };
    /// Points of BN254's twist.
    BN254_G2 = GroupDecl {
        name: "bn254.g2",
        ident: "Bn254G2",
        doc: "affine points of BN254's twist: the parts of x, then of y",
        number: 21,
        curve: Curve::BN254,
        degree: 2,
        generator: [
            &[
                "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
                "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
            ],
            &[
                "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
                "90689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
            ],
        ],
        convention: "EIP-197",
    };
    /// Points of BLS12-381 over its base field.
    BLS12_381_G1 = GroupDecl {
        name: "bls12_381.g1",
        ident: "Bls381G1",
        doc: "affine points of BLS12-381",
        number: 22,
        curve: Curve::BLS12_381,
        degree: 1,
        generator: [
            &[concat!(
                "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58",
                "6c55e83ff97a1aeffb3af00adb22c6bb"
            )],
            &[concat!(
                "8b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3ed",
                "d03cc744a2888ae40caa232946c5e7e1"
            )],
        ],
        convention: "draft-irtf-cfrg-pairing-friendly-curves",
    };
    /// Points of BLS12-381's twist.
    BLS12_381_G2 = GroupDecl {
        name: "bls12_381.g2",
        ident: "Bls381G2",
        doc: "affine points of BLS12-381's twist: the parts of x, then of y",
        number: 23,
        curve: Curve::BLS12_381,
        degree: 2,
        generator: [
            &[
                concat!(
                    "24aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d177",
                    "0bac0326a805bbefd48056c8c121bdb8"
                ),
                concat!(
                    "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049",
                    "334cf11213945d57e5ac7d055d042b7e"
                ),
            ],
            &[
                concat!(
                    "ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c",
                    "923ac9cc3baca289e193548608b82801"
                ),
                concat!(
                    "606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab",
                    "3f370d275cec1da1aaa9075ff05f79be"
                ),
            ],
        ],
        convention: "draft-irtf-cfrg-pairing-friendly-curves",
    };
    /// Points of Pallas.
    PALLAS_G1 = GroupDecl {
        name: "pallas.g1",
        ident: "PallasG1",
        doc: "affine points of Pallas",
        number: 26,
        curve: Curve::PALLAS,
        degree: 1,
        generator: [
            &["40000000000000000000000000000000224698fc094cf91b992d30ed00000000"],
            &["2"],
        ],
        convention: "pasta_curves",
    };
    /// Points of Vesta.
    VESTA_G1 = GroupDecl {
        name: "vesta.g1",
        ident: "VestaG1",
        doc: "affine points of Vesta",
        number: 27,
        curve: Curve::VESTA,
        degree: 1,
        generator: [
            &["40000000000000000000000000000000224698fc0994a8dd8c46eb2100000000"],
            &["2"],
        ],
        convention: "pasta_curves",
    };
}
