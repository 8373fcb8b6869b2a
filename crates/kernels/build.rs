//! Compiles csrc/: one static library an instruction set, each with its own flags.
//!
//! `CLOAKWORK_SKIP_CPP=1` compiles nothing: `cargo check` links nothing, so it needs no library.
//! It takes a target directory of its own, so that builds do not take its result.

use std::path::Path;

/// What serves every instruction set.
const COMMON: &[&str] = &[
    "kernels/table.cc",
    "kernels/check.cc",
    "kernels/contents/prepare.cc",
    "kernels/curve/prepare.cc",
    "kernels/gadget/prepare.cc",
    "kernels/hash/prepare.cc",
    "kernels/linear/prepare.cc",
    "kernels/modular/prepare.cc",
    "kernels/ntt/prepare.cc",
    "kernels/poly/prepare.cc",
    "kernels/reduction/prepare.cc",
    "kernels/rlwe/prepare.cc",
    "kernels/rns/prepare.cc",
    "kernels/sorting/prepare.cc",
];

/// Folders that hold a file an instruction set.
const FAMILIES: [&str; 11] = [
    "contents",
    "creation",
    "curve",
    "elementwise",
    "field",
    "hash",
    "linear",
    "poly",
    "reduction",
    "sorting",
    "words",
];

/// An instruction set, its folders, what the compiler needs beside the flags of all.
type Set = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// The sets of x86-64.
const X86: [Set; 3] = [
    ("avx2", &FAMILIES, &["-mavx2", "-mfma", "-mbmi2"]),
    (
        "avx512",
        &FAMILIES,
        &[
            "-mavx512f",
            "-mavx512dq",
            "-mavx512vl",
            "-mavx512bw",
            "-mavx2",
            "-mfma",
            "-mbmi2",
        ],
    ),
    (
        "avx512ifma",
        &["curve", "field", "hash", "poly", "words"],
        &[
            "-mavx512f",
            "-mavx512dq",
            "-mavx512vl",
            "-mavx512bw",
            "-mavx512ifma",
            "-mavx2",
            "-mfma",
            "-mbmi2",
        ],
    ),
];

/// The portable kernels have no flags, and the same rules.
const PORTABLE: Set = ("portable", &FAMILIES, &[]);

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../csrc");
    println!("cargo:rerun-if-changed={}", root.display());
    let is_compiled = is_compiled();
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let sets = if architecture == "x86_64" {
        &X86[..]
    } else {
        &[]
    };
    for set in sets.iter().chain([&PORTABLE]) {
        let (isa, _, flags) = set;
        let mut library = build(&root);
        library.files(sources(set).map(|file| root.join(file)));
        library.flags(*flags);
        if library.get_compiler().is_like_clang() {
            // Newer clang counts 512-bit registers apart.
            library.flag_if_supported("-mevex512");
        }
        if is_compiled {
            library.compile(&format!("cloakwork_kernels_{isa}"));
        }
    }
    // The last library named is searched last: the table refers to all the others.
    let mut common = build(&root);
    common.files(COMMON.iter().map(|file| root.join(file)));
    let compiler = common.get_compiler().path().display().to_string();
    if is_compiled {
        common.compile("cloakwork_kernels_common");
    }
    // For the test that looks at what objects of one instruction set export.
    let lines: Vec<String> = sets
        .iter()
        .chain([&PORTABLE])
        .flat_map(|set| sources(set).map(|file| [&[set.0, &file], set.2].concat().join(" ")))
        .collect();
    println!("cargo:rustc-env=CLOAKWORK_ISA_SOURCES={}", lines.join(";"));
    println!("cargo:rustc-env=CLOAKWORK_CXX={compiler}");
}

/// Whether something will be linked. Not by clippy either, whose build cargo keeps apart.
fn is_compiled() -> bool {
    const SKIP: &str = "CLOAKWORK_SKIP_CPP";
    println!("cargo:rerun-if-env-changed={SKIP}");
    let wrapper = std::env::var("RUSTC_WORKSPACE_WRAPPER").unwrap_or_default();
    let is_lint = Path::new(&wrapper).ends_with("clippy-driver");
    let is_skipped = std::env::var(SKIP).is_ok_and(|value| value == "1");
    !is_lint && !is_skipped
}

/// The files of an instruction set.
fn sources(set: &Set) -> impl Iterator<Item = String> {
    let (isa, families, _) = *set;
    families
        .iter()
        .map(move |family| format!("kernels/{family}/{isa}.cc"))
}

fn build(root: &Path) -> cc::Build {
    let mut library = cc::Build::new();
    library
        .cpp(true)
        .std("c++17")
        .include(root)
        .include(root.join("include"))
        // Kernels are what is measured: optimised in debug builds too.
        .opt_level(3)
        .debug(false)
        // Only libc and the compiler's own routines may be needed at run time.
        .cpp_link_stdlib(None)
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .flag("-fvisibility=hidden")
        // The same bits on every instruction set: a product and a sum stay two roundings unless a
        // kernel says otherwise. Nobody reads errno or the flags of a kernel's arithmetic.
        .flag("-ffp-contract=off")
        .flag("-fno-math-errno")
        .flag("-fno-trapping-math")
        // On aarch64, the instructions of the oldest processors rather than calls of the runtime.
        .flag_if_supported("-mno-outline-atomics")
        // GCC 12 sees uninitialised values in its own AVX-512 headers.
        .flag_if_supported("-Wno-maybe-uninitialized")
        .flag_if_supported("-Wno-uninitialized")
        .warnings(true);
    library
}
