//! Which instruction sets this processor has, and which one to use.

use cloakwork_process::Once;
use std::fmt;

/// The environment variable that overrides the choice.
pub const ISA_VARIABLE: &str = "CLOAKWORK_ISA";

/// An instruction set that kernels are compiled for; each includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// Plain 64-bit words, on any processor.
    Portable,
    /// x86-64 with AVX2 and BMI2.
    Avx2,
    /// AVX-512 F, DQ, VL and BW.
    Avx512,
    /// AVX-512 with IFMA, its 52-bit multiply-add.
    Avx512Ifma,
}

/// Every instruction set, plainest first.
pub const ALL_ISAS: [Isa; 4] = [Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Avx512Ifma];

/// The environment asks for what this processor does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{ISA_VARIABLE}={value} is not available here: expected one of {available}, or unset")]
pub struct IsaError {
    /// What the variable holds.
    pub value: String,
    /// Names that would do.
    pub available: String,
}

impl Isa {
    /// The name that kernel symbols end in: `avx512`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Ifma => "avx512ifma",
        }
    }

    /// The set of this number of the ABI.
    #[must_use]
    pub fn from_abi(number: u32) -> Option<Self> {
        ALL_ISAS.into_iter().find(|&isa| isa as u32 == number)
    }

    /// Whether this processor has it.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi2");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw");
            match self {
                Self::Portable => true,
                Self::Avx2 => avx2,
                Self::Avx512 => avx512,
                Self::Avx512Ifma => avx512 && is_x86_feature_detected!("avx512ifma"),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Portable
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The instruction sets of this processor, plainest first.
#[must_use]
pub fn available_isas() -> Vec<Isa> {
    ALL_ISAS
        .into_iter()
        .filter(|isa| isa.is_available())
        .collect()
}

/// The best instruction set of this processor.
#[must_use]
pub fn best_isa() -> Isa {
    static BEST: Once<Isa> = Once::new();
    *BEST.get_or_init(|| available_isas().pop().unwrap_or(Isa::Portable))
}

/// The instruction set that [`ISA_VARIABLE`] names, or else the best one.
///
/// # Errors
/// The variable holds no name of an instruction set, or one that this processor lacks.
pub fn choose_isa() -> Result<Isa, IsaError> {
    match std::env::var_os(ISA_VARIABLE) {
        None => Ok(best_isa()),
        Some(value) => named_isa(&value.to_string_lossy()),
    }
}

fn named_isa(value: &str) -> Result<Isa, IsaError> {
    let isas = available_isas();
    isas.iter()
        .copied()
        .find(|isa| isa.name() == value)
        .ok_or_else(|| {
            let names: Vec<&str> = isas.iter().map(|isa| isa.name()).collect();
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
        assert!(Isa::Portable.is_available());
        for isa in available_isas() {
            assert_eq!(named_isa(isa.name()), Ok(isa));
            assert_eq!(Isa::from_abi(isa as u32), Some(isa));
        }
        assert_eq!(Isa::from_abi(4), None);
        assert_eq!(available_isas().last(), Some(&best_isa()));
    }

    #[test]
    fn an_unknown_name_is_refused_with_what_there_is() {
        let error = named_isa("sse9").map_err(|error| error.to_string());
        let text = error.err().unwrap_or_default();
        assert!(
            text.starts_with("CLOAKWORK_ISA=sse9 is not available here"),
            "{text}"
        );
        assert!(text.contains("portable"), "{text}");
    }
}
