//! The C table of a Python driver. Each call is done when it returns, so that an event is only the
//! failure before it: its number of the device's failures, or 0.

use super::{Slot, call, slot};
use cloakwork_devices::memory::Memory;
use cloakwork_devices::{FailedCheck, Opaque, RawFunctions, WRONG_CONTENTS};
use cloakwork_kernels::RawLaunch;
use cloakwork_process::Mutex;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// The number of every error; `reason` has the text.
const REFUSED: i32 = 1;

/// An open device.
struct Device {
    slot: &'static Slot,
    memory: Mutex<Memory>,
    failures: Mutex<Vec<Failure>>,
    /// The last text for `reason`.
    words: Mutex<String>,
}

/// Why a queue failed.
#[derive(Clone)]
enum Failure {
    Words(String),
    Check(FailedCheck),
}

/// A queue, and the number of its failure.
struct Queue {
    device: Arc<Device>,
    failure: u64,
}

impl Device {
    fn refuse(&self, words: String) -> i32 {
        *self.words.lock() = words;
        REFUSED
    }
}

impl Queue {
    fn fail(&mut self, why: Failure) {
        let mut failures = self.device.failures.lock();
        failures.push(why);
        self.failure = failures.len() as u64;
    }

    /// The result of a call: an error makes the queue fail.
    fn done(&mut self, result: Result<(), String>) -> i32 {
        let Err(words) = result else { return 0 };
        self.fail(Failure::Words(words.clone()));
        self.device.refuse(words)
    }

    fn failure(&self, number: u64) -> Option<Failure> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.device.failures.lock().get(index).cloned()
    }
}

/// The functions of driver N.
pub const fn functions<const N: usize>() -> RawFunctions {
    RawFunctions {
        open: open::<N>,
        close,
        reason,
        allocate,
        release,
        open_queue,
        close_queue,
        upload,
        download,
        launch,
        prepare,
        record,
        wait,
        finish,
        check,
        failed_check,
    }
}

/// # Safety
/// The pointer is one that `open` gave.
unsafe fn device<'a>(raw: Opaque) -> &'a Arc<Device> {
    // SAFETY: the caller's promise.
    unsafe { &*raw.cast::<Arc<Device>>() }
}

/// # Safety
/// The pointer is one that `open_queue` gave, and no other call uses it.
unsafe fn queue<'a>(raw: Opaque) -> &'a mut Queue {
    // SAFETY: the caller's promise.
    unsafe { &mut *raw.cast::<Queue>() }
}

unsafe extern "C" fn open<const N: usize>(index: u32, to: *mut Opaque) -> i32 {
    let Some(slot) = slot(N).filter(|slot| index < slot.devices) else {
        return REFUSED;
    };
    let device = Arc::new(Device {
        slot,
        memory: Mutex::new(Memory::default()),
        failures: Mutex::new(Vec::new()),
        words: Mutex::new(String::new()),
    });
    // SAFETY: the caller has a pointer there.
    unsafe { *to = Box::into_raw(Box::new(device)).cast() };
    0
}

unsafe extern "C" fn close(raw: Opaque) {
    // SAFETY: `open` made it.
    drop(unsafe { Box::from_raw(raw.cast::<Arc<Device>>()) });
}

unsafe extern "C" fn reason(raw: Opaque, text: *mut c_char, bytes: u64) {
    // SAFETY: the device is open.
    let words = unsafe { device(raw) }.words.lock();
    let count = words.len().min(bytes.saturating_sub(1) as usize);
    // SAFETY: the caller has so many bytes there.
    unsafe {
        std::ptr::copy_nonoverlapping(words.as_ptr().cast(), text, count);
        *text.add(count) = 0;
    }
}

unsafe extern "C" fn allocate(raw: Opaque, bytes: u64, at: *mut *mut c_void) -> i32 {
    // SAFETY: the device is open.
    let device = unsafe { device(raw) };
    let Some(address) = device.memory.lock().allocate(bytes) else {
        return device.refuse(format!("out of memory: {bytes} bytes requested"));
    };
    // SAFETY: the caller has a pointer there. The address leads nowhere.
    unsafe { *at = std::ptr::without_provenance_mut(address) };
    0
}

unsafe extern "C" fn release(raw: Opaque, at: *mut c_void) {
    // SAFETY: the device is open.
    unsafe { device(raw) }.memory.lock().release(at as usize);
}

unsafe extern "C" fn open_queue(raw: Opaque, to: *mut Opaque) -> i32 {
    let queue = Queue {
        // SAFETY: the device is open.
        device: Arc::clone(unsafe { device(raw) }),
        failure: 0,
    };
    // SAFETY: the caller has a pointer there.
    unsafe { *to = Box::into_raw(Box::new(queue)).cast() };
    0
}

unsafe extern "C" fn close_queue(raw: Opaque) {
    // SAFETY: `open_queue` made it.
    drop(unsafe { Box::from_raw(raw.cast::<Queue>()) });
}

/// Moves bytes between an address of the device and the host.
///
/// # Safety
/// The host has so many bytes there; the device's are no other call's.
unsafe fn moved(
    queue: &mut Queue,
    (at, host): (*mut c_void, *mut u8),
    bytes: u64,
    up: bool,
) -> i32 {
    if queue.failure != 0 || bytes == 0 {
        return 0;
    }
    let found = queue.device.memory.lock().find(at, bytes);
    let moved = found.map(|here| {
        let here = here.cast::<u8>();
        let (to, from) = if up { (here, host) } else { (host, here) };
        // SAFETY: the bytes are the device's, as `find` says, and the caller has the host's.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes as usize) };
    });
    queue.done(moved)
}

unsafe extern "C" fn upload(raw: Opaque, to: *mut c_void, from: *const c_void, bytes: u64) -> i32 {
    // SAFETY: the contract of `device.h`.
    unsafe { moved(queue(raw), (to, from.cast_mut().cast()), bytes, true) }
}

unsafe extern "C" fn download(
    raw: Opaque,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
) -> i32 {
    // SAFETY: the contract of `device.h`.
    unsafe { moved(queue(raw), (from.cast_mut(), to.cast()), bytes, false) }
}

unsafe extern "C" fn launch(
    raw: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    _units: u64,
) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    let device = Arc::clone(&queue.device);
    let method = device.slot.methods.get(row as usize);
    match method {
        _ if queue.failure != 0 => 0,
        // SAFETY: the contract of `device.h`.
        Some(method) => queue.done(unsafe { call::run(&device.memory, method, &*launch, params) }),
        None => queue.done(Err(format!("there is no kernel row {row}"))),
    }
}

/// No row has a `prepare`.
unsafe extern "C" fn prepare(
    raw: Opaque,
    row: u32,
    _launch: *const RawLaunch,
    _params: u32,
    _prepared: *mut c_void,
) -> i32 {
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.done(Err(format!("kernel row {row} prepares nothing")))
}

unsafe extern "C" fn record(raw: Opaque, event: *mut u64) -> i32 {
    // SAFETY: the queue is open; the caller has a number there.
    unsafe { *event = queue(raw).failure };
    0
}

unsafe extern "C" fn wait(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    if queue.failure == 0 {
        queue.failure = event;
    }
    0
}

unsafe extern "C" fn finish(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    match queue.failure(event) {
        None => 0,
        Some(Failure::Words(words)) => queue.device.refuse(words),
        Some(Failure::Check(_)) => WRONG_CONTENTS,
    }
}

unsafe extern "C" fn check(raw: Opaque, status: *const c_void, check: u64) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    let mut word = 0_u64;
    let host = (&raw mut word).cast();
    let bytes = size_of::<u64>() as u64;
    // SAFETY: the contract of `device.h`; the word has so many bytes.
    let code = unsafe { moved(queue, (status.cast_mut(), host), bytes, false) };
    if code == 0 && queue.failure == 0 && word != 0 {
        queue.fail(Failure::Check(FailedCheck {
            check,
            status: word,
        }));
    }
    code
}

unsafe extern "C" fn failed_check(raw: Opaque, to: *mut FailedCheck) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    let Some(Failure::Check(failed)) = queue.failure(queue.failure) else {
        return queue
            .device
            .refuse("no check of this queue failed".to_owned());
    };
    // SAFETY: the caller has a check there.
    unsafe { *to = failed };
    0
}
