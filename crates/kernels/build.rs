//! Compiles csrc/: one static library an instruction set, each with its own flags.
//!
//! `CLOAKWORK_SKIP_CPP=1` compiles nothing: `cargo check` links nothing, so it needs no library.
//! It takes a target directory of its own, so that builds do not take its result.
//!
//! The fatbins of the CUDA kernels (`dev.py cuda`) are embedded where they fit the sources.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What serves every instruction set.
const COMMON: &[&str] = &[
    "kernels/table.cc",
    "kernels/check.cc",
    "../cuda/table.cc",
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

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../csrc");
    let repository = root.join("..");
    for folder in CUDA_SOURCES {
        println!(
            "cargo:rerun-if-changed={}",
            repository.join(folder).display()
        );
    }
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
    common.include(&repository);
    common.files(COMMON.iter().map(|file| root.join(file)));
    common.file(cuda_modules(&repository)?);
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
    Ok(())
}

/// Folders from which fatbins are made.
const CUDA_SOURCES: [&str; 2] = ["csrc", "cuda"];

/// The source of `cw_cuda_module`, with the fatbins of `target/cuda` if they are of these sources.
fn cuda_modules(repository: &Path) -> io::Result<PathBuf> {
    let folder = repository.join("target/cuda");
    watch(&folder.join("digest"));
    let mut files = String::new();
    let mut names = String::new();
    for (number, path) in fatbins(repository, &folder)?.iter().enumerate() {
        let (path, name) = (
            path.display(),
            path.file_stem().unwrap_or_default().display(),
        );
        files += &format!("CW_FATBIN({number}, \"{path}\")\n");
        names += &format!("  CW_FATBIN_NAMED({number}, \"{name}\")\n");
    }
    let source = format!(
        "#include \"cuda/modules.h\"\n{files}\
         extern \"C\" const void* cw_cuda_module(const char* name, uint64_t* bytes) {{\n{names}  \
         (void)name;\n  *bytes = 0;\n  return nullptr;\n}}\n"
    );
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    let path = Path::new(&out).join("cuda_modules.cc");
    std::fs::write(&path, source)?;
    Ok(path)
}

/// Runs this script again when the digest changes. Cargo would run it each time if a watched file
/// were absent: an empty digest, older than every build, says that there are no fatbins.
fn watch(digest: &Path) {
    let make = || {
        std::fs::create_dir_all(digest.parent().unwrap_or(digest))?;
        std::fs::File::create(digest)?.set_modified(SystemTime::UNIX_EPOCH)
    };
    // A folder of sources that cannot be written gets no fatbins.
    if digest.exists() || make().is_ok() {
        println!("cargo:rerun-if-changed={}", digest.display());
    }
}

/// The fatbins in `folder`, if its digest is that of the sources. Only Linux has CUDA drivers.
fn fatbins(repository: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let Ok(written) = std::fs::read_to_string(folder.join("digest")) else {
        return Ok(Vec::new());
    };
    if !is_linux || written.is_empty() {
        return Ok(Vec::new());
    }
    if written != sources_digest(repository)? {
        println!(
            "cargo:warning=no CUDA kernels: those in target/cuda are of other sources; \
             `python3 dev.py cuda` makes them"
        );
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "fatbin") {
            found.push(path.canonicalize()?);
        }
    }
    found.sort();
    Ok(found)
}

/// FNV-1a of the sources' paths and contents; `scripts/dev/cuda_sources.py` computes the same.
fn sources_digest(repository: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for folder in CUDA_SOURCES {
        list_files(&repository.join(folder), folder, &mut files)?;
    }
    files.sort();
    let mut value = 0xcbf2_9ce4_8422_2325_u64;
    for (name, path) in files {
        for byte in name.into_bytes().into_iter().chain(std::fs::read(path)?) {
            value = (value ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    Ok(format!("{value:016x}"))
}

/// Adds the files below a folder: their names from the root of the repository, and their paths.
fn list_files(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (
            entry.path(),
            format!("{name}/{}", entry.file_name().display()),
        );
        if path.is_dir() {
            list_files(&path, &name, files)?;
        } else {
            files.push((name, path));
        }
    }
    Ok(())
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
