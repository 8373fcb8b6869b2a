//! Mapped files, and the handling of truncation. The only file of this crate with
//! `unsafe`.
//!
//! The system answers a read behind the end of a mapped file (or one that the disk fails) with
//! SIGBUS, which ends a process. Here a handler lays a page of zeros over the place, notes which
//! file it was, and lets the read continue; the caller asks a [`Watch`] at its end,
//! gets the error, and no result. Then the file is mapped in place of the zeros again, so that the
//! next read there is noticed too.
//!
//! Zeros are laid only for threads that read under a [`Watch`], and for workers: a read that nobody
//! asks about ends the process, as it would without this module, and never gives zeros. Signals of
//! addresses that are none of ours go to whoever handled them before.
#![allow(unsafe_code)]

use crate::LoadError;
use cloakwork_ir::Bytes;
use cloakwork_process::{Mutex, Once, Reading, is_reading};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Smallest unit that is mapped, on every machine: pages are multiples of it.
static PAGE: AtomicUsize = AtomicUsize::new(4096);
/// Reads that failed so far.
static HARM: AtomicU64 = AtomicU64::new(0);
/// Those of them whose zeros have been removed, by mapping the file again.
static MENDED: AtomicU64 = AtomicU64::new(0);
/// All slots that ever were: none is freed, and free ones are used again.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// The file that was mapped again last. Whoever maps again holds it.
static LAST: Mutex<Option<PathBuf>> = Mutex::new(None);
/// The handler of the signal before this one was installed.
static BEFORE: Once<libc::sigaction> = Once::new();

const FREE: usize = 0;
const TAKEN: usize = 1;

/// A mapping as the handler reads it. The handler may run in any thread at any time, and takes no
/// lock.
#[derive(Default)]
struct Slot {
    /// First address; [`FREE`], or [`TAKEN`] while it is filled in.
    start: AtomicUsize,
    end: AtomicUsize,
    harmed: AtomicBool,
    /// Held while the file is mapped again.
    file: Mutex<Option<(File, PathBuf)>>,
    next: AtomicPtr<Slot>,
}

/// A file that is mapped, private and read-only.
pub(super) struct Mapping {
    map: memmap2::Mmap,
    slot: &'static Slot,
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let mut file = self.slot.file.lock();
        *file = None;
        self.slot.harmed.store(false, Ordering::SeqCst);
        self.slot.start.store(FREE, Ordering::SeqCst);
    }
}

impl Mapping {
    /// Maps a file that is not empty.
    pub(super) fn new(file: File, path: &Path) -> io::Result<Self> {
        install();
        // SAFETY: the mapping is private and only read. That no process changes the file meanwhile,
        // as
        // `map` asks, no program can enforce: every parser takes each byte as untrusted, files that
        // are written here are replaced and never changed, and one that becomes shorter is the
        // handler's matter.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        let slot = slot();
        let start = map.as_ptr().expose_provenance();
        *slot.file.lock() = Some((file, path.to_owned()));
        slot.end.store(start + map.len(), Ordering::SeqCst);
        slot.start.store(start, Ordering::SeqCst);
        Ok(Self { map, slot })
    }
}

/// Lets the pages of a mapped file go from memory; they come back when they are read. Other bytes
/// stay as they are.
pub fn leave_memory(bytes: &Bytes) {
    #[cfg(target_os = "linux")]
    if let Some(mapping) = bytes.owner::<Mapping>() {
        // SAFETY: the mapping is only read, so that all its pages are the file's.
        let _ = unsafe {
            mapping
                .map
                .unchecked_advise(memmap2::UncheckedAdvice::DontNeed)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

fn slots() -> impl Iterator<Item = &'static Slot> {
    let mut at = SLOTS.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: slots are leaked, so that a pointer that was stored stays good.
        let slot: &'static Slot = unsafe { at.as_ref() }?;
        at = slot.next.load(Ordering::Acquire);
        Some(slot)
    })
}

/// A slot of one's own.
fn slot() -> &'static Slot {
    let take = |slot: &&Slot| {
        let (free, taken) = (FREE, TAKEN);
        let order = (Ordering::SeqCst, Ordering::Relaxed);
        slot.start
            .compare_exchange(free, taken, order.0, order.1)
            .is_ok()
    };
    slots().find(take).unwrap_or_else(|| {
        let slot: &'static Slot = Box::leak(Box::default());
        slot.start.store(TAKEN, Ordering::SeqCst);
        let pushed = SLOTS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |first| {
            slot.next.store(first, Ordering::SeqCst);
            Some(ptr::from_ref(slot).cast_mut())
        });
        debug_assert!(pushed.is_ok());
        slot
    })
}

/// Whether bytes lie in a mapped file, so that they may be gone when they are read.
#[must_use]
pub fn is_mapped(bytes: &Bytes) -> bool {
    bytes.owner::<Mapping>().is_some()
}

/// Work that may read mapped files: from here to [`Watch::end`], by this thread and by workers.
#[must_use]
pub struct Watch {
    since: u64,
    _reading: Reading,
}

impl Watch {
    /// Begins to watch: from now on, zeros that this work reads in place of a file are counted.
    #[inline]
    pub fn start() -> Self {
        if HARM.load(Ordering::SeqCst) != MENDED.load(Ordering::SeqCst) {
            mend();
        }
        Self {
            since: MENDED.load(Ordering::SeqCst),
            _reading: Reading::start(),
        }
    }

    /// Whether all that was read meanwhile was there. A read of another thread at the same time may
    /// be what failed: its zeros may have been seen here too.
    ///
    /// # Errors
    /// Some of a mapped file was gone.
    #[inline]
    pub fn end(self) -> Result<(), LoadError> {
        if HARM.load(Ordering::SeqCst) == self.since {
            return Ok(());
        }
        let path = mend();
        Err(LoadError::Changed { path })
    }
}

/// Maps the files again over which zeros lie, and names the last of them.
#[cold]
fn mend() -> PathBuf {
    let mut last = LAST.lock();
    let count = HARM.load(Ordering::SeqCst);
    let mut whole = true;
    for slot in slots().filter(|slot| slot.harmed.load(Ordering::SeqCst)) {
        let file = slot.file.lock();
        if let Some((file, path)) = &*file {
            *last = Some(path.clone());
            whole &= slot.map_again(file);
        }
    }
    if whole {
        MENDED.store(count, Ordering::SeqCst);
    }
    last.clone().unwrap_or_default()
}

impl Slot {
    /// Maps the file in place of the zeros, or where it can no longer be mapped an empty one, so
    /// that each later read fails too. The slot's file is held, so that the mapping lives.
    fn map_again(&self, file: &File) -> bool {
        self.harmed.store(false, Ordering::SeqCst);
        let mapped = self.map_over(file) || empty_file().is_some_and(|empty| self.map_over(&empty));
        if !mapped {
            self.harmed.store(true, Ordering::SeqCst);
        }
        mapped
    }

    fn map_over(&self, file: &File) -> bool {
        let start = self.start.load(Ordering::SeqCst);
        let length = self.end.load(Ordering::SeqCst) - start;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        // SAFETY: the addresses are those of a mapping that lives; a file takes the place of what
        // lies there, so that each read gives its bytes or is a signal.
        let mapped = unsafe {
            let place = ptr::with_exposed_provenance_mut(start);
            libc::mmap(place, length, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        mapped != libc::MAP_FAILED
    }
}

/// A file without a byte or a name; none where there are no such files.
fn empty_file() -> Option<File> {
    #[cfg(target_os = "linux")]
    return rustix::fs::memfd_create("cloakwork", rustix::fs::MemfdFlags::CLOEXEC)
        .ok()
        .map(File::from);
    #[cfg(not(target_os = "linux"))]
    return None;
}

fn install() {
    static ONCE: Once<()> = Once::new();
    ONCE.get_or_init(|| {
        // SAFETY: sysconf reads a number; the action is filled in as sigaction wants it, its
        // function does only what a handler may, and who was there before is kept.
        unsafe {
            if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
                PAGE.store(page, Ordering::SeqCst);
            }
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before);
            let _ = BEFORE.set(before);
            let mut action: libc::sigaction = std::mem::zeroed();
            let function: extern "C" fn(_, _, _) = handle;
            action.sa_sigaction = function as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
        }
    });
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system hands out a description of the signal; for SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    // SAFETY: the error number of this thread, which the work that was interrupted may still read.
    let error = unsafe { *error_number() };
    let covered = is_reading() && cover(address);
    // SAFETY: as above.
    unsafe { *error_number() = error };
    if !covered {
        hand_on(signal, info, context);
    }
}

#[cfg(any(target_os = "linux", target_os = "emscripten"))]
use libc::__errno_location as error_number;
#[cfg(not(any(target_os = "linux", target_os = "emscripten")))]
use libc::__error as error_number;

/// Lays zeros over the page of an address in one of the mappings. Allocates and locks nothing.
fn cover(address: usize) -> bool {
    let page = PAGE.load(Ordering::Relaxed);
    for slot in slots() {
        let start = slot.start.load(Ordering::SeqCst);
        let end = slot.end.load(Ordering::SeqCst);
        let same = slot.start.load(Ordering::SeqCst) == start;
        if !same || start <= TAKEN || address < start || address >= end.next_multiple_of(page) {
            continue;
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_ANONYMOUS;
        let count = || {
            slot.harmed.store(true, Ordering::SeqCst);
            HARM.fetch_add(1, Ordering::SeqCst);
        };
        // Before, so that readers of the zeros have been counted; and again, as the file may
        // have been mapped again in between, which takes away only zeros that lie there.
        count();
        // SAFETY: the page is one of a mapping that lives, as a read of it is under way.
        let mapped = unsafe {
            let place = ptr::with_exposed_provenance_mut(address & !(page - 1));
            libc::mmap(place, page, libc::PROT_READ, flags, -1, 0)
        };
        count();
        return mapped != libc::MAP_FAILED;
    }
    false
}

/// Hands a signal on to the handler before this one, or to the default action.
fn hand_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get();
    let function = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    if matches!(function, libc::SIG_DFL | libc::SIG_IGN) {
        // SAFETY: the default is set, and the read that failed is tried again: it ends the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    let with_info = before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0);
    // SAFETY: it is what sigaction gave as the handler, of the kind that its flags say.
    unsafe {
        if with_info {
            type Full = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
            std::mem::transmute::<usize, Full>(function)(signal, info, context);
        } else {
            std::mem::transmute::<usize, extern "C" fn(i32)>(function)(signal);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Mapping, Watch};
    use std::fs::File;

    #[test]
    fn a_file_that_cannot_be_mapped_again_fails_each_read_of_it_and_no_other_call() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        let mapping = Mapping::new(File::open(&path).unwrap(), &path).unwrap();
        // A device of no memory stands in for the file.
        let gone = File::open("/dev/null").unwrap();
        mapping.slot.file.lock().as_mut().unwrap().0 = gone;
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(4096).unwrap();
        for _ in 0..3 {
            let watch = Watch::start();
            assert_eq!(mapping.as_ref().last(), Some(&0));
            watch.end().unwrap_err();
            Watch::start().end().unwrap();
        }
    }
}
