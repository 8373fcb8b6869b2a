//! Mapped files, and what happens when somebody cuts one short. The one place of this crate with
//! `unsafe`.
//!
//! The system answers a read behind the end of a mapped file (or one that the disk fails) with
//! SIGBUS, which ends a process. Here a handler lays a page of zeros over the place, notes which
//! file it was, and lets the read go on; whoever called for the work asks a [`Watch`] at its end,
//! gets the error, and no result. Then the file is mapped in place of the zeros again, so that the
//! next read there is noticed too. Signals of addresses that are none of ours go to whoever handled
//! them before.
#![allow(unsafe_code)]

use crate::LoadError;
use cloakwork_ir::Bytes;
use cloakwork_process::{Mutex, Once};
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
/// How many of them somebody has been told of.
static TOLD: AtomicU64 = AtomicU64::new(0);
/// All slots that ever were: none is freed, and free ones are used again.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// The file that somebody was told of last. Whoever tells holds it.
static LAST: Mutex<Option<PathBuf>> = Mutex::new(None);
/// Who handled the signal before.
static BEFORE: Once<libc::sigaction> = Once::new();

const FREE: usize = 0;
const TAKEN: usize = 1;

/// What the handler knows of a mapping. It may run in any thread at any time, and takes no lock.
#[derive(Default)]
struct Slot {
    /// First address; [`FREE`], or [`TAKEN`] while it is filled in.
    start: AtomicUsize,
    end: AtomicUsize,
    harmed: AtomicBool,
    /// For whoever tells of it, who holds this while the file is mapped again.
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
        // SAFETY: the mapping is private and only read. That nobody changes the file meanwhile, as
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

/// Work that may read mapped files: from here to [`Watch::end`].
#[must_use]
pub struct Watch(u64);

impl Watch {
    /// Begins to watch.
    #[inline]
    pub fn start() -> Self {
        Self(TOLD.load(Ordering::SeqCst))
    }

    /// Whether all that was read meanwhile was there. Work of other threads at the same time may
    /// be what failed: then both are told.
    ///
    /// # Errors
    /// Some of a mapped file was gone.
    #[inline]
    pub fn end(self) -> Result<(), LoadError> {
        if HARM.load(Ordering::SeqCst) == self.0 {
            return Ok(());
        }
        Err(tell())
    }
}

#[cold]
fn tell() -> LoadError {
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
        TOLD.store(count, Ordering::SeqCst);
    }
    let path = last.clone().unwrap_or_default();
    LoadError::Changed { path }
}

impl Slot {
    /// Maps the file in place of the zeros. The slot's file is held, so that the mapping lives.
    fn map_again(&self, file: &File) -> bool {
        let start = self.start.load(Ordering::SeqCst);
        let length = self.end.load(Ordering::SeqCst) - start;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        self.harmed.store(false, Ordering::SeqCst);
        // SAFETY: the addresses are those of a mapping that lives; the same file takes the place
        // of what lies there, so that its bytes stay readable.
        let mapped = unsafe {
            let place = ptr::with_exposed_provenance_mut(start);
            libc::mmap(place, length, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        if mapped == libc::MAP_FAILED {
            self.harmed.store(true, Ordering::SeqCst);
        }
        mapped != libc::MAP_FAILED
    }
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
    if !cover(address) {
        hand_on(signal, info, context);
    }
}

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
        // Told first: whoever reads the zeros has been counted.
        slot.harmed.store(true, Ordering::SeqCst);
        HARM.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the page is one of a mapping that lives, as a read of it is under way.
        let mapped = unsafe {
            let place = ptr::with_exposed_provenance_mut(address & !(page - 1));
            libc::mmap(place, page, libc::PROT_READ, flags, -1, 0)
        };
        return mapped != libc::MAP_FAILED;
    }
    false
}

/// What would have happened without us.
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
