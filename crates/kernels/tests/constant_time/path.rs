//! The path of a function: a child process runs it one instruction at a time.

use std::ffi::{c_int, c_long, c_uint};

/// Requests and places of Linux on x86-64.
const TRACE_ME: c_uint = 0;
const PEEK_USER: c_uint = 3;
const SINGLE_STEP: c_uint = 9;
const INSTRUCTION_POINTER: usize = 16 * 8;
const SIGSTOP: c_int = 19;
const SIGTRAP: c_int = 5;
/// How a child ends that may not be traced.
const REFUSED: c_int = 77;

unsafe extern "C" {
    fn fork() -> c_int;
    fn ptrace(request: c_uint, ...) -> c_long;
    fn raise(signal: c_int) -> c_int;
    fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// How many instructions, and a hash of where they stand in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    pub steps: u64,
    pub hash: u64,
}

/// The path of `run`, which must not allocate; `None` where children may not be traced.
///
/// Paths may be compared that begin in the same state but for what is under test.
pub fn path_of(run: impl FnOnce()) -> Option<Path> {
    // SAFETY: the child calls nothing that needs other threads, and ends without unwinding.
    let child = unsafe { fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        // SAFETY: as above; the parent waits for the stop.
        unsafe {
            if ptrace(TRACE_ME, 0, 0usize, 0usize) != 0 {
                _exit(REFUSED);
            }
            raise(SIGSTOP);
            run();
            _exit(0);
        }
    }
    follow(child)
}

fn follow(child: c_int) -> Option<Path> {
    let mut path = Path {
        steps: 0,
        hash: 0xcbf2_9ce4_8422_2325,
    };
    loop {
        let mut status = 0;
        // SAFETY: waits for a child of this process, whose status is written.
        let waited = unsafe { waitpid(child, &raw mut status, 0) };
        assert_eq!(waited, child, "waitpid failed");
        if status & 0x7f == 0 {
            return match status >> 8 {
                0 => Some(path),
                REFUSED => None,
                other => panic!("the child ended with {other}"),
            };
        }
        let signal = status >> 8;
        let expected = if path.steps == 0 { SIGSTOP } else { SIGTRAP };
        assert!(
            status & 0xff == 0x7f && signal == expected,
            "the child stopped or died: {status:#x}"
        );
        // SAFETY: the child is stopped and traced by this process.
        let place = unsafe { ptrace(PEEK_USER, child, INSTRUCTION_POINTER, 0usize) };
        path.hash = (path.hash ^ place as u64).wrapping_mul(0x100_0000_01b3);
        path.steps += 1;
        // SAFETY: as above.
        let stepped = unsafe { ptrace(SINGLE_STEP, child, 0usize, 0usize) };
        assert_eq!(stepped, 0, "the child cannot be stepped");
    }
}
