//! Compiles csrc/: one static library an instruction set, each with its own flags.

use std::path::Path;

/// What serves every instruction set.
const COMMON: [&str; 7] = [
    "kernels/portable.cc",
    "kernels/table.cc",
    "kernels/check.cc",
    "kernels/gadget/prepare.cc",
    "kernels/modular/prepare.cc",
    "kernels/ntt/prepare.cc",
    "kernels/rlwe/prepare.cc",
];

/// An instruction set, its source, what the compiler needs beside the flags of all.
type Set = (&'static str, &'static str, &'static [&'static str]);

/// The sets of x86-64.
const X86: [Set; 3] = [
    ("avx2", "kernels/x86_avx2.cc", &["-mavx2", "-mbmi2"]),
    (
        "avx512",
        "kernels/x86_avx512.cc",
        &[
            "-mavx512f",
            "-mavx512dq",
            "-mavx512vl",
            "-mavx512bw",
            "-mavx2",
            "-mbmi2",
        ],
    ),
    (
        "avx512ifma",
        "kernels/x86_avx512ifma.cc",
        &[
            "-mavx512f",
            "-mavx512dq",
            "-mavx512vl",
            "-mavx512bw",
            "-mavx512ifma",
            "-mavx2",
            "-mbmi2",
        ],
    ),
];

/// The portable kernels have no flags, and the same rules.
const PORTABLE: Set = ("portable", "kernels/portable.cc", &[]);

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../csrc");
    println!("cargo:rerun-if-changed={}", root.display());
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let sets = if architecture == "x86_64" {
        &X86[..]
    } else {
        &[]
    };
    for (isa, source, flags) in sets {
        let mut library = build(&root);
        library.file(root.join(source)).flags(*flags);
        if library.get_compiler().is_like_clang() {
            // Newer clang counts 512-bit registers apart.
            library.flag_if_supported("-mevex512");
        }
        library.compile(&format!("cloakwork_kernels_{isa}"));
    }
    // The last library named is searched last: the table refers to all the others.
    let mut common = build(&root);
    common.files(COMMON.map(|file| root.join(file)));
    let compiler = common.get_compiler().path().display().to_string();
    common.compile("cloakwork_kernels_common");
    // For the test that looks at what objects of one instruction set export.
    let line = |(isa, source, flags): &Set| [&[*isa, *source], *flags].concat().join(" ");
    let lines: Vec<String> = sets.iter().chain([&PORTABLE]).map(line).collect();
    println!("cargo:rustc-env=CLOAKWORK_ISA_SOURCES={}", lines.join(";"));
    println!("cargo:rustc-env=CLOAKWORK_CXX={compiler}");
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
        // GCC 12 sees uninitialised values in its own AVX-512 headers.
        .flag_if_supported("-Wno-maybe-uninitialized")
        .warnings(true);
    library
}
