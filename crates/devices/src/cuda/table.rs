//! The C table.

use super::api::Failure;
use super::device::{Device, said, say};
use super::kernels::kernels as own_kernels;
use super::queue::Queue;
use super::segment::Segment;
use super::timeline::Why;
use crate::abi::{
    ABI, Capabilities, Costs, DEVICE_LOST, FailedCheck, Opaque, RawDriver, RawFunctions, RawParts,
    RawSegmentFunctions, WRONG_CONTENTS,
};
use cloakwork_kernels::{RawKernelRow, RawLaunch};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// The number of an error; `reason` has the words.
const REFUSED: i32 = 1;

/// Costs are those of a GPU of a data centre: a launch takes some microseconds, a copy through
/// pinned memory is as fast as one core copies, memory moves at terabytes a second.
pub static TABLE: RawDriver = RawDriver {
    abi: ABI,
    struct_bytes: size_of::<RawDriver>() as u32,
    name: c"cuda".as_ptr(),
    capabilities: Capabilities::LIMB_MAJOR.and(Capabilities::SEGMENTS),
    costs: Costs {
        launch_ns: 2_500,
        transfer_ns: 10_000,
        upload_bytes_per_us: 10_000,
        download_bytes_per_us: 10_000,
        memory_bytes_per_us: 2_500_000,
        operations_per_us: 500_000,
    },
    count,
    kernels,
    features,
    functions: &raw const FUNCTIONS,
    segments: &raw const SEGMENTS,
};

static FUNCTIONS: RawFunctions = RawFunctions {
    open,
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
};

static SEGMENTS: RawSegmentFunctions = RawSegmentFunctions {
    build,
    run,
    release: release_segment,
};

/// The result of `open`: a device, or why there is none.
type Opened = Result<Arc<Device>, String>;

/// None in a process that was forked after its parent used CUDA.
unsafe extern "C" fn count() -> u32 {
    super::library::count().unwrap_or(0)
}

unsafe extern "C" fn kernels(count: *mut u64) -> *const RawKernelRow {
    let table = &own_kernels().table;
    // SAFETY: the caller has a number there.
    unsafe { *count = table.len() as u64 };
    table.as_ptr()
}

unsafe extern "C" fn features(_index: u32) -> u64 {
    0
}

/// # Safety
/// The pointer is one that `open` gave.
unsafe fn opened<'a>(raw: Opaque) -> &'a Opened {
    // SAFETY: the caller's promise.
    unsafe { &*raw.cast::<Opened>() }
}

/// Calls a function with an open device.
///
/// # Safety
/// As [`opened`].
unsafe fn with_device<T>(
    raw: Opaque,
    act: impl FnOnce(&Arc<Device>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // SAFETY: the caller's promise.
    match unsafe { opened(raw) } {
        Ok(device) => {
            let _current = device.gpu.enter()?;
            act(device)
        }
        Err(words) => Err(Failure {
            code: REFUSED,
            words: words.clone(),
        }),
    }
}

/// # Safety
/// The pointer is one that `open_queue` gave, and no other call uses it.
unsafe fn queue<'a>(raw: Opaque) -> &'a mut Queue {
    // SAFETY: the caller's promise.
    unsafe { &mut *raw.cast::<Queue>() }
}

/// The number of a result. Words of an error are kept.
fn number(done: Result<(), Failure>) -> i32 {
    match done {
        Ok(()) => 0,
        Err(failure) => refused(failure),
    }
}

/// The number of a failure, whose words are kept.
fn refused(failure: Failure) -> i32 {
    let code = match failure.breaks_context() {
        true => DEVICE_LOST,
        false => REFUSED,
    };
    say(failure.words);
    code
}

unsafe extern "C" fn open(index: u32, to: *mut Opaque) -> i32 {
    let opened: Opened = Device::open(index).map(Arc::new);
    let code = if opened.is_ok() { 0 } else { REFUSED };
    // SAFETY: the caller has a pointer there.
    unsafe { *to = Box::into_raw(Box::new(opened)).cast() };
    code
}

unsafe extern "C" fn close(raw: Opaque) {
    // SAFETY: `open` made it.
    drop(unsafe { Box::from_raw(raw.cast::<Opened>()) });
}

unsafe extern "C" fn reason(raw: Opaque, text: *mut c_char, bytes: u64) {
    // SAFETY: `open` gave it.
    let words = match unsafe { opened(raw) } {
        Ok(_) => said(),
        Err(words) => words.clone(),
    };
    let count = words.len().min(bytes.saturating_sub(1) as usize);
    // SAFETY: the caller has so many bytes there.
    unsafe {
        std::ptr::copy_nonoverlapping(words.as_ptr().cast(), text, count);
        *text.add(count) = 0;
    }
}

unsafe extern "C" fn allocate(raw: Opaque, bytes: u64, at: *mut *mut c_void) -> i32 {
    // SAFETY: the device is open.
    let allocated = unsafe { with_device(raw, |device| device.gpu.allocate(bytes)) };
    number(allocated.map(|address| {
        // SAFETY: the caller has a pointer there. The host does not follow the address.
        unsafe { *at = super::own::pointer(address) };
    }))
}

unsafe extern "C" fn release(raw: Opaque, at: *mut c_void) {
    let free = |device: &Arc<Device>| {
        device.gpu.free(at as u64);
        Ok(())
    };
    // SAFETY: the device is open. A context that is gone has taken its memory with it.
    let _ = unsafe { with_device(raw, free) };
}

unsafe extern "C" fn open_queue(raw: Opaque, to: *mut Opaque) -> i32 {
    // SAFETY: the device is open.
    let queue = unsafe { with_device(raw, |device| Queue::open(Arc::clone(device))) };
    number(queue.map(|queue| {
        // SAFETY: the caller has a pointer there.
        unsafe { *to = Box::into_raw(Box::new(queue)).cast() };
    }))
}

unsafe extern "C" fn close_queue(raw: Opaque) {
    // SAFETY: `open_queue` made it.
    drop(unsafe { Box::from_raw(raw.cast::<Queue>()) });
}

unsafe extern "C" fn upload(raw: Opaque, to: *mut c_void, from: *const c_void, bytes: u64) -> i32 {
    // SAFETY: the queue is open; the contract of `device.h`.
    number(unsafe { queue(raw).upload(to, from, bytes) })
}

unsafe extern "C" fn download(
    raw: Opaque,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
) -> i32 {
    // SAFETY: as in `upload`.
    number(unsafe { queue(raw).download(to, from, bytes) })
}

/// Runs a launch, or a prepare into a block.
///
/// # Safety
/// The contract of `device.h`.
unsafe fn run_row(
    raw: Opaque,
    row: u32,
    launch: (*const RawLaunch, u32),
    work: (u64, Option<*mut c_void>),
) -> i32 {
    let Some(found) = own_kernels().row(row) else {
        say(format!("the table has no row {row}"));
        return REFUSED;
    };
    // SAFETY: the caller's promise.
    number(unsafe { queue(raw).launch(found, (&*launch.0, launch.1), work.0, work.1) })
}

unsafe extern "C" fn launch(
    raw: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    units: u64,
) -> i32 {
    // SAFETY: the contract of `device.h`.
    unsafe { run_row(raw, row, (launch, params), (units, None)) }
}

unsafe extern "C" fn prepare(
    raw: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    prepared: *mut c_void,
) -> i32 {
    // SAFETY: the contract of `device.h`.
    unsafe { run_row(raw, row, (launch, params), (1, Some(prepared))) }
}

unsafe extern "C" fn record(raw: Opaque, event: *mut u64) -> i32 {
    // SAFETY: the queue is open; the caller has a number there.
    unsafe { *event = queue(raw).record() };
    0
}

unsafe extern "C" fn wait(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    number(unsafe { queue(raw) }.wait(event))
}

unsafe extern "C" fn finish(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    match unsafe { queue(raw) }.finish(event) {
        Ok(()) => 0,
        Err(Why::Check(_)) => WRONG_CONTENTS,
        Err(Why::Failed(failure)) => refused(failure),
    }
}

unsafe extern "C" fn check(raw: Opaque, status: *const c_void, check: u64) -> i32 {
    // SAFETY: the queue is open; the contract of `device.h`.
    number(unsafe { queue(raw).check(status, check) })
}

unsafe extern "C" fn failed_check(raw: Opaque, to: *mut FailedCheck) -> i32 {
    // SAFETY: the queue is open.
    let Some(Why::Check(failed)) = unsafe { queue(raw) }.failure() else {
        say("no check of this queue failed".to_owned());
        return REFUSED;
    };
    // SAFETY: the caller has a check there.
    unsafe { *to = failed };
    0
}

unsafe extern "C" fn build(raw: Opaque, parts: *const RawParts, to: *mut Opaque) -> i32 {
    // SAFETY: the device is open; the contract of `device.h`.
    let built = unsafe { with_device(raw, |device| Segment::of(&device.gpu, &*parts)) };
    number(built.map(|segment| {
        // SAFETY: the caller has a pointer there.
        unsafe { *to = Box::into_raw(Box::new(segment)).cast() };
    }))
}

unsafe extern "C" fn run(raw: Opaque, segment: Opaque) -> i32 {
    // SAFETY: the queue is open; `build` made the segment.
    number(unsafe { queue(raw).run(&*segment.cast::<Segment>()) })
}

unsafe extern "C" fn release_segment(raw: Opaque, segment: Opaque) {
    // SAFETY: `build` made it, and it is released once.
    let segment = unsafe { Box::from_raw(segment.cast::<Segment>()) };
    let release = |device: &Arc<Device>| {
        segment.release(&device.gpu);
        Ok(())
    };
    // SAFETY: the device is open. A context that is gone has taken its graphs with it.
    let _ = unsafe { with_device(raw, release) };
}
