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
/// The most bytes that a pipe of the system holds at a time.
const PIPE_BYTES: usize = 64 * 1024;
/// The most bytes that are read of a pipe at a time.
const PART_BYTES: usize = 1 << 20;
/// How long a pipe is waited for at a time.
const WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Reads a file, or a pipe to its end.
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
        return piped(path, &file, keep_going).map(Into::into);
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

/// All that a pipe brings.
fn piped(
    path: &Path,
    pipe: &File,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<Vec<u8>, LoadError> {
    let failed = LoadError::read(path);
    let mut bytes = Vec::new();
    let mut part = vec![0; PART_BYTES];
    loop {
        let count = next((pipe, true), &mut part, keep_going).map_err(&failed)?;
        if count == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(part.get(..count).unwrap_or(&[]));
        if bytes.len() as u64 > MOST_PIPE_BYTES {
            return Err(too_long());
        }
    }
}

/// All that a file or a pipe brings, in memory that is overwritten before it is released.
fn pumped(
    path: &Path,
    (file, known): (File, &Metadata),
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<Zeroizing<Vec<u8>>, LoadError> {
    let failed = LoadError::read(path);
    let pipe = known.file_type().is_fifo();
    let expected = usize::try_from(known.len()).unwrap_or(usize::MAX);
    // One more, so that the end is seen without growing; a pipe's size is not known.
    let expected = expected.saturating_add(1).max(PIPE_BYTES);
    let mut bytes = room(expected).map_err(&failed)?;
    let most = MOST_PIPE_BYTES.max(known.len());
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            // A growing buffer moves, and its old memory is overwritten.
            let mut more = room(grown(filled, most)).map_err(&failed)?;
            if let Some(start) = more.get_mut(..filled) {
                start.copy_from_slice(&bytes);
            }
            bytes = more;
        }
        let rest = bytes.get_mut(filled..).unwrap_or(&mut []);
        let count = next((&file, pipe), rest, keep_going).map_err(&failed)?;
        if count == 0 {
            break;
        }
        filled += count;
        if filled as u64 > most {
            return Err(too_long());
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads bytes that follow, of a file or of a pipe; none at the end.
fn next(
    (mut file, pipe): (&File, bool),
    into: &mut [u8],
    keep_going: &mut dyn FnMut() -> bool,
) -> io::Result<usize> {
    loop {
        if !keep_going() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if pipe && !has_more(file) {
            continue;
        }
        match file.read(into) {
            Err(error) if may_go_on(&error) => {}
            done => return done,
        }
    }
}

/// The size to which a full buffer grows: double, but no more than shows that there is too much.
fn grown(filled: usize, most: u64) -> usize {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    filled.saturating_mul(2).min(most.saturating_add(1))
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

#[cfg(test)]
mod tests {
    use super::{MOST_PIPE_BYTES, grown};

    #[test]
    fn a_full_buffer_doubles_up_to_one_byte_above_the_limit() {
        let most = usize::try_from(MOST_PIPE_BYTES).unwrap();
        assert_eq!(grown(1 << 16, MOST_PIPE_BYTES), 1 << 17);
        assert_eq!(grown(most / 2, MOST_PIPE_BYTES), most);
        assert_eq!(grown(most, MOST_PIPE_BYTES), most + 1);
        assert_eq!(grown(most - 1, MOST_PIPE_BYTES), most + 1);
    }
}
