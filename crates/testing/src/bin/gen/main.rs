//! Writes the files that are generated from declarations: from ops `python/cloakwork/ops.pyi` and
//! `docs/ops.md`; from fields and curves `csrc/include/cloakwork/algebra.h`, `docs/fields.md` and
//! `python/cloakwork/fields/dtypes.py`. With `--check` it writes no file and fails if one of them
//! is stale.

mod algebra;
mod markdown;
mod python;

use cloakwork_csrc as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let check = match args.as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("gen: expected --check or nothing, got: {}", args.join(" "));
            return ExitCode::from(2);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = Examples(root.join("docs/examples"));
    let files = [
        ("csrc/include/cloakwork/algebra.h", algebra::header()),
        ("docs/fields.md", algebra::page()),
        ("python/cloakwork/fields/dtypes.py", algebra::names()),
        ("python/cloakwork/ops.pyi", python::stub(&examples)),
        ("docs/ops.md", markdown::page(&examples)),
    ];
    let mut failed = false;
    for (name, text) in files {
        if let Err(message) = update(&root.join(name), &text, check) {
            eprintln!("gen: {name}: {message}");
            failed = true;
        }
    }
    ExitCode::from(u8::from(failed))
}

fn update(path: &Path, text: &str, check: bool) -> Result<(), String> {
    if std::fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    if check {
        return Err("is stale; `python3 dev.py gen` rewrites it".to_owned());
    }
    std::fs::write(path, text).map_err(|error| error.to_string())
}

/// Short sessions that show an op at work, one optional file for each op: `docs/examples/<op>.txt`,
/// run as doctests of `cloakwork.ops`.
struct Examples(PathBuf);

impl Examples {
    fn of(&self, op: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.0.join(format!("{op}.txt"))).ok()?;
        Some(text.trim_end().to_owned())
    }
}
