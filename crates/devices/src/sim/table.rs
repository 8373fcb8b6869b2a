//! The C table.

use super::delays::asked;
use super::queue::{Command, Kind, Queue, Shared, Why, lock};
use super::segment;
use crate::abi::{
    ABI, Capabilities, Costs, FailedCheck, Opaque, RawDriver, RawFunctions, WRONG_CONTENTS,
};
use crate::cpu::{host_features, host_kernels};
use crate::memory::Memory;
use cloakwork_kernels::{KernelRow, LaunchShape, RawLaunch, host_rows};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use zeroize::Zeroize;

/// The number of every error; `reason` has the words.
pub(super) const REFUSED: i32 = 1;

/// It costs nothing: what is sent there stays there, however small. Its kernels are the
/// processor's, which want limbs one behind the other.
pub static TABLE: RawDriver = RawDriver {
    abi: ABI,
    struct_bytes: size_of::<RawDriver>() as u32,
    name: c"sim".as_ptr(),
    capabilities: Capabilities::LIMB_MAJOR.and(Capabilities::SEGMENTS),
    costs: Costs::NONE,
    count: crate::abi::any,
    kernels: host_kernels,
    features: host_features,
    functions: &raw const FUNCTIONS,
    segments: &raw const segment::FUNCTIONS,
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

pub(super) type Device = Arc<Shared>;

/// # Safety
/// The pointer is one that `open` gave.
pub(super) unsafe fn device<'a>(raw: Opaque) -> &'a Device {
    // SAFETY: the caller's promise.
    unsafe { &*raw.cast::<Device>() }
}

/// # Safety
/// The pointer is one that `open_queue` gave, and no other call uses it.
pub(super) unsafe fn queue<'a>(raw: Opaque) -> &'a mut Queue {
    // SAFETY: the caller's promise.
    unsafe { &mut *raw.cast::<Queue>() }
}

unsafe extern "C" fn open(_index: u32, to: *mut Opaque) -> i32 {
    let device: Box<Device> = Box::default();
    let refused = asked().err();
    if let Some(words) = refused {
        lock(&device.state).words = words.to_owned();
    }
    // SAFETY: the caller has a pointer there.
    unsafe { *to = Box::into_raw(device).cast() };
    refused.map_or(0, |_| REFUSED)
}

unsafe extern "C" fn close(raw: Opaque) {
    // SAFETY: `open` made it.
    drop(unsafe { Box::from_raw(raw.cast::<Device>()) });
}

unsafe extern "C" fn reason(raw: Opaque, text: *mut c_char, bytes: u64) {
    // SAFETY: the device is open.
    let words = lock(&unsafe { device(raw) }.state).words.clone();
    let count = words.len().min(bytes.saturating_sub(1) as usize);
    // SAFETY: the caller has so many bytes there.
    unsafe {
        std::ptr::copy_nonoverlapping(words.as_ptr().cast(), text, count);
        *text.add(count) = 0;
    }
}

unsafe extern "C" fn allocate(raw: Opaque, bytes: u64, at: *mut *mut c_void) -> i32 {
    // SAFETY: the device is open.
    let shared = unsafe { device(raw) };
    let Some(address) = lock(&shared.memory).allocate(bytes) else {
        lock(&shared.state).words = format!("out of memory: {bytes} bytes requested");
        return REFUSED;
    };
    // SAFETY: the caller has a pointer there. The address leads nowhere.
    unsafe { *at = std::ptr::without_provenance_mut(address) };
    0
}

unsafe extern "C" fn release(raw: Opaque, at: *mut c_void) {
    // SAFETY: the device is open.
    lock(&unsafe { device(raw) }.memory).release(at as usize);
}

unsafe extern "C" fn open_queue(raw: Opaque, to: *mut Opaque) -> i32 {
    // SAFETY: the device is open.
    let queue = Box::new(Queue::new(Arc::clone(unsafe { device(raw) })));
    // SAFETY: the caller has a pointer there.
    unsafe { *to = Box::into_raw(queue).cast() };
    0
}

unsafe extern "C" fn close_queue(raw: Opaque) {
    // SAFETY: `open_queue` made it.
    drop(unsafe { Box::from_raw(raw.cast::<Queue>()) });
}

/// An address that goes to the queue's thread.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct At(pub *mut c_void);

// SAFETY: the contract of `device.h`: it stays good until the queue is past its use.
unsafe impl Send for At {}

/// Moves bytes between an address of the device and one of the host.
fn moving((device, host): (At, At), bytes: u64, up: bool) -> Command {
    Box::new(move |shared| {
        let (device, host) = (device, host);
        let here: *mut u8 = lock(&shared.memory).find(device.0, bytes)?.cast();
        let there: *mut u8 = host.0.cast();
        let (to, from) = if up { (here, there) } else { (there, here) };
        if bytes > 0 {
            // SAFETY: the bytes are the device's, as `find` says, and the caller has the host's.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes as usize) };
        }
        Ok(())
    })
}

unsafe extern "C" fn upload(raw: Opaque, to: *mut c_void, from: *const c_void, bytes: u64) -> i32 {
    let command = moving((At(to), At(from.cast_mut())), bytes, true);
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.push(Kind::Transfer, command);
    0
}

unsafe extern "C" fn download(
    raw: Opaque,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
) -> i32 {
    let command = moving((At(from.cast_mut()), At(to)), bytes, false);
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.push(Kind::Transfer, command);
    0
}

/// A launch that outlives its call.
pub(super) struct Launch {
    dims: Vec<i64>,
    strides: Vec<i64>,
    params: Vec<i64>,
    /// Addresses of the device, or pointers of the process once they were found.
    pub data: Vec<At>,
    /// One address, or one an index of the row's axis.
    pub prepared: Vec<At>,
    row: u32,
}

impl Launch {
    /// # Safety
    /// As `device.h` says of launches.
    pub unsafe fn of(row: u32, launch: &RawLaunch, params: u32) -> Self {
        let (rank, operands) = (launch.rank as usize, launch.operands as usize);
        let own = row_of(row);
        // SAFETY: the caller's promise.
        unsafe {
            let dims = copied(launch.dims, rank);
            let data: Vec<*mut c_void> = copied(launch.data, operands);
            let blocks = match own.prepared_axis {
                _ if launch.prepared.is_null() => Vec::new(),
                Some(axis) => copied(launch.prepared.cast(), dims[axis] as usize),
                None => vec![launch.prepared.cast_mut()],
            };
            Self {
                strides: copied(launch.strides, rank * operands),
                params: copied(launch.params, params as usize),
                dims,
                data: data.into_iter().map(At).collect(),
                prepared: blocks.into_iter().map(At).collect(),
                row,
            }
        }
    }
}

fn row_of(row: u32) -> &'static KernelRow {
    &host_rows().all()[row as usize]
}

/// # Safety
/// So many values are there.
pub(super) unsafe fn copied<T: Copy>(from: *const T, count: usize) -> Vec<T> {
    match count {
        0 => Vec::new(),
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(from, count) }.to_vec(),
    }
}

/// An address as a pointer of the process. The operand has to begin in the device's memory; how far
/// a launch reaches is the plan's affair, as everywhere.
pub(super) fn found(memory: &Memory, at: At) -> Result<At, String> {
    memory.find(at.0, 0).map(At)
}

impl Launch {
    /// The same over pointers of the process.
    pub fn found(mut self, memory: &Memory) -> Result<Self, String> {
        for at in self.data.iter_mut().chain(&mut self.prepared) {
            *at = found(memory, *at)?;
        }
        Ok(self)
    }

    fn shape(&self) -> LaunchShape<'_> {
        LaunchShape {
            dims: &self.dims,
            strides: &self.strides,
            params: &self.params,
        }
    }

    /// Elements that it visits.
    pub fn elements(&self) -> u64 {
        let visited = |all: u64, &dim: &i64| all.saturating_mul(dim.unsigned_abs());
        self.dims.iter().fold(1, visited)
    }

    pub fn scratch_bytes(&self) -> u64 {
        row_of(self.row).scratch_bytes(&self.shape())
    }

    /// Calls the kernel over all units, or its `prepare` into a block.
    ///
    /// # Safety
    /// The contract of `device.h`, over pointers of the process, and with scratch memory.
    pub unsafe fn run(&self, units: u64, into: Option<At>, scratch: &Scratch) {
        let row = row_of(self.row);
        let prepared: *const c_void = match (row.prepared_axis, self.prepared.first()) {
            (_, None) => std::ptr::null(),
            (Some(_), _) => self.prepared.as_ptr().cast(),
            (None, Some(block)) => block.0.cast_const(),
        };
        // SAFETY: `At` is a pointer and nothing else.
        let data =
            unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.data.len()) };
        let launch = RawLaunch::new(&self.shape(), data, prepared);
        // SAFETY: the caller's promise.
        match into {
            Some(block) => unsafe { row.prepare(&launch, block.0) },
            None => unsafe { row.run(&launch, 0, units, scratch.0.cast()) },
        }
    }

    /// Finds the operands of one launch and runs it.
    fn run_alone(self, shared: &Shared, units: u64, into: Option<At>) -> Result<(), String> {
        let (own, into) = {
            let memory = lock(&shared.memory);
            let into = into.map(|at| found(&memory, at)).transpose()?;
            (self.found(&memory)?, into)
        };
        let scratch = Scratch::new(if into.is_some() {
            0
        } else {
            own.scratch_bytes()
        })?;
        // SAFETY: the contract of `device.h`; the operands are memory of this process.
        unsafe { own.run(units, into, &scratch) };
        Ok(())
    }
}

/// Scratch memory of launches.
pub(super) struct Scratch(*mut u8, Layout);

impl Scratch {
    pub fn new(bytes: u64) -> Result<Self, String> {
        let layout = Layout::from_size_align(bytes.max(1) as usize, 64);
        let layout = layout.map_err(|error| error.to_string())?;
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return Err(format!("out of scratch memory: {bytes} bytes requested"));
        }
        Ok(Self(start, layout))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: its own bytes, all of which were zeroed when it was made.
        unsafe { std::slice::from_raw_parts_mut(self.0, self.1.size()) }.zeroize();
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.0, self.1) };
    }
}

unsafe extern "C" fn launch(
    raw: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    units: u64,
) -> i32 {
    // SAFETY: the caller has a launch there.
    let own = unsafe { Launch::of(row, &*launch, params) };
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.push(
        Kind::Launches(1, own.elements()),
        Box::new(move |shared| Ok(own.run_alone(shared, units, None)?)),
    );
    0
}

unsafe extern "C" fn prepare(
    raw: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    prepared: *mut c_void,
) -> i32 {
    // SAFETY: the caller has a launch there.
    let own = unsafe { Launch::of(row, &*launch, params) };
    let block = At(prepared);
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.push(
        Kind::Other,
        Box::new(move |shared| {
            let block = block;
            Ok(own.run_alone(shared, 0, Some(block))?)
        }),
    );
    0
}

unsafe extern "C" fn record(raw: Opaque, event: *mut u64) -> i32 {
    // SAFETY: the queue is open; the caller has a number there.
    unsafe { *event = queue(raw).record() };
    0
}

unsafe extern "C" fn wait(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.wait(event);
    0
}

unsafe extern "C" fn finish(raw: Opaque, event: u64) -> i32 {
    // SAFETY: the queue is open.
    match unsafe { queue(raw) }.finish(event) {
        Ok(()) => 0,
        Err(Why::Words(_)) => REFUSED,
        Err(Why::Check(_)) => WRONG_CONTENTS,
    }
}

unsafe extern "C" fn check(raw: Opaque, status: *const c_void, check: u64) -> i32 {
    let status = At(status.cast_mut());
    // SAFETY: the queue is open.
    unsafe { queue(raw) }.push(
        Kind::Other,
        Box::new(move |shared| {
            let status = status;
            let word = lock(&shared.memory).find(status.0, size_of::<u64>() as u64)?;
            // SAFETY: the word is the device's, as `find` says, and launches before are done.
            unsafe { holds(At(word), check) }
        }),
    );
    0
}

/// Whether a check holds, by its status word.
///
/// # Safety
/// The word can be read.
pub(super) unsafe fn holds(word: At, check: u64) -> Result<(), Why> {
    // SAFETY: the caller's promise.
    match unsafe { word.0.cast::<u64>().read() } {
        0 => Ok(()),
        status => Err(Why::Check(FailedCheck { check, status })),
    }
}

unsafe extern "C" fn failed_check(raw: Opaque, to: *mut FailedCheck) -> i32 {
    // SAFETY: the queue is open.
    let queue = unsafe { queue(raw) };
    let Some(failed) = queue.failed_check() else {
        lock(&queue.shared.state).words = "no check of this queue failed".to_owned();
        return REFUSED;
    };
    // SAFETY: the caller has a check there.
    unsafe { *to = failed };
    0
}
