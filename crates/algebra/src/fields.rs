//! The fields.

use crate::table::table;
use crate::words::{self, hex};

/// How memory holds an element's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Words of 64 bits in Montgomery form: times R = 2^(64 words), modulo the prime. The highest
    /// bit of the prime's words is free.
    Montgomery64,
    /// A word of 32 bits in Montgomery form, R = 2^32, of a prime below 2^31.
    Montgomery32,
    /// A word of 64 bits as it is, below 2^64 - 2^32 + 1, whose shape kernels use.
    Goldilocks,
}

/// The facts of a field.
#[derive(Debug)]
pub struct FieldDecl {
    /// The dtype's name: `bn254.fr`; of an extension the base field's, and its degree:
    /// `goldilocks.ext2`.
    pub name: &'static str,
    /// Its name in C++: `Bn254Fr`.
    pub ident: &'static str,
    /// Its description in the docs.
    pub doc: &'static str,
    /// The dtype's number in the ABI of kernels; less 1, that in files. It never changes.
    pub number: u8,
    /// The structure of its elements.
    pub kind: Kind,
}

/// The structure of a field's elements.
#[derive(Debug)]
pub enum Kind {
    /// Residues modulo a prime.
    Prime(PrimeDecl),
    /// Polynomials over a prime field, modulo `x^degree - nonresidue`.
    Extension(ExtensionDecl),
}

/// The facts of a prime field.
#[derive(Debug)]
pub struct PrimeDecl {
    /// The prime, the lowest word first.
    pub modulus: &'static [u64],
    /// How memory holds elements.
    pub form: Form,
    /// Whose powers the roots of unity are: a root of order n is `generator^((p - 1) / n)`.
    pub generator: u32,
    /// The origin of the generator.
    pub convention: &'static str,
}

/// The facts of an extension: the field of polynomials of a variable x over a prime field,
/// modulo `x^degree - nonresidue`. Memory holds the coefficients one after another, that of 1
/// first, each as the base field's elements are held.
#[derive(Debug)]
pub struct ExtensionDecl {
    /// The prime field of its coefficients.
    pub base: Field,
    /// How many coefficients an element has: a power of two, at most 4.
    pub degree: u8,
    /// The power `x^degree`.
    pub nonresidue: u32,
    /// The origin of the choice.
    pub convention: &'static str,
}

impl PrimeDecl {
    /// How many bits the prime has.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        words::bits(self.modulus)
    }

    /// The exponent of 2 in p - 1.
    #[must_use]
    pub const fn two_adicity(&self) -> u32 {
        words::two_adicity(self.modulus)
    }

    /// Bytes of a residue in memory.
    #[must_use]
    pub const fn size_bytes(&self) -> usize {
        match self.form {
            Form::Montgomery64 | Form::Goldilocks => 8 * self.modulus.len(),
            Form::Montgomery32 => 4,
        }
    }
}

impl FieldDecl {
    /// The prime field that elements are residues of, or polynomials over.
    #[must_use]
    pub const fn prime(&self) -> &PrimeDecl {
        match &self.kind {
            Kind::Prime(prime) => prime,
            Kind::Extension(extension) => extension.base.facts().prime(),
        }
    }

    /// The extension, if the field is one.
    #[must_use]
    pub const fn extension(&self) -> Option<&ExtensionDecl> {
        match &self.kind {
            Kind::Prime(_) => None,
            Kind::Extension(extension) => Some(extension),
        }
    }

    /// How many coefficients an element has: 1 in a prime field.
    #[must_use]
    pub const fn degree(&self) -> usize {
        match &self.kind {
            Kind::Prime(_) => 1,
            Kind::Extension(extension) => extension.degree as usize,
        }
    }

    /// Bytes of an element in memory.
    #[must_use]
    pub const fn size_bytes(&self) -> usize {
        self.degree() * self.prime().size_bytes()
    }

    /// Whether transforms are worth kernels: of at least 2^16 elements. Those over an extension use
    /// the roots of unity of its base field.
    #[must_use]
    pub const fn has_transforms(&self) -> bool {
        self.prime().two_adicity() >= 16
    }
}

/// A field of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field(u8);

impl Field {
    /// Its facts.
    #[must_use]
    pub const fn facts(self) -> &'static FieldDecl {
        &FIELDS[self.0 as usize]
    }

    /// Its place in [`FIELDS`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The field at a place in [`FIELDS`].
    #[must_use]
    pub const fn at(index: usize) -> Self {
        assert!(index < FIELDS.len());
        Self(index as u8)
    }
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.facts().ident)
    }
}

const LEAST: &str = "the least non-residue";

const PASTA: &str = "a generator of the whole group, as pasta_curves and halo2 have it";

table! { FIELDS: FieldDecl of Field,
    /// The scalar field of BN254.
    BN254_FR = FieldDecl {
        name: "bn254.fr",
        ident: "Bn254Fr",
        doc: "the scalar field of BN254",
        number: 14,
        kind: Kind::Prime(PrimeDecl {
            modulus: &hex::<4>("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
            form: Form::Montgomery64,
            generator: 5,
            convention: LEAST,
        }),
    };
    /// The base field of BN254.
    BN254_FQ = FieldDecl {
        name: "bn254.fq",
        ident: "Bn254Fq",
        doc: "the base field of BN254",
        number: 15,
        kind: Kind::Prime(PrimeDecl {
            modulus: &hex::<4>("30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47"),
            form: Form::Montgomery64,
            generator: 3,
            convention: LEAST,
        }),
    };
    /// The scalar field of BLS12-381.
    BLS12_381_FR = FieldDecl {
        name: "bls12_381.fr",
        ident: "Bls381Fr",
        doc: "the scalar field of BLS12-381",
        number: 16,
        kind: Kind::Prime(PrimeDecl {
            modulus: &hex::<4>("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"),
            form: Form::Montgomery64,
            generator: 5,
            convention: LEAST,
        }),
    };
    /// The base field of BLS12-381.
    BLS12_381_FQ = FieldDecl {
        name: "bls12_381.fq",
        ident: "Bls381Fq",
        doc: "the base field of BLS12-381",
        number: 17,
        kind: Kind::Prime(PrimeDecl {
            modulus: &hex::<6>(concat!(
                "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf",
                "6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab"
            )),
            form: Form::Montgomery64,
            generator: 2,
            convention: LEAST,
        }),
    };
    /// The integers modulo 2^64 - 2^32 + 1.
    GOLDILOCKS = FieldDecl {
        name: "goldilocks",
        ident: "Goldilocks",
        doc: "the integers modulo 2^64 - 2^32 + 1",
        number: 18,
        kind: Kind::Prime(PrimeDecl {
            modulus: &[0xffff_ffff_0000_0001],
            form: Form::Goldilocks,
            generator: 7,
            convention: LEAST,
        }),
    };
    /// The integers modulo 15 * 2^27 + 1.
    BABYBEAR = FieldDecl {
        name: "babybear",
        ident: "BabyBear",
        doc: "the integers modulo 15 * 2^27 + 1",
        number: 19,
        kind: Kind::Prime(PrimeDecl {
            modulus: &[0x7800_0001],
            form: Form::Montgomery32,
            generator: 31,
            convention: "a generator of the whole group, as RISC Zero and Plonky3 have it",
        }),
    };
    /// The base field of Pallas, the scalar field of Vesta.
    PASTA_FP = FieldDecl {
        name: "pasta.fp",
        ident: "PastaFp",
        doc: "the base field of Pallas, the scalar field of Vesta",
        number: 24,
        kind: Kind::Prime(PrimeDecl {
            modulus: &hex::<4>("40000000000000000000000000000000224698fc094cf91b992d30ed00000001"),
            form: Form::Montgomery64,
            generator: 5,
            convention: PASTA,
        }),
    };
    /// The base field of Vesta, the scalar field of Pallas.
    PASTA_FQ = FieldDecl {
        name: "pasta.fq",
        ident: "PastaFq",
        doc: "the base field of Vesta, the scalar field of Pallas",
        number: 25,
        kind: Kind::Prime(PrimeDecl {
            modulus: &hex::<4>("40000000000000000000000000000000224698fc0994a8dd8c46eb2100000001"),
            form: Form::Montgomery64,
            generator: 5,
            convention: PASTA,
        }),
    };
    /// The integers modulo 2^31 - 2^24 + 1.
    KOALABEAR = FieldDecl {
        name: "koalabear",
        ident: "KoalaBear",
        doc: "the integers modulo 2^31 - 2^24 + 1",
        number: 28,
        kind: Kind::Prime(PrimeDecl {
            modulus: &[0x7f00_0001],
            form: Form::Montgomery32,
            generator: 3,
            convention: LEAST,
        }),
    };
    /// The integers modulo 2^31 - 1.
    MERSENNE31 = FieldDecl {
        name: "mersenne31",
        ident: "Mersenne31",
        doc: "the integers modulo 2^31 - 1",
        number: 29,
        kind: Kind::Prime(PrimeDecl {
            modulus: &[0x7fff_ffff],
            form: Form::Montgomery32,
            generator: 3,
            convention: LEAST,
        }),
    };
    /// BabyBear's extension of degree 4.
    BABYBEAR_EXT4 = FieldDecl {
        name: "babybear.ext4",
        ident: "BabyBearExt4",
        doc: "BabyBear's extension by a fourth root of 11",
        number: 30,
        kind: Kind::Extension(ExtensionDecl {
            base: Field::BABYBEAR,
            degree: 4,
            nonresidue: 11,
            convention: "as Plonky3 has it",
        }),
    };
    /// Goldilocks' extension of degree 2.
    GOLDILOCKS_EXT2 = FieldDecl {
        name: "goldilocks.ext2",
        ident: "GoldilocksExt2",
        doc: "Goldilocks' extension by a square root of 7",
        number: 31,
        kind: Kind::Extension(ExtensionDecl {
            base: Field::GOLDILOCKS,
            degree: 2,
            nonresidue: 7,
            convention: "as Plonky2 and Plonky3 have it",
        }),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bit_of_montgomery_words_is_free() {
        for field in &FIELDS {
            let prime = field.prime();
            let free = match prime.form {
                Form::Montgomery64 => prime.modulus.len() as u32 * 64 - 1,
                Form::Montgomery32 => 31,
                Form::Goldilocks => 64,
            };
            assert!(prime.bits() <= free, "{}", field.name);
        }
    }

    #[test]
    fn an_extension_is_named_after_its_prime_field_and_its_degree() {
        for field in &FIELDS {
            let Some(extension) = field.extension() else {
                continue;
            };
            let base = extension.base.facts();
            assert_eq!(base.degree(), 1, "{}", field.name);
            assert!(matches!(extension.degree, 2 | 4), "{}", field.name);
            let name = format!("{}.ext{}", base.name, extension.degree);
            assert_eq!(field.name, name);
        }
    }

    #[test]
    fn names_and_numbers_are_unique() {
        for (at, field) in FIELDS.iter().enumerate() {
            for other in &FIELDS[..at] {
                assert_ne!(field.name, other.name);
                assert_ne!(field.ident, other.ident);
                assert_ne!(field.number, other.number);
            }
        }
    }
}
