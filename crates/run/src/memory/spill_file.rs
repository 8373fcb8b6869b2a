//! The spill file, to which buffers are moved when memory is short, and the file of buffers that a
//! program itself puts on disk.
//!
//! Each run has its own spill file; each executor has its own file of the second kind. Both files
//! are unnamed right after creation, and before that only their owner can open them. The system
//! frees them when the run, or the executor, ends in any way. They hold computed values. In a
//! secret run the spill file is encrypted under a key of the run; everything else is stored as it
//! is.

use crate::RunError;
use crate::exec::table::Memories;
use crate::memory::Block;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use cloakwork_ir::Device;
use cloakwork_plan::{Address, Buffer, Home, Plan, Space, Step, Way, Work};
use std::collections::hash_map::RandomState;
use std::fs::{File, OpenOptions, remove_file};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroizing;

/// Random names that are tried before an error.
const TRIES: u32 = 16;

/// The file of a run.
pub struct SpillFile {
    file: File,
    directory: PathBuf,
    cipher: Option<Cipher>,
}

impl SpillFile {
    /// A file for the spilled buffers of a plan; `None` if all buffers are in memory.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn of(
        plan: &Plan,
        directory: Option<&Path>,
        encrypted: bool,
    ) -> Result<Option<Self>, RunError> {
        if !plan.spills() {
            return Ok(None);
        }
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_owned);
        let first = plan
            .steps
            .iter()
            .find(|step| matches!(step.work, Work::Transfer(Way::ToDisk)));
        let disk_bytes = plan.memory.disk_bytes;
        let reserved = nameless(&directory).and_then(|file| {
            file.set_len(disk_bytes)?;
            let buffers = plan.buffers.len();
            let cipher = encrypted.then(|| Cipher::new(buffers)).transpose()?;
            Ok((file, cipher))
        });
        match reserved {
            Ok((file, cipher)) => Ok(Some(Self {
                file,
                directory,
                cipher,
            })),
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

    /// Moves a buffer to the file or back.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Safety
    /// The step is one of the plan that moves a buffer, and no other step touches the buffer.
    pub unsafe fn transfer(
        &self,
        memories: &Memories,
        step: &Step,
        way: Way,
    ) -> Result<(), RunError> {
        let plan = memories.plan;
        let first = step.first_address as usize;
        let [to, from] = [first, first + 1].map(|at| plan.addresses[at].index);
        let (place, here) = match way {
            Way::ToDisk => (to, from),
            Way::FromDisk => (from, to),
            Way::Upload | Way::Download => {
                return Err(RunError::Internal("a disk serves no device".into()));
            }
        };
        let Buffer { offset, bytes, .. } = plan.buffers[place as usize];
        let start = memories.buffer(here).cast::<u8>();
        // SAFETY: the caller's promise; the plan knows the buffer's size.
        let memory = unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) };
        let (action, moved) = match (way, &self.cipher) {
            (Way::ToDisk, None) => ("write", self.file.write_all_at(memory, offset)),
            (Way::ToDisk, Some(cipher)) => {
                let to = (&self.file, offset);
                ("write", cipher.write(place as usize, memory, to))
            }
            (_, cipher) => {
                let read = self.file.read_exact_at(memory, offset);
                if let (Ok(()), Some(cipher)) = (&read, cipher) {
                    cipher.decrypt(place as usize, memory);
                }
                ("read", read)
            }
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

/// ChaCha20 under a key that is drawn for the run and wiped with it. Each write has its own
/// keystream, since a place may be written more than once.
struct Cipher {
    key: Zeroizing<[u8; 32]>,
    written: AtomicU64,
    /// The keystream number of each buffer's contents on disk.
    streams: Vec<AtomicU64>,
}

/// Bytes that are encrypted at a time, outside the buffer, which other steps may be reading.
const CHUNK_BYTES: usize = 64 << 10;

impl Cipher {
    fn new(buffers: usize) -> io::Result<Self> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(key.as_mut_slice()).map_err(io::Error::other)?;
        Ok(Self {
            key,
            written: AtomicU64::new(0),
            streams: (0..buffers).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    fn keystream(&self, stream: u64) -> ChaCha20Rng {
        let mut keystream = ChaCha20Rng::from_seed(*self.key);
        keystream.set_stream(stream);
        keystream
    }

    fn write(&self, place: usize, memory: &[u8], (file, offset): (&File, u64)) -> io::Result<()> {
        let stream = self.written.fetch_add(1, Ordering::Relaxed);
        self.streams[place].store(stream, Ordering::Relaxed);
        let mut keystream = self.keystream(stream);
        let mut room = Zeroizing::new(vec![0; CHUNK_BYTES.min(memory.len())]);
        let offsets = (offset..).step_by(CHUNK_BYTES);
        for (piece, at) in memory.chunks(CHUNK_BYTES).zip(offsets) {
            let encrypted = &mut room[..piece.len()];
            keystream.fill_bytes(encrypted);
            add(encrypted, piece);
            file.write_all_at(encrypted, at)?;
        }
        Ok(())
    }

    fn decrypt(&self, place: usize, memory: &mut [u8]) {
        let mut keystream = self.keystream(self.streams[place].load(Ordering::Relaxed));
        let mut room = Zeroizing::new(vec![0; CHUNK_BYTES.min(memory.len())]);
        for piece in memory.chunks_mut(CHUNK_BYTES) {
            let key = &mut room[..piece.len()];
            keystream.fill_bytes(key);
            add(piece, key);
        }
    }
}

/// XOR of bits.
fn add(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to ^= from;
    }
}

/// The buffers that a program puts on disk: a mapped file with few pages in memory.
pub struct OnDisk {
    /// Index of its arena.
    pub arena: u16,
    block: Block,
    directory: Option<PathBuf>,
    /// The process that owns the file: a forked child would overwrite its parent's data.
    process: u32,
    /// For each step, whether it touches the file.
    touched: Vec<bool>,
}

impl OnDisk {
    /// Files for the buffers of a plan that the program puts on disk, one for each disk.
    ///
    /// # Errors
    /// A file cannot be created, or the disk is full.
    pub fn of(plan: &Plan, directory: Option<&Path>) -> Result<Vec<Self>, RunError> {
        let arenas = (0u16..).zip(&plan.arenas);
        let files = arenas.filter(|(_, arena)| matches!(arena.home, Home::Device(Device::Disk(_))));
        files
            .map(|(index, arena)| Self::one(plan, (index, arena.bytes), directory))
            .collect()
    }

    fn one(
        plan: &Plan,
        (arena, bytes): (u16, u64),
        directory: Option<&Path>,
    ) -> Result<Self, RunError> {
        let place = directory.map_or_else(std::env::temp_dir, Path::to_owned);
        let is_here = |address: &Address| {
            address.space == Space::Buffer && plan.buffers[address.index as usize].arena == arena
        };
        let touches = |step: &Step| plan.addresses[plan.addresses_of(step)].iter().any(is_here);
        let touched: Vec<bool> = plan.steps.iter().map(touches).collect();
        let block = nameless(&place).and_then(|file| Block::on_disk(&file, bytes));
        match block {
            Ok(block) => Ok(Self {
                arena,
                block,
                directory: directory.map(Path::to_owned),
                process: std::process::id(),
                touched,
            }),
            Err(error) => {
                let first = plan
                    .steps
                    .iter()
                    .zip(&touched)
                    .find(|(_, touched)| **touched);
                Err(RunError::Disk {
                    step: first.map_or(0, |(step, _)| plan.program_step(step.origin)),
                    action: "reserve",
                    bytes,
                    disk_bytes: bytes,
                    directory: place.display().to_string(),
                    reason: error.to_string(),
                })
            }
        }
    }

    /// Whether the file belongs to this process, and lies in the given directory.
    pub fn is_in(&self, directory: Option<&Path>) -> bool {
        self.directory.as_deref() == directory && self.process == std::process::id()
    }

    /// Pointer to the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.block.as_ptr()
    }

    /// Called before these steps: if one touches the file, pages that earlier steps touched leave
    /// memory.
    pub fn before(&self, steps: Range<usize>) {
        let touched = self.touched.get(steps);
        if touched.is_some_and(|touched| touched.contains(&true)) {
            self.block.leave_memory();
        }
    }

    /// Removes the pages from memory.
    pub fn leave_memory(&self) {
        self.block.leave_memory();
    }

    /// Overwrites the contents that runs have left.
    pub fn zeroize(&self) {
        self.block.zeroize();
    }
}

/// Creates a file that only this process can access.
fn nameless(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    for _ in 0..TRIES {
        // Keys of hash tables are random, and differ for each table.
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
    use super::{CHUNK_BYTES, Cipher, nameless};
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn its_file_has_no_name_and_is_its_owners() {
        let directory =
            std::env::temp_dir().join(format!("cloakwork-spill_file-{}", std::process::id()));
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

    #[test]
    fn what_is_written_encrypted_reads_back_and_differs_in_each_write() {
        let file = nameless(&std::env::temp_dir()).unwrap();
        let cipher = Cipher::new(2).unwrap();
        for bytes in [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 5] {
            let memory: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
            let mut seen = Vec::new();
            for place in [0, 1, 1] {
                let offset = place as u64 * 4 * CHUNK_BYTES as u64;
                cipher.write(place, &memory, (&file, offset)).unwrap();
                let mut back = vec![0; bytes];
                file.read_exact_at(&mut back, offset).unwrap();
                seen.push(back.clone());
                cipher.decrypt(place, &mut back);
                assert_eq!(back, memory);
            }
            if bytes > 1 {
                seen.push(memory);
                seen.sort();
                seen.dedup();
                assert_eq!(seen.len(), 4);
            }
        }
    }
}
