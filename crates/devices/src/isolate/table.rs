//! The C table of a driver in another process. Its functions have no word for the driver: each
//! loaded driver has a slot with functions of its own.

use super::call::Call;
use super::device::{Code, Device, LOST, Lost};
use super::launch;
use super::library::Library;
use super::wire::Writer;
use crate::abi::{
    ABI, FailedCheck, Opaque, RawDriver, RawFunctions, RawParts, RawSegmentFunctions,
};
use cloakwork_kernels::{RawKernelRow, RawLaunch};
use cloakwork_process::Once;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

/// As many drivers as can be loaded in processes of their own.
const SLOTS: usize = 16;

type Slot = Once<&'static Library>;

static ALL: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

macro_rules! tables {
    ($($slot:literal)*) => {
        static FUNCTIONS: [RawFunctions; SLOTS] = [$(functions::<$slot>(),)*];
        /// The functions that get no device, and so are different for each slot.
        static OWN: [Own; SLOTS] = [$(Own {
            count: count::<$slot>,
            features: features::<$slot>,
        },)*];
    };
}
tables!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

struct Own {
    count: unsafe extern "C" fn() -> u32,
    features: unsafe extern "C" fn(u32) -> u64,
}

static SEGMENTS: RawSegmentFunctions = RawSegmentFunctions {
    build,
    run,
    release: release_segment,
};

const fn functions<const SLOT: usize>() -> RawFunctions {
    RawFunctions {
        open: open::<SLOT>,
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

/// The table of a library, which takes a slot. It is never given back.
pub fn table(library: &'static Library) -> Option<RawDriver> {
    let slot = ALL.iter().position(|slot| slot.set(library).is_ok())?;
    let facts = &library.facts;
    let name = CString::new(facts.name.as_str()).ok()?;
    let segments = facts.capabilities.has(crate::Capabilities::SEGMENTS);
    Some(RawDriver {
        abi: ABI,
        struct_bytes: size_of::<RawDriver>() as u32,
        // A driver lives as long as the process.
        name: name.into_raw(),
        capabilities: facts.capabilities,
        costs: facts.costs,
        count: OWN[slot].count,
        kernels,
        features: OWN[slot].features,
        functions: &raw const FUNCTIONS[slot],
        segments: match segments {
            true => &raw const SEGMENTS,
            false => std::ptr::null(),
        },
    })
}

/// The library behind functions, if they are of a driver in another process.
pub fn library_of(functions: &RawFunctions) -> Option<&'static Library> {
    let slot = FUNCTIONS
        .iter()
        .position(|own| std::ptr::eq(own, functions))?;
    ALL[slot].get().copied()
}

/// Whether the number of a failed `open` is that of a process that is gone.
pub fn is_lost(functions: &RawFunctions, code: i32) -> bool {
    code == LOST && library_of(functions).is_some()
}

/// Why a device does nothing any more.
///
/// # Safety
/// The functions opened the device.
pub unsafe fn lost(functions: &RawFunctions, raw: Opaque) -> Option<Lost> {
    library_of(functions)?;
    // SAFETY: the caller's promise.
    unsafe { device(raw) }.ok()?.lost()
}

/// The result of `open`: a device, or the words for `reason`.
enum Opened {
    Device(Arc<Device>),
    Refused(String),
}

/// A queue: its device and its number there.
struct Queue {
    device: Arc<Device>,
    number: u32,
}

/// # Safety
/// `open` made it.
unsafe fn device<'a>(raw: Opaque) -> Result<&'a Arc<Device>, Code> {
    // SAFETY: the caller's promise.
    match unsafe { &*raw.cast::<Opened>() } {
        Opened::Device(device) => Ok(device),
        Opened::Refused(_) => Err(LOST),
    }
}

/// # Safety
/// `open_queue` made it.
unsafe fn queue<'a>(raw: Opaque) -> &'a Queue {
    // SAFETY: the caller's promise.
    unsafe { &*raw.cast::<Queue>() }
}

fn code(done: Result<(), Code>) -> i32 {
    done.err().unwrap_or(0)
}

/// Rows are made from facts in Rust: those of C have functions.
unsafe extern "C" fn kernels(count: *mut u64) -> *const RawKernelRow {
    // SAFETY: the caller has a number there.
    unsafe { *count = 0 };
    std::ptr::null()
}

unsafe extern "C" fn count<const SLOT: usize>() -> u32 {
    ALL[SLOT].get().map_or(0, |library| library.facts.count)
}

unsafe extern "C" fn features<const SLOT: usize>(index: u32) -> u64 {
    let library = ALL[SLOT].get();
    library.map_or(0, |library| library.features(index))
}

unsafe extern "C" fn open<const SLOT: usize>(index: u32, to: *mut Opaque) -> i32 {
    let Some(library) = ALL[SLOT].get() else {
        return LOST;
    };
    let (opened, code) = match Device::open(library, index) {
        Ok(device) => (Opened::Device(Arc::new(device)), 0),
        Err((code, words)) => (Opened::Refused(words), code),
    };
    // SAFETY: the caller has a pointer there.
    unsafe { *to = Box::into_raw(Box::new(opened)).cast() };
    code
}

unsafe extern "C" fn close(raw: Opaque) {
    // SAFETY: `open` made it.
    let opened = unsafe { Box::from_raw(raw.cast::<Opened>()) };
    if let Opened::Device(device) = *opened {
        device.close();
    }
}

unsafe extern "C" fn reason(raw: Opaque, text: *mut c_char, bytes: u64) {
    // SAFETY: `open` made it.
    let words = match unsafe { &*raw.cast::<Opened>() } {
        Opened::Device(device) => device.words(),
        Opened::Refused(words) => words.clone(),
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
    let device = match unsafe { device(raw) } {
        Ok(device) => device,
        Err(code) => return code,
    };
    let write = |writer: &mut Writer| {
        writer.u64(bytes);
    };
    match device.ask_for(Call::Allocate, &write, &mut |reader| reader.at()) {
        Ok(address) => {
            // SAFETY: the caller has a pointer there. The address is one of the other process.
            unsafe { *at = address };
            0
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn release(raw: Opaque, at: *mut c_void) {
    // SAFETY: the device is open.
    let device = unsafe { device(raw) };
    // Memory of a process that is gone is gone, too.
    let _ = device.and_then(|device| {
        device.send(Call::Release, &|writer| {
            writer.at(at);
        })
    });
}

unsafe extern "C" fn open_queue(raw: Opaque, to: *mut Opaque) -> i32 {
    // SAFETY: the device is open.
    let device = match unsafe { device(raw) } {
        Ok(device) => device,
        Err(code) => return code,
    };
    let number = device.number();
    let write = |writer: &mut Writer| {
        writer.u32(number);
    };
    if let Err(code) = device.ask_for(Call::OpenQueue, &write, &mut |_| Ok(())) {
        return code;
    }
    let device = Arc::clone(device);
    let queue = Box::new(Queue { device, number });
    // SAFETY: the caller has a pointer there.
    unsafe { *to = Box::into_raw(queue).cast() };
    0
}

unsafe extern "C" fn close_queue(raw: Opaque) {
    // SAFETY: `open_queue` made it.
    let queue = unsafe { Box::from_raw(raw.cast::<Queue>()) };
    queue.device.close_queue(queue.number);
}

unsafe extern "C" fn upload(raw: Opaque, to: *mut c_void, from: *const c_void, bytes: u64) -> i32 {
    // SAFETY: the queue is open; the caller keeps so many bytes there.
    unsafe {
        let queue = queue(raw);
        let way = (queue.number, true);
        code(queue.device.transfer(way, (to, from.cast_mut()), bytes))
    }
}

unsafe extern "C" fn download(
    raw: Opaque,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
) -> i32 {
    // SAFETY: as for `upload`.
    unsafe {
        let queue = queue(raw);
        code(
            queue
                .device
                .transfer((queue.number, false), (from, to), bytes),
        )
    }
}

unsafe extern "C" fn launch(
    raw: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    units: u64,
) -> i32 {
    // SAFETY: the queue is open; the caller has a launch there.
    let (queue, launch) = unsafe { (queue(raw), &*launch) };
    let axis = queue.device.prepared_axis(row);
    code(queue.device.send(Call::Launch, &|writer| {
        writer.u32(queue.number).u32(row).u64(units);
        // SAFETY: as above.
        unsafe { launch::write(writer, launch, params, axis) };
    }))
}

unsafe extern "C" fn prepare(
    raw: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    prepared: *mut c_void,
) -> i32 {
    // SAFETY: the queue is open; the caller has a launch there.
    let (queue, launch) = unsafe { (queue(raw), &*launch) };
    let axis = queue.device.prepared_axis(row);
    code(queue.device.send(Call::Prepare, &|writer| {
        writer.u32(queue.number).u32(row).at(prepared);
        // SAFETY: as above.
        unsafe { launch::write(writer, launch, params, axis) };
    }))
}

unsafe extern "C" fn record(raw: Opaque, event: *mut u64) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    match queue.device.record(queue.number) {
        Ok(recorded) => {
            // SAFETY: the caller has a number there.
            unsafe { *event = recorded };
            0
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn wait(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    code(queue.device.wait(queue.number, event))
}

unsafe extern "C" fn finish(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    code(queue.device.finish(queue.number, event))
}

unsafe extern "C" fn check(raw: Opaque, status: *const c_void, check: u64) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    code(queue.device.send(Call::Check, &|writer| {
        writer.u32(queue.number).at(status).u64(check);
    }))
}

unsafe extern "C" fn failed_check(raw: Opaque, to: *mut FailedCheck) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    match queue.device.failed_check(queue.number) {
        Ok(failed) => {
            // SAFETY: the caller has a check there.
            unsafe { *to = failed };
            0
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn build(raw: Opaque, parts: *const RawParts, to: *mut Opaque) -> i32 {
    // SAFETY: the device is open; the caller has parts there.
    let (opened, parts) = unsafe { (device(raw), &*parts) };
    let device = match opened {
        Ok(device) => device,
        Err(code) => return code,
    };
    let number = device.number();
    let write = |writer: &mut Writer| {
        writer.u32(number);
        let axis = |row| device.prepared_axis(row);
        // SAFETY: as above.
        unsafe { launch::write_parts(writer, parts, &axis) };
    };
    match device.ask_for(Call::Build, &write, &mut |reader| reader.u32()) {
        Ok(is_built) => {
            let built = (is_built != 0).then(|| Box::into_raw(Box::new(number)).cast());
            // SAFETY: the caller has a pointer there.
            unsafe { *to = built.unwrap_or(std::ptr::null_mut()) };
            0
        }
        Err(code) => code,
    }
}

/// # Safety
/// `build` made it.
unsafe fn segment(raw: Opaque) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { *raw.cast::<u32>() }
}

unsafe extern "C" fn run(raw: Opaque, built: Opaque) -> i32 {
    // SAFETY: the queue is open; `build` made the segment.
    let (queue, number) = unsafe { (queue(raw), segment(built)) };
    code(queue.device.send(Call::Run, &|writer| {
        writer.u32(queue.number).u32(number);
    }))
}

unsafe extern "C" fn release_segment(raw: Opaque, built: Opaque) {
    // SAFETY: `build` made it, and it is released once.
    let number = unsafe { *Box::from_raw(built.cast::<u32>()) };
    // SAFETY: the device is open.
    let device = unsafe { device(raw) };
    // A segment of a process that is gone is gone, too.
    let _ = device.and_then(|device| {
        device.send(Call::ReleaseSegment, &|writer| {
            writer.u32(number);
        })
    });
}
