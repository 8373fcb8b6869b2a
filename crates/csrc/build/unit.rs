//! One call of the compiler, and whether its object is still that of its inputs.

use crate::rule::dependencies;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// A unit: a source, how it is compiled, and its object.
pub struct Unit {
    /// For people and file names: `avx2-curve`.
    pub name: String,
    pub isa: &'static str,
    pub object: PathBuf,
    source: PathBuf,
    tool: cc::Tool,
}

impl Unit {
    pub fn new(isa: &'static str, name: &str, source: PathBuf, tool: cc::Tool, out: &Path) -> Self {
        Self {
            object: out.join("objects").join(format!("{name}.o")),
            name: name.to_owned(),
            isa,
            source,
            tool,
        }
    }

    /// Whether the object is of these arguments, this compiler, and the files as they are.
    pub fn is_fresh(&self, version: &str, files: &mut Digests) -> bool {
        let key = self.key(version, files);
        let written = std::fs::read_to_string(self.beside("key")).ok();
        self.object.is_file() && key.is_some() && written == key
    }

    /// Compiles the unit; an error is what the compiler said.
    pub fn compile(&self) -> Result<String, String> {
        let run = || {
            let _ = std::fs::remove_file(self.beside("key"));
            std::fs::create_dir_all(self.object.parent().unwrap_or(&self.object))?;
            let mut command = self.tool.to_command();
            command.arg("-MD").arg("-MF").arg(self.beside("d"));
            command
                .arg("-c")
                .arg(&self.source)
                .arg("-o")
                .arg(&self.object);
            command.output()
        };
        let done = run().map_err(|error| format!("{}: {error}", self.tool.path().display()))?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() {
            Ok(said)
        } else {
            Err(said)
        }
    }

    /// Writes down the inputs that the object was compiled from.
    pub fn remember(&self, version: &str, files: &mut Digests) -> io::Result<()> {
        let key = self.key(version, files).unwrap_or_default();
        std::fs::write(self.beside("key"), key)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.object.with_extension(ending)
    }

    /// A digest of all inputs, or nothing if one is not there.
    fn key(&self, version: &str, files: &mut Digests) -> Option<String> {
        let listed = std::fs::read_to_string(self.beside("d")).ok()?;
        let mut state = DefaultHasher::new();
        (version, self.tool.path(), self.tool.args(), &self.source).hash(&mut state);
        let read = dependencies(&listed);
        // A rule that is not understood would say that nothing ever changes.
        if !read.iter().any(|path| Path::new(path) == self.source) {
            return None;
        }
        for path in read {
            files.of(&path)?.hash(&mut state);
            path.hash(&mut state);
        }
        Some(format!("{:016x}", state.finish()))
    }
}

/// Digests of files, each read once.
#[derive(Default)]
pub struct Digests(HashMap<String, Option<u64>>);

impl Digests {
    fn of(&mut self, path: &str) -> Option<u64> {
        *self.0.entry(path.to_owned()).or_insert_with(|| {
            let mut state = DefaultHasher::new();
            std::fs::read(path).ok()?.hash(&mut state);
            Some(state.finish())
        })
    }
}
