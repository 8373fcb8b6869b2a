//! One call of the compiler, and whether its object is still that of its inputs.

use crate::rule::dependencies;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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

    /// Compiles the unit, and writes down its inputs; an error is what the compiler said.
    pub fn compile(&self, version: &str) -> Result<String, String> {
        let began = SystemTime::now();
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
        if !done.status.success() {
            return Err(said);
        }
        // The compiler may have read what stood in a file before it changed: no key, so that the
        // unit is compiled again.
        if let Some(key) = self.key(version, &mut Digests::before(began)) {
            std::fs::write(self.beside("key"), key).map_err(|error| error.to_string())?;
        }
        Ok(said)
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
pub struct Digests {
    known: HashMap<String, Option<u64>>,
    /// Files that changed since then have none.
    before: Option<SystemTime>,
}

impl Digests {
    fn before(time: SystemTime) -> Self {
        Self {
            before: Some(time),
            ..Self::default()
        }
    }

    fn of(&mut self, path: &str) -> Option<u64> {
        let before = self.before;
        *self.known.entry(path.to_owned()).or_insert_with(|| {
            let changed = std::fs::metadata(path).and_then(|facts| facts.modified());
            if before.is_some_and(|before| changed.is_ok_and(|changed| changed >= before)) {
                return None;
            }
            let mut state = DefaultHasher::new();
            std::fs::read(path).ok()?.hash(&mut state);
            Some(state.finish())
        })
    }
}
