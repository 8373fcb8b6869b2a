//! Compiles csrc/: each unit once, all of them in one pool beside cargo's own jobs, and again only
//! when a file changes that the compiler read for it.
//!
//! - `CLOAKWORK_BUILD_ISA=native` compiles the portable kernels and the best sets of this machine's
//!   processor; unset, or `all`, it compiles all sets of the target.
//! - `CLOAKWORK_SKIP_CPP=1` compiles nothing: `cargo check` links nothing. It takes a target
//!   directory of its own, so that builds do not take its result.
//! - `CLOAKWORK_PROGRESS` names a file that gets a line for each finished unit.
//!
//! The fatbins of the CUDA kernels (`dev.py cuda`) are embedded where they fit the sources.

mod fatbins;
mod pool;
mod rule;
mod sets;
mod unit;

use sets::{Part, Set};
use std::io;
use std::path::{Path, PathBuf};
use unit::Unit;

/// Sources that all instruction sets share.
const COMMON: [&str; 15] = [
    "csrc/kernels/table.cc",
    "csrc/kernels/check.cc",
    "cuda/table.cc",
    "csrc/kernels/contents/prepare.cc",
    "csrc/kernels/curve/prepare.cc",
    "csrc/kernels/gadget/prepare.cc",
    "csrc/kernels/hash/prepare.cc",
    "csrc/kernels/linear/prepare.cc",
    "csrc/kernels/modular/prepare.cc",
    "csrc/kernels/ntt/prepare.cc",
    "csrc/kernels/poly/prepare.cc",
    "csrc/kernels/reduction/prepare.cc",
    "csrc/kernels/rlwe/prepare.cc",
    "csrc/kernels/rns/prepare.cc",
    "csrc/kernels/sorting/prepare.cc",
];

fn main() -> io::Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let root = repository.join("csrc");
    for folder in fatbins::SOURCES {
        let path = repository.join(folder);
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let sets = sets::of_target(&std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default());
    let is_native = sets::is_native()?;
    let chosen = sets::chosen(sets, is_native);
    let compiler = compiler(&root);
    let tool = compiler.get_compiler();

    let mut units = Vec::new();
    for set in &chosen {
        for family in set.families {
            for part in sets::parts(set, family, &chosen, is_native) {
                units.push(set_unit(&compiler, set, family, &part, &root, &out));
            }
        }
    }
    let of_sets = units.len();
    units.extend(common_units(&compiler, &chosen, &repository, &out)?);

    let mut objects = Vec::new();
    if is_compiled() {
        pool::compile(&units, &tool)?;
        let mut archive = compiler.clone();
        for unit in &units {
            archive.object(&unit.object);
        }
        archive.compile("cloakwork_kernels");
        let own = units[..of_sets].iter();
        objects.extend(own.map(|unit| format!("{} {}", unit.isa, unit.object.display())));
    }
    // For the tests that look at what objects of one instruction set export.
    println!(
        "cargo:rustc-env=CLOAKWORK_ISA_SOURCES={}",
        sets::lines(sets)
    );
    println!(
        "cargo:rustc-env=CLOAKWORK_ISA_OBJECTS={}",
        objects.join(";")
    );
    println!("cargo:rustc-env=CLOAKWORK_CXX={}", tool.path().display());
    Ok(())
}

/// A part of a family for a set.
fn set_unit(
    compiler: &cc::Build,
    set: &Set,
    family: &str,
    part: &Part,
    root: &Path,
    out: &Path,
) -> Unit {
    let mut own = compiler.clone();
    own.flags(set.flags()).opt_level(part.optimisation);
    if own.get_compiler().is_like_clang() && set.isa.starts_with("avx512") {
        // Newer clang counts 512-bit registers apart.
        own.flag_if_supported("-mevex512");
    }
    if let Some(name) = part.define {
        own.define(name, None);
        // With less optimisation GCC warns of loops that it does not see to end.
        own.flag_if_supported("-Wno-aggressive-loop-optimizations");
    }
    let name = format!("{}-{family}{}", set.isa, part.name);
    let source = root.join(sets::source(set, family));
    Unit::new(set.isa, &name, source, own.get_compiler(), out)
}

/// The table of all rows, which must know the sets, and what prepares data for kernels.
fn common_units(
    compiler: &cc::Build,
    chosen: &[Set],
    repository: &Path,
    out: &Path,
) -> io::Result<Vec<Unit>> {
    let mut common = compiler.clone();
    common.include(repository);
    let mut table = common.clone();
    for set in chosen {
        let name = format!("CW_WITH_{}", set.isa.to_uppercase());
        table.define(&name, None);
    }
    let modules = fatbins::write_modules(repository, out)?;
    let mut sources: Vec<PathBuf> = COMMON.iter().map(|file| repository.join(file)).collect();
    sources.push(modules);
    let unit = |source: PathBuf| {
        let name = source.with_extension("");
        let file = name.file_name().unwrap_or_default().display().to_string();
        let folder = name.parent().and_then(Path::file_name);
        let folder = folder.unwrap_or_default().display().to_string();
        let is_table = file == "table" && folder == "kernels";
        let tool = if is_table { &table } else { &common }.get_compiler();
        Unit::new("common", &format!("{folder}-{file}"), source, tool, out)
    };
    Ok(sources.into_iter().map(unit).collect())
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

fn compiler(root: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build
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
    build
}
