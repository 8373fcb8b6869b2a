//! The bytes of a file: mapped where that saves a copy, read where it does not.

use super::claim::kind_name;
use super::mapping::Mapping;
use crate::{LoadError, Mismatch};
use cloakwork_ir::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Below this a read is cheaper than a mapping.
const MAPPED_FROM_BYTES: u64 = 64 * 1024;
/// The most that is read of a pipe, or of a file that does not know its size.
pub const MOST_PIPE_BYTES: u64 = 1 << 30;
/// What a system's pipe holds at a time.
const PIPE_BYTES: usize = 64 * 1024;
/// How long a pipe is waited for at a time.
const WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// What a file holds.
///
/// # Errors
/// It cannot be read, is neither a regular file nor a pipe, or is a pipe that does not end.
pub fn read(path: impl AsRef<Path>) -> Result<Bytes, LoadError> {
    read_while(path.as_ref(), &mut || true)
}

/// The same; a pipe is waited for as long as `keep_going` says.
///
/// # Errors
/// As for [`read`], or the wait was ended.
pub fn read_while(path: &Path, keep_going: &mut dyn FnMut() -> bool) -> Result<Bytes, LoadError> {
    let failed = LoadError::read(path);
    let (file, known) = opened(path)?;
    if known.file_type().is_fifo() {
        let bytes = pumped(path, (file, &known), keep_going)?;
        return Ok(Bytes::new(Arc::new(bytes)));
    }
    if known.len() >= MAPPED_FROM_BYTES {
        let mapping = Mapping::new(file, path).map_err(&failed)?;
        return Ok(Bytes::new(Arc::new(mapping)));
    }
    let mut bytes = Vec::new();
    file.take(MOST_PIPE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(&failed)?;
    if bytes.len() as u64 > MOST_PIPE_BYTES {
        return Err(too_long());
    }
    Ok(bytes.into())
}

/// The same of a secret: it is read, never mapped, into memory that is overwritten before it is
/// released.
///
/// # Errors
/// As for [`read_while`].
pub fn read_secret(path: &Path, keep_going: &mut dyn FnMut() -> bool) -> Result<Bytes, LoadError> {
    let (file, known) = opened(path)?;
    let bytes = pumped(path, (file, &known), keep_going)?;
    Ok(Bytes::new(Arc::new(bytes)))
}

/// All that a file or a pipe brings, in memory that is overwritten before it is released.
fn pumped(
    path: &Path,
    (mut file, known): (File, &Metadata),
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<Zeroizing<Vec<u8>>, LoadError> {
    let failed = LoadError::read(path);
    let pipe = known.file_type().is_fifo();
    let expected = usize::try_from(known.len()).unwrap_or(usize::MAX);
    // One more, so that the end is seen without growing; a pipe's size is not known.
    let expected = expected.saturating_add(1).max(PIPE_BYTES);
    let mut bytes = room(expected).map_err(&failed)?;
    let mut filled = 0;
    loop {
        if !keep_going() {
            return Err(failed(io::ErrorKind::Interrupted.into()));
        }
        if pipe && !has_more(&file) {
            continue;
        }
        if filled == bytes.len() {
            // A growing buffer moves, and its old memory is overwritten.
            let mut more = room(filled.saturating_mul(2)).map_err(&failed)?;
            for (to, from) in more.iter_mut().zip(bytes.iter()) {
                *to = *from;
            }
            bytes = more;
        }
        match file.read(bytes.get_mut(filled..).unwrap_or(&mut [])) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if may_go_on(&error) => {}
            Err(error) => return Err(failed(error)),
        }
        if filled as u64 > MOST_PIPE_BYTES.max(known.len()) {
            return Err(too_long());
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn room(bytes: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut room = Zeroizing::new(Vec::new());
    room.try_reserve_exact(bytes)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    room.resize(bytes, 0);
    Ok(room)
}

/// A regular file or a pipe, and what it is.
fn opened(path: &Path) -> Result<(File, Metadata), LoadError> {
    let failed = LoadError::read(path);
    plain(&std::fs::metadata(path).map_err(&failed)?)?;
    // Opening a pipe so does not wait for a writer; for files it has no effect.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nonblocking);
    let file = options.open(path).map_err(&failed)?;
    // It may be another file by now: what was opened counts.
    let known = file.metadata().map_err(&failed)?;
    plain(&known)?;
    Ok((file, known))
}

/// Refuses devices and sockets; reading a folder is the system's error.
fn plain(known: &Metadata) -> Result<(), LoadError> {
    let kind = known.file_type();
    if kind.is_file() || kind.is_fifo() || kind.is_dir() {
        return Ok(());
    }
    let got = kind_name(kind);
    Err(LoadError::Source(Mismatch::new(
        "a file or a pipe",
        got,
        "name another file",
    )))
}

fn too_long() -> LoadError {
    let expected = format!("at most {} MiB", MOST_PIPE_BYTES >> 20);
    let hint = "a pipe may bring no more: write it to a file first";
    LoadError::Source(Mismatch::new(expected, "more", hint))
}

/// Whether there is something to read of a pipe, if only its end: until somebody has written there
/// is neither.
fn has_more(pipe: &File) -> bool {
    let mut waited = [PollFd::new(pipe, PollFlags::IN)];
    poll(&mut waited, Some(&WAIT)).unwrap_or(0) != 0
}

fn may_go_on(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
