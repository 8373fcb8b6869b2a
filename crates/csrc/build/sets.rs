//! The instruction sets: their families of kernels and flags, and those that a build has.

use std::io;

/// Families of kernels: folders of `csrc/kernels`. Those that compile longest come first; the rows
/// of `sorting` serve every processor.
const FAMILIES: [&str; 11] = [
    "poly",
    "field",
    "reduction",
    "curve",
    "elementwise",
    "words",
    "linear",
    "hash",
    "creation",
    "contents",
    "sorting",
];
/// Those with rows for vectors.
const VECTORS: &[&str] = FAMILIES.split_at(10).0;

const AVX2: &[&str] = &["-mavx2", "-mfma", "-mbmi2"];
const AVX512: &[&str] = &["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw"];
const IFMA: &[&str] = &["-mavx512ifma"];

/// An instruction set.
#[derive(Clone, Copy)]
pub struct Set {
    pub isa: &'static str,
    pub families: &'static [&'static str],
    /// Flags of the compiler beside those of every set, in groups.
    flags: &'static [&'static [&'static str]],
}

impl Set {
    pub fn flags(&self) -> Vec<&'static str> {
        self.flags.concat()
    }
}

/// The sets of x86-64.
const X86: [Set; 4] = [
    Set {
        isa: "avx512",
        families: VECTORS,
        flags: &[AVX2, AVX512],
    },
    Set {
        isa: "avx512ifma",
        families: &["poly", "field", "curve", "words", "hash"],
        flags: &[AVX2, AVX512, IFMA],
    },
    Set {
        isa: "avx2",
        families: VECTORS,
        flags: &[AVX2],
    },
    PORTABLE,
];

/// The portable kernels have no flags, and the same rules.
const PORTABLE: Set = Set {
    isa: "portable",
    families: &FAMILIES,
    flags: &[],
};

/// A part of a family's rows that is compiled as a unit.
pub struct Part {
    pub name: &'static str,
    /// The macro that chooses the part.
    pub define: Option<&'static str>,
    pub optimisation: u32,
}

const WHOLE: Part = Part {
    name: "",
    define: None,
    optimisation: 3,
};
/// Portable rows that have no other beside them on any processor.
const OWN_ROWS: Part = Part {
    name: "-own",
    define: Some("CW_OWN_ROWS"),
    optimisation: 3,
};
/// Portable rows beside which this processor prefers others: tests compare the two. Less
/// optimisation gives the same bits, and compiles in a third of the time.
const SHARED_ROWS: Part = Part {
    name: "-shared",
    define: Some("CW_SHARED_ROWS"),
    optimisation: 1,
};

/// The parts of a family, in a build of these sets.
pub fn parts(set: &Set, family: &str, chosen: &[Set], is_native: bool) -> Vec<Part> {
    let is_replaced = is_native && chosen.len() > 1 && set.isa == "portable";
    match (is_replaced, VECTORS.contains(&family)) {
        (true, true) => vec![OWN_ROWS, SHARED_ROWS],
        _ => vec![WHOLE],
    }
}

/// The sets of an architecture.
pub fn of_target(architecture: &str) -> &'static [Set] {
    match architecture {
        "x86_64" => &X86,
        _ => std::slice::from_ref(&PORTABLE),
    }
}

/// Whether the build is for this machine alone, by `CLOAKWORK_BUILD_ISA`.
pub fn is_native() -> io::Result<bool> {
    const ISA: &str = "CLOAKWORK_BUILD_ISA";
    println!("cargo:rerun-if-env-changed={ISA}");
    match std::env::var(ISA).as_deref() {
        Ok("native") => Ok(std::env::var("TARGET").ok() == std::env::var("HOST").ok()),
        Ok("" | "all") | Err(_) => Ok(false),
        Ok(other) => Err(io::Error::other(format!(
            "{ISA}: got {other}, expected native (this machine's best sets) or all"
        ))),
    }
}

/// Of the sets of a target, those of a build.
pub fn chosen(sets: &[Set], is_native: bool) -> Vec<Set> {
    let best = best_here();
    let is_chosen = |set: &&Set| !is_native || set.isa == "portable" || best.contains(&set.isa);
    sets.iter().filter(is_chosen).copied().collect()
}

/// The sets whose rows this processor prefers to all others.
#[cfg(target_arch = "x86_64")]
fn best_here() -> &'static [&'static str] {
    use std::is_x86_feature_detected as has;
    if !(has!("avx2") && has!("fma") && has!("bmi2")) {
        &[]
    } else if !(has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512bw")) {
        &["avx2"]
    } else if !has!("avx512ifma") {
        &["avx512"]
    } else {
        &["avx512", "avx512ifma"]
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn best_here() -> &'static [&'static str] {
    &[]
}

/// The files of these sets, as `cloakwork_csrc::SOURCES` lists them.
pub fn lines(sets: &[Set]) -> String {
    let lines = sets.iter().flat_map(|set| {
        let line = |family: &&str| {
            [&[set.isa, &source(set, family)], &set.flags()[..]]
                .concat()
                .join(" ")
        };
        set.families.iter().map(line)
    });
    lines.collect::<Vec<_>>().join(";")
}

/// The file of a family for a set, from `csrc/`.
pub fn source(set: &Set, family: &str) -> String {
    format!("kernels/{family}/{}.cc", set.isa)
}
