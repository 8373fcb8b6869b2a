//! The process of a driver: it loads the driver, and executes its parent's requests.
//!
//! Messages of one device are served by one thread, in their order; those that belong to no device
//! by the main thread. The process ends with its parent, or when that closes the socket.

mod control;
mod device;

use super::channel::Channel;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// The status of a process whose sockets are damaged.
pub const BROKEN: i32 = 113;

/// Serves the parent behind standard input, and never returns. `parent` is the number of its
/// process.
pub fn serve(parent: i32) -> ! {
    let served = prepared(parent).and_then(|channel| control::serve(channel).ok());
    exit(served.map_or(BROKEN, |()| 0))
}

/// Ends with its parent, owns nothing but its socket.
fn prepared(parent: i32) -> Option<Channel> {
    set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
    // The parent may have ended before the line above.
    let now = getppid().map(|pid| pid.as_raw_nonzero().get());
    if now != Some(parent) {
        return None;
    }
    // SAFETY: what others opened belongs to this process, which uses none of it.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
    // SAFETY: standard input is the parent's socket, and nothing here reads it otherwise.
    let input = unsafe { OwnedFd::from_raw_fd(0) };
    let socket = rustix::io::fcntl_dupfd_cloexec(&input, 3).ok()?;
    // A library that reads its input finds none.
    let nothing = Channel::pair().ok()?.1;
    rustix::stdio::dup2_stdin(nothing.as_fd()).ok()?;
    std::mem::forget(input);
    Some(Channel::new(socket))
}

/// Ends the process at once: no handler of a library runs.
fn exit(status: i32) -> ! {
    // SAFETY: it has no condition.
    unsafe { libc::_exit(status) }
}
