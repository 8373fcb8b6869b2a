//! Sets of processor features: which ones a kernel needs, which ones this processor has, and which
//! ones calls may use.

use crate::kernels;
use cloakwork_process::Once;
use std::fmt;

/// The environment variable that overrides the choice.
pub const ISA_VARIABLE: &str = "CLOAKWORK_ISA";

/// A feature of processors that kernels are compiled for: a bit of a set. None implies another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Feature {
    Avx2,
    Fma,
    Bmi2,
    Avx512F,
    Avx512Dq,
    Avx512Vl,
    Avx512Bw,
    Avx512Ifma,
    Neon,
}

/// Every feature, in the order of its bits, by the name that compilers give it.
pub const FEATURES: [(&str, Feature); 9] = [
    ("avx2", Feature::Avx2),
    ("fma", Feature::Fma),
    ("bmi2", Feature::Bmi2),
    ("avx512f", Feature::Avx512F),
    ("avx512dq", Feature::Avx512Dq),
    ("avx512vl", Feature::Avx512Vl),
    ("avx512bw", Feature::Avx512Bw),
    ("avx512ifma", Feature::Avx512Ifma),
    ("neon", Feature::Neon),
];

/// A set of features. Two sets need not contain one another: a kernel runs where its needs are a
/// subset, and nothing else compares sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Isa(u64);

/// The bits that drivers give a meaning.
const OWN: u64 = !((1 << Isa::FIRST_OWN) - 1);

/// The sets that have names, which users type and kernel symbols end in. Of those that one
/// processor has, the best comes last.
const NAMED: [(&str, Isa); Isa::NAMED] = [
    ("portable", Isa::PORTABLE),
    ("neon", Isa::NEON),
    ("avx2", Isa::AVX2),
    ("avx512", Isa::AVX512),
    ("avx512ifma", Isa::AVX512IFMA),
];

/// The environment asks for a feature that this processor lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{ISA_VARIABLE}={value} is not available here: expected one of {available}, or unset")]
pub struct IsaError {
    /// The value of the variable.
    pub value: String,
    /// Names that would do.
    pub available: String,
}

impl Isa {
    /// Plain 64-bit words, on any processor.
    pub const PORTABLE: Self = Self(0);
    /// The vectors of aarch64.
    pub const NEON: Self = Self::of(&[Feature::Neon]);
    /// x86-64 with AVX2, FMA and BMI2.
    pub const AVX2: Self = Self::of(&[Feature::Avx2, Feature::Fma, Feature::Bmi2]);
    /// These, and AVX-512 F, DQ, VL and BW.
    pub const AVX512: Self = Self::AVX2.union(Self::of(&[
        Feature::Avx512F,
        Feature::Avx512Dq,
        Feature::Avx512Vl,
        Feature::Avx512Bw,
    ]));
    /// These, and IFMA: the 52-bit multiply-add.
    pub const AVX512IFMA: Self = Self::AVX512.union(Self::of(&[Feature::Avx512Ifma]));
    /// How many sets have names.
    pub const NAMED: usize = 5;
    /// From this bit on, features are a driver's own: they distinguish its devices.
    pub const FIRST_OWN: u32 = 48;

    /// The set of these features.
    #[must_use]
    pub const fn of(features: &[Feature]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < features.len() {
            bits |= 1 << features[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// The set with these bits, as C and other places that hold numbers have it; `None` for bits of
    /// no feature.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        if Self::known(bits).0 == bits {
            Some(Self(bits))
        } else {
            None
        }
    }

    /// The set with those of these bits that are features.
    #[must_use]
    pub const fn known(bits: u64) -> Self {
        Self(bits & (((1 << FEATURES.len()) - 1) | OWN))
    }

    /// A bit for each feature.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The features of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These features of a device, without those of processors that are not in `allowed`.
    #[must_use]
    pub const fn limited_to(self, allowed: Self) -> Self {
        Self(self.0 & (allowed.0 | OWN))
    }

    /// Whether all features of `other` are in this set.
    #[must_use]
    pub const fn includes(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The set of this name: `avx512`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let found = NAMED.iter().find(|(own, _)| *own == name);
        found.map(|&(_, isa)| isa)
    }

    /// Below [`Isa::NAMED`], another one for each set that has a name; `None` for other sets.
    #[must_use]
    #[inline]
    pub fn named_index(self) -> Option<usize> {
        NAMED.iter().position(|&(_, isa)| isa == self)
    }

    /// Whether this processor has it, and kernels were compiled for it.
    #[must_use]
    pub fn is_available(self) -> bool {
        available().contains(&self)
    }
}

impl fmt::Display for Isa {
    /// The set's name, or the names of the largest sets in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = || NAMED.iter().filter(|&&(_, isa)| self.includes(isa));
        let is_largest = |isa| !within().any(|&(_, other)| other != isa && other.includes(isa));
        let largest = within().filter(|&&(_, isa)| is_largest(isa));
        let names: Vec<&str> = largest.map(|&(name, _)| name).collect();
        f.write_str(&names.join("+"))
    }
}

/// The features of this processor for which kernels are compiled.
#[must_use]
pub fn processor() -> Isa {
    static FOUND: Once<Isa> = Once::new();
    *FOUND.get_or_init(|| {
        let found = FEATURES.map(|(_, feature)| feature).into_iter();
        let found = found.filter(|&feature| is_detected(feature));
        found.fold(Isa::PORTABLE, |isa, feature| isa.union(Isa::of(&[feature])))
    })
}

#[cfg(target_arch = "x86_64")]
fn is_detected(feature: Feature) -> bool {
    match feature {
        Feature::Avx2 => is_x86_feature_detected!("avx2"),
        Feature::Fma => is_x86_feature_detected!("fma"),
        Feature::Bmi2 => is_x86_feature_detected!("bmi2"),
        Feature::Avx512F => is_x86_feature_detected!("avx512f"),
        Feature::Avx512Dq => is_x86_feature_detected!("avx512dq"),
        Feature::Avx512Vl => is_x86_feature_detected!("avx512vl"),
        Feature::Avx512Bw => is_x86_feature_detected!("avx512bw"),
        Feature::Avx512Ifma => is_x86_feature_detected!("avx512ifma"),
        Feature::Neon => false,
    }
}

#[cfg(target_arch = "aarch64")]
fn is_detected(feature: Feature) -> bool {
    feature == Feature::Neon && std::arch::is_aarch64_feature_detected!("neon")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn is_detected(_: Feature) -> bool {
    false
}

/// The named sets that this processor has, with kernels or without, best last.
pub fn processor_isas() -> impl Iterator<Item = Isa> {
    let named = NAMED.map(|(_, isa)| isa).into_iter();
    named.filter(|&isa| processor().includes(isa))
}

/// The named sets that this processor has and that rows of kernels need, best last.
fn available() -> &'static [Isa] {
    static AVAILABLE: Once<Vec<Isa>> = Once::new();
    AVAILABLE.get_or_init(|| {
        processor_isas()
            .filter(|&isa| kernels().iter().any(|row| row.needs == isa))
            .collect()
    })
}

/// The instruction sets of this processor that kernels were compiled for, best last.
#[must_use]
pub fn available_isas() -> Vec<Isa> {
    available().to_vec()
}

/// All that this processor has of the sets that kernels were compiled for.
#[must_use]
pub fn best_isa() -> Isa {
    static BEST: Once<Isa> = Once::new();
    *BEST.get_or_init(|| available().iter().copied().fold(Isa::PORTABLE, Isa::union))
}

/// The instruction set that [`ISA_VARIABLE`] names, or else the best one.
///
/// # Errors
/// The variable holds no name of an instruction set, or one that is not available here.
pub fn choose_isa() -> Result<Isa, IsaError> {
    match std::env::var_os(ISA_VARIABLE) {
        None => Ok(best_isa()),
        // As for the other variables: set to nothing is not set.
        Some(value) if value.is_empty() => Ok(best_isa()),
        Some(value) => named_isa(&value.to_string_lossy()),
    }
}

fn named_isa(value: &str) -> Result<Isa, IsaError> {
    let found = Isa::from_name(value).filter(|isa| isa.is_available());
    found.ok_or_else(|| {
        let names: Vec<String> = available().iter().map(Isa::to_string).collect();
        IsaError {
            value: value.to_owned(),
            available: names.join(", "),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_is_always_there_and_names_read_back() {
        assert!(Isa::PORTABLE.is_available());
        for isa in available_isas() {
            assert_eq!(named_isa(&isa.to_string()), Ok(isa));
            assert_eq!(Isa::from_bits(isa.bits()), Some(isa));
        }
        assert_eq!(Isa::from_bits(1 << FEATURES.len()), None);
        assert_eq!(available_isas().last(), Some(&best_isa()));
        assert!(processor().includes(best_isa()));
    }

    #[test]
    fn features_stand_in_the_order_of_their_bits() {
        for (bit, (name, feature)) in FEATURES.into_iter().enumerate() {
            assert_eq!(Isa::of(&[feature]).bits(), 1 << bit, "{name}");
        }
    }

    #[test]
    fn each_named_set_has_a_number_and_a_name_of_its_own() {
        for (index, (name, isa)) in NAMED.into_iter().enumerate() {
            assert_eq!(Isa::from_name(name), Some(isa));
            assert_eq!(isa.named_index(), Some(index));
            assert_eq!(isa.to_string(), name);
        }
        let both = Isa::NEON.union(Isa::AVX512);
        assert_eq!(both.named_index(), None);
        assert_eq!(both.to_string(), "neon+avx512");
    }

    #[test]
    fn neon_and_avx2_do_not_contain_one_another_and_avx512_contains_avx2() {
        assert!(!Isa::NEON.includes(Isa::AVX2) && !Isa::AVX2.includes(Isa::NEON));
        assert!(Isa::AVX512.includes(Isa::AVX2) && !Isa::AVX2.includes(Isa::AVX512));
        assert!(Isa::NEON.includes(Isa::PORTABLE) && Isa::AVX2.includes(Isa::PORTABLE));
    }

    #[test]
    fn features_of_a_drivers_own_are_not_the_plans_to_withhold() {
        let own = Isa::from_bits(1 << Isa::FIRST_OWN | 1 << 63).unwrap();
        let device = own.union(Isa::AVX512);
        assert_eq!(device.limited_to(Isa::AVX2), own.union(Isa::AVX2));
        assert_eq!(own.limited_to(Isa::AVX512), own);
        assert_eq!(Isa::from_bits(1 << (Isa::FIRST_OWN - 1)), None);
    }

    #[test]
    fn an_unknown_name_and_a_set_without_kernels_are_refused_with_what_is_available() {
        for (value, start) in [
            ("sse9", "CLOAKWORK_ISA=sse9 is not available here"),
            ("neon", "CLOAKWORK_ISA=neon is not available here"),
        ] {
            let error = named_isa(value).map_err(|error| error.to_string());
            let text = error.err().unwrap_or_default();
            assert!(text.starts_with(start), "{text}");
            assert!(text.contains("portable"), "{text}");
        }
    }
}
