//! The room that is left on the calling thread's stack.

use crate::WasmError;

/// Beside WebAssembly's own: the library's frames, and those of functions that a module calls.
const ROOM_BYTES: usize = 1 << 18;

/// Refuses a thread whose stack has less room than a module may use: it would end the process.
///
/// # Errors
/// There is less.
pub(crate) fn check_room(wasm_bytes: usize) -> Result<(), WasmError> {
    let needed = wasm_bytes + ROOM_BYTES;
    match left_bytes() {
        Some(left) if left < needed => Err(WasmError::Library(format!(
            "this thread's stack has {} KiB left, and a circuit may use {}: make the thread with \
             a larger one (Python: threading.stack_size)",
            left >> 10,
            needed >> 10
        ))),
        _ => Ok(()),
    }
}

/// None where the system does not tell.
#[cfg(target_os = "linux")]
fn left_bytes() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the system fills the attributes of the thread that asks, whose two numbers are then
    // read; they are released once.
    let found = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        found
    };
    let here = (&raw const size).addr();
    (found == 0 && here >= start.addr()).then(|| here - start.addr())
}

#[cfg(not(target_os = "linux"))]
const fn left_bytes() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::check_room;
    use std::thread::Builder;

    #[test]
    fn more_than_a_stack_has_is_refused() {
        let on = |bytes: usize, wasm_bytes: usize| {
            let thread = Builder::new().stack_size(bytes);
            let thread = thread.spawn(move || check_room(wasm_bytes));
            thread.unwrap().join().unwrap()
        };
        assert!(on(8 << 20, 1 << 20).is_ok());
        #[cfg(target_os = "linux")]
        assert!(
            on(8 << 20, 9 << 20)
                .unwrap_err()
                .to_string()
                .contains("KiB left")
        );
    }
}
