//! The gate in front of all locks: a fork waits until no thread is inside, and no thread enters
//! during the fork.
//!
//! A thread inside neither waits for Python's lock, which the forking thread may hold, nor runs
//! foreign code, which might fork.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::yield_now;

/// Number of threads inside.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Set while a thread forks.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Number of forks between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Number of nested entries of this thread.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
}

/// While a value of this type lives, its thread is inside. It is not `Send`.
pub(crate) struct Inside(std::marker::PhantomData<*const ()>);

impl Inside {
    /// Waits while a thread forks.
    pub(crate) fn enter() -> Self {
        survive_forks();
        let own = OWN.get();
        // A thread that is already inside continues: the fork waits for it.
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

/// Counts this thread as inside, once no fork is in progress.
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

/// Registers handlers for forks; the first lock that is taken calls it. A child that is forked
/// before that needs no handlers.
pub fn survive_forks() {
    static TOLD: OnceLock<()> = OnceLock::new();
    if TOLD.get().is_some() {
        return;
    }
    TOLD.get_or_init(|| {
        // SAFETY: the handlers touch atomics and a `Cell` of the calling thread, and never unwind.
        // Registration fails only without memory; then forks run without handlers.
        let _ = unsafe { pthread_atfork(before, in_parent, in_child) };
    });
}

/// Number of forks between the first process and this one: threads of an older generation do not
/// exist in this process.
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
    // Threads that waited at the gate do not exist in the child.
    INSIDE.store(usize::from(OWN.get() > 0), Ordering::SeqCst);
    GENERATION.fetch_add(1, Ordering::Relaxed);
    CLOSED.store(false, Ordering::Release);
}
