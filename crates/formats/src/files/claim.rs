//! Claims of names to write to: a new name, or a regular file that nothing else of the same work
//! uses.

use super::temporary::Temporary;
use crate::SaveError;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The identity of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// The identity of an output: an existing file, or a name in a folder.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// A file that is there.
    Known(Identity),
    /// A new name in a folder.
    New(Identity, OsString),
}

/// A name that may be written to.
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
    /// The mode of the existing file.
    pub(super) mode: Option<u32>,
    place: Place,
    within: Identity,
}

impl Target {
    /// The target of a path, if it may be written to.
    pub(super) fn of(path: &Path) -> Result<Self, SaveError> {
        let failed = SaveError::write(path);
        let name = path.file_name().ok_or_else(|| {
            let text = "the path does not end in a file name";
            failed(io::Error::new(io::ErrorKind::InvalidInput, text))
        })?;
        let folder = folder_of(path);
        let within = fs::metadata(&folder).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed(io::Error::new(error.kind(), "no such folder")),
            _ => failed(error),
        })?;
        if !within.is_dir() {
            let kind = io::ErrorKind::NotADirectory;
            return Err(failed(io::Error::new(kind, "its folder is a file")));
        }
        let within = Identity::from(&within);
        let known = match fs::symlink_metadata(path) {
            Ok(known) => Some(known),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(known) = &known {
            check_kind(path, known.file_type())?;
        }
        let place = known.as_ref().map_or_else(
            || Place::New(within, name.to_owned()),
            |known| Place::Known(known.into()),
        );
        Ok(Self {
            path: path.to_owned(),
            folder,
            mode: known.map(|known| known.permissions().mode() & 0o777),
            place,
            within,
        })
    }
}

/// The folder that holds a path's last name.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn check_kind(path: &Path, kind: FileType) -> Result<(), SaveError> {
    if kind.is_file() {
        return Ok(());
    }
    let (got, hint) = if kind.is_symlink() {
        let to = fs::read_link(path).unwrap_or_default();
        (
            format!("a symbolic link to {}", to.display()),
            "name the file that it points to, or remove the link",
        )
    } else {
        (kind_name(kind).to_owned(), "name another file")
    };
    Err(refused(path, "a new name, or a regular file", &got, hint))
}

/// The kind of a file that is not a regular one, in words.
pub(super) fn kind_name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn refused(path: &Path, expected: &str, got: &str, hint: &str) -> SaveError {
    SaveError::Target {
        path: path.to_owned(),
        expected: expected.into(),
        got: got.into(),
        hint: hint.into(),
    }
}

/// Says before any work whether its outputs may be written: each is a new name or a regular file
/// in a folder that takes files, none is an input or lies in a folder that is one and would be
/// replaced there, and no two are the same. Inputs that do not exist are reported when they are
/// read.
///
/// # Errors
/// The first output that is not so.
pub fn claim(outputs: &[PathBuf], inputs: &[PathBuf]) -> Result<(), SaveError> {
    let known = |path: &PathBuf| Some((Identity::from(&fs::metadata(path).ok()?), path.clone()));
    let inputs: Vec<(Identity, PathBuf)> = inputs.iter().filter_map(known).collect();
    let mut taken: Vec<Target> = Vec::new();
    for path in outputs {
        let target = Target::of(path)?;
        if let Place::Known(identity) = target.place
            && let Some((_, input)) = inputs
                .iter()
                .find(|(input, _)| *input == identity || *input == target.within)
        {
            let got = format!("the input {}", input.display());
            let hint = "writing would destroy an input: choose another file";
            return Err(refused(path, "a file that is not an input", &got, hint));
        }
        if let Some(other) = taken.iter().find(|other| other.place == target.place) {
            let got = format!("the same as {}", other.path.display());
            let hint = "one would replace the other: choose another file";
            return Err(refused(path, "a file for each output", &got, hint));
        }
        // The folder takes a file now, or says why not.
        Temporary::new(&target.folder, 0o600).map_err(SaveError::write(path))?;
        taken.push(target);
    }
    Ok(())
}
