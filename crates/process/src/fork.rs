//! The gate in front of all locks: a fork waits until no thread is inside, and none enters
//! meanwhile.
//!
//! Whoever is inside neither waits for Python's lock, which the thread that forks may have, nor
//! runs anybody else's code, which might fork.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::yield_now;

/// Threads inside, each as often as it entered.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// A thread is about to fork.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Forks between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// How often this thread entered.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
}

/// Whoever has one is inside. It stays with its thread.
pub(crate) struct Inside(std::marker::PhantomData<*const ()>);

impl Inside {
    /// Waits while a thread is about to fork.
    pub(crate) fn enter() -> Self {
        survive_forks();
        let own = OWN.get();
        // Who is inside already goes on: the fork waits for it.
        if own == 0 {
            pass_the_gate();
        }
        OWN.set(own + 1);
        Self(std::marker::PhantomData)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let own = OWN.get() - 1;
        OWN.set(own);
        if own == 0 {
            INSIDE.fetch_sub(1, Ordering::Release);
        }
    }
}

/// Counts this thread as inside, once no fork is about to happen.
fn pass_the_gate() {
    loop {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if !CLOSED.load(Ordering::SeqCst) {
            return;
        }
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        while CLOSED.load(Ordering::Acquire) {
            yield_now();
        }
    }
}

/// Has the system tell of forks; done by the first lock that is taken. Where a child may be forked
/// before that, nothing has to be told.
pub fn survive_forks() {
    static TOLD: OnceLock<()> = OnceLock::new();
    if TOLD.get().is_some() {
        return;
    }
    TOLD.get_or_init(|| {
        // SAFETY: the handlers touch atomics and a `Cell` of the calling thread, and never unwind.
        // It fails for want of memory alone; then a fork is what it would be without handlers.
        let _ = unsafe { pthread_atfork(before, in_parent, in_child) };
    });
}

/// How many forks lie between the first process and this one: threads of an older generation are
/// not here.
#[must_use]
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Closes the gate and waits until it is empty.
unsafe extern "C" fn before() {
    while CLOSED.swap(true, Ordering::SeqCst) {
        yield_now();
    }
    let own = usize::from(OWN.get() > 0);
    while INSIDE.load(Ordering::SeqCst) != own {
        yield_now();
    }
}

unsafe extern "C" fn in_parent() {
    CLOSED.store(false, Ordering::Release);
}

unsafe extern "C" fn in_child() {
    // Threads that were at the gate are not here.
    INSIDE.store(usize::from(OWN.get() > 0), Ordering::SeqCst);
    GENERATION.fetch_add(1, Ordering::Relaxed);
    CLOSED.store(false, Ordering::Release);
}
