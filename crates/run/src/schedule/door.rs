//! Lets workers of a pool enter a run, and waits until they have left.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Thread, ThreadPool, current, looks, nap, spin, worker};
use std::time::Duration;

/// Set when workers may no longer enter.
const CLOSED: usize = 1 << (usize::BITS - 1);
/// Number of polls before the caller sleeps: about a microsecond.
const LOOKS: u32 = 64;
/// A sleeping caller polls at this interval.
const NAP: Duration = Duration::from_millis(1);

struct Door {
    inside: AtomicUsize,
    work: *const (dyn Fn(usize) + Sync),
    caller: Thread,
}

// SAFETY: any thread may call `work`, and only threads that entered do; the caller waits until they
// have left.
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
        // A worker that comes too late also counts until it leaves: the last worker that the caller
        // waits for may have left in between and seen a later one inside.
        let _inside = Inside(self);
        if closed {
            return;
        }
        // SAFETY: the door was open, so the caller waits.
        unsafe { (*self.work)(worker) };
    }
}

/// Closes the door and waits, even if the caller panics.
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
/// from 1 on. Workers that come after `caller` has returned leave at once; the call waits for the
/// others, so `work` must end soon after `caller`.
pub fn together<T>(
    pool: &ThreadPool,
    helpers: usize,
    work: &(dyn Fn(usize) + Sync),
    caller: impl FnOnce() -> T,
) -> T {
    type Work<'a> = &'a (dyn Fn(usize) + Sync);
    // SAFETY: the lifetime is erased, and enforced by `Closing`: it ends after the last call.
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
