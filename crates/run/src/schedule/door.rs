//! Lets workers of a pool into a run, and keeps the run until they have left.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Thread, ThreadPool, current, looks, nap, spin, worker};
use std::time::Duration;

/// Nobody comes in any more.
const CLOSED: usize = 1 << (usize::BITS - 1);
/// How often the caller polls the workers inside before it sleeps: about a microsecond.
const LOOKS: u32 = 64;
/// A sleeping caller looks now and then.
const NAP: Duration = Duration::from_millis(1);

struct Door {
    inside: AtomicUsize,
    work: *const (dyn Fn(usize) + Sync),
    caller: Thread,
}

// SAFETY: `work` may be called from any thread, and is only by those who came in; the caller stays
// until they have left.
unsafe impl Send for Door {}
// SAFETY: as above.
unsafe impl Sync for Door {}

struct Inside<'a>(&'a Door);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if self.0.inside.fetch_sub(1, Ordering::AcqRel) == CLOSED | 1 {
            self.0.caller.unpark();
        }
    }
}

impl Door {
    fn enter(&self, worker: usize) {
        let closed = self.inside.fetch_add(1, Ordering::AcqRel) & CLOSED != 0;
        // Also who comes too late counts until it leaves: the last one that the caller waits for
        // may have left meanwhile, and seen a later one.
        let _inside = Inside(self);
        if closed {
            return;
        }
        // SAFETY: the door was open, so that the caller waits.
        unsafe { (*self.work)(worker) };
    }
}

/// Closes the door and waits, also if the caller panics.
struct Closing<'a>(&'a Door);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let door = self.0;
        door.inside.fetch_or(CLOSED, Ordering::AcqRel);
        let empty = || door.inside.load(Ordering::Acquire) & !CLOSED == 0;
        for _ in 0..looks(LOOKS) {
            if empty() {
                return;
            }
            spin();
        }
        while !empty() {
            nap(NAP);
        }
    }
}

/// Runs `caller` here while up to `helpers` workers of a pool run `work`, each with its number,
/// from 1 on. Those who come when `caller` is done turn back; the others are waited for, so that
/// `work` must end soon after `caller`.
pub fn together<T>(
    pool: &ThreadPool,
    helpers: usize,
    work: &(dyn Fn(usize) + Sync),
    caller: impl FnOnce() -> T,
) -> T {
    type Work<'a> = &'a (dyn Fn(usize) + Sync);
    // SAFETY: the lifetime is left out, and kept by `Closing`: it ends after the last call.
    let work: Work<'static> = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
    let door = Arc::new(Door {
        inside: AtomicUsize::new(0),
        work: std::ptr::from_ref(work),
        caller: current(),
    });
    for _ in 0..helpers {
        let door = Arc::clone(&door);
        pool.spawn(move || door.enter(worker() + 1));
    }
    let _closing = Closing(&door);
    caller()
}
