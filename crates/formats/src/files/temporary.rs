//! A file under way: it has no name where the system can do that, so that nothing is left of it
//! however the process ends; elsewhere a random one, which its owner removes.

use rustix::fs::{AtFlags, CWD, linkat};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Random names that are tried: two that are alike do not happen.
const TRIES: u32 = 4;

/// A file in a folder that vanishes unless it is put in its place.
pub(super) struct Temporary {
    pub(super) file: File,
    folder: PathBuf,
    name: Option<PathBuf>,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Whoever reads the error that led here learns nothing from another one.
            let _ = fs::remove_file(name);
        }
    }
}

impl Temporary {
    /// A new file. `mode` says who may use it, and the process's umask takes from that.
    pub(super) fn new(folder: &Path, mode: u32) -> io::Result<Self> {
        let folder = folder.to_owned();
        if let Some(file) = nameless(&folder, mode) {
            let name = None;
            return Ok(Self { file, folder, name });
        }
        let (file, name) = with_random_name(&folder, |path| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(mode).open(path)
        })?;
        let name = Some(name);
        Ok(Self { file, folder, name })
    }

    /// Puts the file where `path` names it, in the same folder. What is there is replaced.
    pub(super) fn put(mut self, path: &Path) -> io::Result<()> {
        let name = match self.name.clone() {
            Some(name) => name,
            None => {
                match link(&self.file, path) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    done => return done,
                }
                let ((), name) = with_random_name(&self.folder, |path| link(&self.file, path))?;
                self.name = Some(name.clone());
                name
            }
        };
        fs::rename(name, path)?;
        self.name = None;
        Ok(())
    }
}

/// A file without a name; none where there are no such files.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path, mode: u32) -> Option<File> {
    // It gets its name through this folder.
    if !Path::new("/proc/self/fd").is_dir() {
        return None;
    }
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::TMPFILE.bits().cast_signed();
    options.write(true).mode(mode).custom_flags(flags);
    options.open(folder).ok()
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path, _: u32) -> Option<File> {
    None
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, from, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Does something with a name of its own: 128 bits of the operating system.
fn with_random_name<T>(
    folder: &Path,
    mut with: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    for _ in 0..TRIES {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        let name = format!(".cloakwork-{:032x}.part", u128::from_ne_bytes(random));
        let path = folder.join(name);
        match with(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return done.map(|made| (made, path)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
