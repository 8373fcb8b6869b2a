//! The bytes of a file: mapped where that saves a copy, read where it does not.

use super::claim::kind_name;
use super::mapping::Mapping;
use crate::LoadError;
use cloakwork_ir::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Below this a read is cheaper than a mapping.
const MAPPED_FROM_BYTES: u64 = 64 * 1024;
/// The most that is read of a pipe, or of a file that does not know its size.
pub const MOST_PIPE_BYTES: u64 = 1 << 30;
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
    let failed = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let known = std::fs::metadata(path).map_err(failed)?;
    let kind = known.file_type();
    if !(kind.is_file() || kind.is_fifo() || kind.is_dir()) {
        return Err(special(kind_name(kind)));
    }
    // A pipe that is opened so does not wait for somebody who writes; for files it means nothing.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nonblocking);
    let file = options.open(path).map_err(failed)?;
    // It may be another file by now: what was opened counts.
    let known = file.metadata().map_err(failed)?;
    let kind = known.file_type();
    if kind.is_fifo() {
        return piped(file, keep_going).map_err(failed)?.map(Into::into);
    }
    if !(kind.is_file() || kind.is_dir()) {
        return Err(special(kind_name(kind)));
    }
    if known.len() >= MAPPED_FROM_BYTES {
        let mapping = Mapping::new(file, path).map_err(failed)?;
        return Ok(Bytes::new(Arc::new(mapping)));
    }
    let mut bytes = Vec::new();
    file.take(MOST_PIPE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    limited(bytes).map(Into::into)
}

fn special(got: &str) -> LoadError {
    LoadError::Source {
        expected: "a file or a pipe".into(),
        got: got.into(),
        hint: "name another file".into(),
    }
}

fn limited(bytes: Vec<u8>) -> Result<Vec<u8>, LoadError> {
    if bytes.len() as u64 <= MOST_PIPE_BYTES {
        return Ok(bytes);
    }
    Err(LoadError::Source {
        expected: format!("at most {} MiB", MOST_PIPE_BYTES >> 20).into(),
        got: "more".into(),
        hint: "a pipe may bring no more: write it to a file first".into(),
    })
}

fn piped(
    mut pipe: File,
    keep_going: &mut dyn FnMut() -> bool,
) -> io::Result<Result<Vec<u8>, LoadError>> {
    let mut bytes = Vec::new();
    let mut part = vec![0; 1 << 20];
    loop {
        if !keep_going() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        // Until somebody has written there is nothing to read, not even the end.
        let mut waited = [PollFd::new(&pipe, PollFlags::IN)];
        if poll(&mut waited, Some(&WAIT)).unwrap_or(0) == 0 {
            continue;
        }
        match pipe.read(&mut part) {
            Ok(0) => return Ok(Ok(bytes)),
            Ok(count) => bytes.extend_from_slice(part.get(..count).unwrap_or(&[])),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(error),
        }
        if bytes.len() as u64 > MOST_PIPE_BYTES {
            return Ok(limited(bytes));
        }
    }
}
