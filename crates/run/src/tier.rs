//! The disk tier: a file in which buffers wait for which there is no room in memory.
//!
//! Each run has a file of its own. It has no name from the moment it is made, and its owner alone
//! could open it before; the system frees it when the run ends, however that is. It holds what the
//! program computes, secrets too, unencrypted.

use crate::RunError;
use cloakwork_plan::{Kind, Plan, Spilled, Step};
use std::collections::hash_map::RandomState;
use std::fs::{File, OpenOptions, remove_file};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Names that are tried before giving up: each is random.
const TRIES: u32 = 16;

/// The file of a run.
pub struct Tier {
    file: File,
    directory: PathBuf,
}

impl Tier {
    /// A file for the buffers of a plan that wait on disk; none if all are in memory.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn of(plan: &Plan, directory: Option<&Path>) -> Result<Option<Self>, RunError> {
        if plan.spilled.is_empty() {
            return Ok(None);
        }
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_owned);
        let first = plan
            .steps
            .iter()
            .find(|step| matches!(step.kind, Kind::ToDisk(_) | Kind::FromDisk(_)));
        let disk_bytes = plan.memory.disk_bytes;
        let reserved = nameless(&directory).and_then(|file| {
            file.set_len(disk_bytes)?;
            Ok(file)
        });
        match reserved {
            Ok(file) => Ok(Some(Self { file, directory })),
            Err(error) => Err(RunError::Disk {
                step: first.map_or(0, |step| plan.program_step(step.origin)),
                action: "reserve",
                bytes: disk_bytes,
                disk_bytes,
                directory: directory.display().to_string(),
                reason: error.to_string(),
            }),
        }
    }

    /// Moves a buffer there or back.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Safety
    /// The step is one of the plan that moves a buffer, which begins at `start` and which nobody
    /// else touches meanwhile.
    pub unsafe fn step(&self, plan: &Plan, step: &Step, start: *mut u8) -> Result<(), RunError> {
        let (Kind::ToDisk(place) | Kind::FromDisk(place)) = step.kind else {
            return Ok(());
        };
        let Spilled { offset, bytes } = plan.spilled[place as usize];
        // SAFETY: the caller's promise; the plan knows the buffer's size.
        let memory = unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) };
        let (action, moved) = match step.kind {
            Kind::ToDisk(_) => ("write", self.file.write_all_at(memory, offset)),
            _ => ("read", self.file.read_exact_at(memory, offset)),
        };
        moved.map_err(|error| RunError::Disk {
            step: plan.program_step(step.origin),
            action,
            bytes,
            disk_bytes: plan.memory.disk_bytes,
            directory: self.directory.display().to_string(),
            reason: error.to_string(),
        })
    }
}

/// A new file that only this process can reach.
fn nameless(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    for _ in 0..TRIES {
        // Keys of hash tables are random, and others for each.
        let name = RandomState::new().build_hasher().finish();
        let path = directory.join(format!(".cloakwork-{name:016x}"));
        match options.open(&path) {
            Ok(file) => {
                remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::nameless;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn its_file_has_no_name_and_is_its_owners() {
        let directory = std::env::temp_dir().join(format!("cloakwork-tier-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let file = nameless(&directory).unwrap();
        file.write_all_at(b"secret", 10).unwrap();
        let data = file.metadata().unwrap();
        assert_eq!(
            (data.mode() & 0o777, data.nlink(), data.len()),
            (0o600, 0, 16)
        );
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        std::fs::remove_dir(&directory).unwrap();
        assert!(nameless(&directory).is_err());
    }
}
