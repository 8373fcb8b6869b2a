//! Files appear whole or not at all, and files that belong together never appear with others.

use super::claim::{Target, folder_of};
use super::lock::FolderLock;
use super::temporary::Temporary;
use crate::SaveError;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Read access to a file that is written. The process's umask, and the mode of a file that is
/// replaced, take from this and never add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody whom the umask allows: 0666.
    Shared,
    /// The owner alone: 0600.
    Private,
}

/// Why the body of a file could not be produced.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The system refused a write.
    Io(io::Error),
    /// The program cannot be said in this form, or the file must not be written.
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

impl Failure {
    fn of(self, path: &Path) -> SaveError {
        match self {
            Self::Io(source) => SaveError::write(path)(source),
            Self::Save(error) => error,
        }
    }
}

/// A file that is written and on disk, and not yet in its place.
pub struct Pending {
    target: Target,
    temporary: Temporary,
}

impl Pending {
    /// Writes a file beside its place, through `body`.
    pub(crate) fn new(
        path: &Path,
        access: Access,
        body: impl FnOnce(&mut BufWriter<&File>) -> Result<(), Failure>,
    ) -> Result<Self, SaveError> {
        Self::written(path, access, body).map_err(|failure| failure.of(path))
    }

    fn written(
        path: &Path,
        access: Access,
        body: impl FnOnce(&mut BufWriter<&File>) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let target = Target::of(path)?;
        let most = match access {
            Access::Shared => 0o666,
            Access::Private => 0o600,
        };
        let temporary = Temporary::new(&target.folder, most & target.mode.unwrap_or(0o777))?;
        let mut writer = BufWriter::with_capacity(1 << 20, &temporary.file);
        body(&mut writer)?;
        writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        temporary.file.sync_all()?;
        Ok(Self { target, temporary })
    }

    /// Writes a file beside its place, of these pieces one after the other.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn of_bytes(path: &Path, access: Access, pieces: &[&[u8]]) -> Result<Self, SaveError> {
        Self::of_stream(path, access, |out| {
            pieces.iter().try_for_each(|piece| out.write_all(piece))
        })
    }

    /// Writes a file beside its place through `body`, which fails for reasons of its own only as
    /// the system does.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn of_stream(
        path: &Path,
        access: Access,
        body: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Self, SaveError> {
        Self::new(path, access, |out| Ok(body(out)?))
    }

    fn put(self) -> Result<(), SaveError> {
        let path = self.target.path;
        let done = self.temporary.put(&path);
        let done = done.and_then(|()| sync_folder(&self.target.folder));
        done.map_err(SaveError::write(&path))
    }
}

/// Puts files in their places, one after the other. Of those that were there before, all but the
/// first are removed before: whenever the process ends, what is there is old, or new, and never
/// some of each. Savers of several files take turns in a folder.
///
/// # Errors
/// One of them cannot be put there.
pub fn commit(files: Vec<Pending>) -> Result<(), SaveError> {
    let _alone = if files.len() > 1 {
        held(&files)?
    } else {
        Vec::new()
    };
    for file in &files {
        // What was there when the work began may be something else by now.
        Target::of(&file.target.path)?;
    }
    for file in files.iter().skip(1) {
        remove(&file.target.path)?;
    }
    files.into_iter().try_for_each(Pending::put)
}

/// The folders of files, in the order that all savers take them in.
fn held(files: &[Pending]) -> Result<Vec<FolderLock>, SaveError> {
    let mut folders: Vec<(u64, u64, &Path)> = Vec::new();
    for file in files {
        let path = file.target.folder.as_path();
        let known = fs::metadata(path).map_err(SaveError::write(path))?;
        folders.push((known.dev(), known.ino(), path));
    }
    folders.sort_unstable();
    folders.dedup_by_key(|(device, inode, _)| (*device, *inode));
    let take = |(_, _, path): (u64, u64, &Path)| {
        FolderLock::take(path, true, &mut || true).map_err(SaveError::write(path))
    };
    folders.into_iter().map(take).collect()
}

fn remove(path: &Path) -> Result<(), SaveError> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder(&folder_of(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(SaveError::write(path))
}

/// A new name lasts when its folder is on disk. File systems that cannot say so are let be.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Writes a file through `body`; what is there changes only once all of it is on disk.
pub(crate) fn replace(
    path: &Path,
    body: impl FnOnce(&mut BufWriter<&File>) -> Result<(), Failure>,
) -> Result<(), SaveError> {
    commit(vec![Pending::new(path, Access::Shared, body)?])
}

/// Writes a file of which only the system may refuse something.
///
/// # Errors
/// It cannot be written.
pub fn save_with(
    path: impl AsRef<Path>,
    access: Access,
    body: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), SaveError> {
    commit(vec![Pending::of_stream(path.as_ref(), access, body)?])
}

/// Writes a file of these pieces.
///
/// # Errors
/// It cannot be written.
pub fn save_bytes(
    path: impl AsRef<Path>,
    access: Access,
    pieces: &[&[u8]],
) -> Result<(), SaveError> {
    commit(vec![Pending::of_bytes(path.as_ref(), access, pieces)?])
}
