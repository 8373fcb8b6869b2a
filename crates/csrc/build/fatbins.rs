//! The fatbins of the CUDA kernels, as bytes of the library.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders from which fatbins are made.
pub const SOURCES: [&str; 2] = ["csrc", "cuda"];

/// The source of `cw_cuda_module`, with the fatbins of `target/cuda` if they are of these sources.
pub fn write_modules(repository: &Path, out: &Path) -> io::Result<PathBuf> {
    let folder = repository.join("target/cuda");
    watch(&folder.join("digest"));
    // In the source, so that other fatbins at the same paths make another unit.
    let digest = std::fs::read_to_string(folder.join("digest")).unwrap_or_default();
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
        "// {digest}\n#include \"cuda/modules.h\"\n{files}\
         extern \"C\" const void* cw_cuda_module(const char* name, uint64_t* bytes) {{\n{names}  \
         (void)name;\n  *bytes = 0;\n  return nullptr;\n}}\n"
    );
    let path = out.join("cuda_modules.cc");
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
    for folder in SOURCES {
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
