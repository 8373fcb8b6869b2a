//! The place of a thread that calls drivers: the step that its calls are for, and whether it should
//! go on. A driver that waits asks whether to go on; a driver that fails reports the step.

use std::cell::Cell;
use std::ptr::NonNull;

/// No step.
const NONE: u32 = u32::MAX;

type Watch = NonNull<dyn FnMut() -> bool>;

thread_local! {
    static STEP: Cell<u32> = const { Cell::new(NONE) };
    static WATCH: Cell<Option<Watch>> = const { Cell::new(None) };
}

/// From now on the calls of this thread are for a step of a plan, or for none.
pub fn at_step(step: Option<u32>) {
    STEP.set(step.unwrap_or(NONE));
}

/// The step that calls of this thread are for; `u32::MAX` for none.
pub(crate) fn step() -> u32 {
    STEP.get()
}

/// Puts back the watch that was there before, also where a panic unwinds.
struct Before(Option<Watch>);

impl Drop for Before {
    fn drop(&mut self) {
        WATCH.set(self.0);
    }
}

/// Calls drivers while `go_on` can stop this thread: a driver that waits, and can stop, asks it
/// every few milliseconds.
pub fn watched<R>(go_on: &mut dyn FnMut() -> bool, call: impl FnOnce() -> R) -> R {
    // SAFETY: the lifetime alone changes; `Before` puts the watch back while it still lives.
    let watch: Watch = unsafe { std::mem::transmute(NonNull::from(go_on)) };
    let _before = Before(WATCH.replace(Some(watch)));
    call()
}

/// Whether this thread should go on waiting.
pub(crate) fn goes_on() -> bool {
    // Taken meanwhile: it may call drivers itself.
    let Some(mut watch) = WATCH.take() else {
        return true;
    };
    let _before = Before(Some(watch));
    // SAFETY: `watched` keeps it while it is set, and nobody else has it now.
    unsafe { watch.as_mut()() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_watch_is_asked_and_the_outer_one_comes_back() {
        assert!(goes_on(), "nobody watches");
        let mut asked = 0;
        let mut outer = || {
            asked += 1;
            asked < 2
        };
        watched(&mut outer, || {
            assert!(goes_on());
            watched(&mut || false, || assert!(!goes_on()));
            assert!(!goes_on(), "the second question to the outer one");
        });
        assert!(goes_on());
        assert_eq!(asked, 2);
    }
}
