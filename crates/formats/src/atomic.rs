//! Files appear whole or not at all.

use crate::SaveError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Why the body of a file could not be produced.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The system refused a write.
    Io(io::Error),
    /// The program cannot be said in this form.
    Save(SaveError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        Self::Save(error)
    }
}

/// A file beside its destination that vanishes unless it is renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a successful rename there is nothing left to remove.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes a file through `body`; the destination changes only once all of it is on disk.
pub(crate) fn replace(
    path: &Path,
    body: impl FnOnce(&mut BufWriter<File>) -> Result<(), Failure>,
) -> Result<(), SaveError> {
    write(path, body).map_err(|failure| match failure {
        Failure::Io(source) => SaveError::Write {
            path: path.to_owned(),
            source,
        },
        Failure::Save(error) => error,
    })
}

fn write(
    path: &Path,
    body: impl FnOnce(&mut BufWriter<File>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let temporary = Temporary(temporary_path(path)?);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary.0)?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    body(&mut writer)?;
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary.0, path)?;
    Ok(())
}

fn temporary_path(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path does not end in a file name",
        )
    })?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    hidden.push(format!(".{}.{count}.tmp", std::process::id()));
    Ok(path.with_file_name(hidden))
}
