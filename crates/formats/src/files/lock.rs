//! A folder's files, written and read together: a writer locks the folder exclusively.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a folder that others hold is asked for.
const PAUSE: Duration = Duration::from_millis(2);
/// How long it is asked for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder locked against writers, or exclusively. The system lets go of it when the process
/// ends, however that is.
pub struct FolderLock(#[expect(dead_code, reason = "its end is the lock's")] Option<File>);

impl FolderLock {
    /// Waits for a folder. On file systems without locks, and where it may not be listed, there is
    /// nothing to wait for.
    ///
    /// # Errors
    /// The folder cannot be opened, or others hold it for a minute.
    pub fn take(
        folder: &Path,
        exclusive: bool,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> io::Result<Self> {
        let file = match File::open(folder) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Self(None)),
            opened => opened?,
        };
        let operation = if exclusive {
            FlockOperation::NonBlockingLockExclusive
        } else {
            FlockOperation::NonBlockingLockShared
        };
        let start = Instant::now();
        loop {
            match flock(&file, operation) {
                Ok(()) => return Ok(Self(Some(file))),
                Err(Errno::WOULDBLOCK) if start.elapsed() < PATIENCE && keep_going() => {
                    std::thread::sleep(PAUSE);
                }
                Err(Errno::WOULDBLOCK) => {
                    let text = "another process holds the folder";
                    return Err(io::Error::new(io::ErrorKind::WouldBlock, text));
                }
                Err(_) => return Ok(Self(None)),
            }
        }
    }
}
