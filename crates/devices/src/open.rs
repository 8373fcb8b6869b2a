//! Open handles of a driver: devices, memory, queues.

use crate::abi::{DEVICE_LOST, FailedCheck, Opaque, RawFunctions, WRONG_CONTENTS};
use crate::{DeviceError, Driver, Segment, isolate};
use cloakwork_kernels::{KernelRow, RawLaunch};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

/// The alignment of allocations that `device.h` asks for.
const ALIGNMENT_BYTES: usize = 64;
/// Advice for a device that is lost for this process.
const LOST_HERE: &str = "it does nothing more for this process: start another one, with \
    `--isolate` (`isolate=True`) to have the kernel and the step named";

/// An open device.
#[derive(Debug)]
pub struct OpenDevice {
    driver: &'static Driver,
    functions: &'static RawFunctions,
    index: u32,
    raw: Opaque,
    generation: u64,
}

// SAFETY: any thread may call a driver's functions.
unsafe impl Send for OpenDevice {}
// SAFETY: as above.
unsafe impl Sync for OpenDevice {}

impl OpenDevice {
    /// Opens a device. The error is the driver's number and its reason.
    pub(crate) fn new(
        driver: &'static Driver,
        functions: &'static RawFunctions,
        index: u32,
    ) -> Result<Self, (i32, String)> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the driver keeps its contract; it writes the device.
        let code = unsafe { (functions.open)(index, &raw mut raw) };
        if code == 0 {
            return Ok(Self {
                driver,
                functions,
                index,
                raw,
                generation: cloakwork_process::generation(),
            });
        }
        if raw.is_null() {
            return Err((code, format!("error {code}")));
        }
        // SAFETY: what a failed `open` gives serves these two calls.
        unsafe {
            let words = words_of(functions, raw, code);
            (functions.close)(raw);
            Err((code, words))
        }
    }

    /// Whether this process opened it: what a parent opened serves no forked child.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.generation == cloakwork_process::generation()
    }

    /// Whether this process opened it, and its driver's process, if that is another, lives.
    #[must_use]
    pub fn serves(&self) -> bool {
        // SAFETY: the functions opened it.
        self.is_here() && unsafe { isolate::lost(self.functions, self.raw) }.is_none()
    }

    pub(crate) fn checked(&self, code: i32, action: &'static str) -> Result<(), DeviceError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the functions opened it.
        if let Some(lost) = unsafe { isolate::lost(self.functions, self.raw) } {
            return Err(DeviceError::Lost {
                device: self.driver.device_name(self.index),
                reason: lost.words,
                step: lost.step,
                is_vague: lost.is_vague,
            });
        }
        // SAFETY: the device is open.
        let words = unsafe { words_of(self.functions, self.raw, code) };
        if code == DEVICE_LOST {
            return Err(DeviceError::Lost {
                device: self.driver.device_name(self.index),
                reason: format!("{words}; {LOST_HERE}"),
                step: None,
                is_vague: false,
            });
        }
        Err(self.driver.device_error(self.index, action, words))
    }

    pub(crate) fn refused(&self, action: &'static str, reason: &str) -> DeviceError {
        self.driver
            .device_error(self.index, action, reason.to_owned())
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// The device as the functions of its driver know it.
    pub(crate) fn raw(&self) -> Opaque {
        self.raw
    }

    pub(crate) fn index_of(&self, row: &KernelRow) -> Result<u32, DeviceError> {
        self.driver.index_of(row).ok_or_else(|| {
            let reason = format!("{} is not a row of this driver", row.symbol);
            self.refused("launch a kernel", &reason)
        })
    }

    /// Memory of zeros.
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate(self: &Arc<Self>, bytes: u64) -> Result<DeviceMemory, DeviceError> {
        let mut at = std::ptr::null_mut();
        // SAFETY: the device is open; the driver writes the address.
        let code = unsafe { (self.functions.allocate)(self.raw, bytes, &raw mut at) };
        self.checked(code, "allocate memory")?;
        let wrong = |at: *mut c_void| {
            let reason = format!(
                "`allocate` returned 0, success, for {bytes} bytes: expected a multiple of \
                 {ALIGNMENT_BYTES} as their address, got {at:p}"
            );
            self.refused("allocate memory", &reason)
        };
        if bytes > 0 && at.is_null() {
            return Err(wrong(at));
        }
        let memory = DeviceMemory {
            device: Arc::clone(self),
            at,
            bytes,
        };
        match at.addr().is_multiple_of(ALIGNMENT_BYTES) || bytes == 0 {
            true => Ok(memory),
            false => Err(wrong(at)),
        }
    }

    /// A new queue.
    ///
    /// # Errors
    /// The driver's.
    pub fn queue(self: &Arc<Self>) -> Result<Queue, DeviceError> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open; the driver writes the queue.
        let code = unsafe { (self.functions.open_queue)(self.raw, &raw mut raw) };
        self.checked(code, "open a queue")?;
        Ok(Queue {
            device: Arc::clone(self),
            raw,
        })
    }
}

impl Drop for OpenDevice {
    fn drop(&mut self) {
        // What serves it stayed with the parent of a forked child.
        if self.is_here() {
            // SAFETY: it is open, and memory and queues hold it until they are gone.
            unsafe { (self.functions.close)(self.raw) };
        }
    }
}

/// The driver's words for its last error, or the error's number.
///
/// # Safety
/// The device is open, or one that a failed `open` gave.
unsafe fn words_of(functions: &RawFunctions, device: Opaque, code: i32) -> String {
    let mut text = [0u8; 1024];
    // SAFETY: the caller's promise; so many bytes are there.
    unsafe {
        (functions.reason)(
            device,
            text.as_mut_ptr().cast::<c_char>(),
            text.len() as u64,
        )
    };
    let words = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    match words.is_empty() {
        true => format!("error {code}"),
        false => words.to_string_lossy().into_owned(),
    }
}

/// Memory of a device.
#[derive(Debug)]
pub struct DeviceMemory {
    device: Arc<OpenDevice>,
    at: *mut c_void,
    bytes: u64,
}

// SAFETY: an address that only the driver uses, whose functions any thread may call.
unsafe impl Send for DeviceMemory {}
// SAFETY: as above.
unsafe impl Sync for DeviceMemory {}

impl DeviceMemory {
    /// Its address, which only the driver can use.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        self.at
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.device.is_here() {
            // SAFETY: it was allocated there and is released once.
            unsafe { (self.device.functions.release)(self.device.raw, self.at) };
        }
    }
}

/// Work of a device that is done in its order.
#[derive(Debug)]
pub struct Queue {
    device: Arc<OpenDevice>,
    raw: Opaque,
}

// SAFETY: any thread may call a driver's functions; those of a queue need exclusive access.
unsafe impl Send for Queue {}

/// A place in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event(u64);

impl Queue {
    fn raw(&self) -> &'static RawFunctions {
        self.device.functions
    }

    /// Moves bytes from the host.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// Both memories have so many bytes there, and stay as they are until the queue is past this.
    pub unsafe fn upload(
        &mut self,
        to: *mut c_void,
        from: *const c_void,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.raw().upload)(self.raw, to, from, bytes) };
        self.device.checked(code, "upload")
    }

    /// Moves bytes to the host.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// As [`Queue::upload`].
    pub unsafe fn download(
        &mut self,
        to: *mut c_void,
        from: *const c_void,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.raw().download)(self.raw, to, from, bytes) };
        self.device.checked(code, "download")
    }

    /// Runs all units of a launch, which has so many params.
    ///
    /// # Errors
    /// The driver's, or the row is no row of it.
    ///
    /// # Safety
    /// As `KernelRow::run`, with the addresses of the device's memory.
    pub unsafe fn launch(
        &mut self,
        row: &KernelRow,
        (launch, params): (&RawLaunch, usize),
        units: u64,
    ) -> Result<(), DeviceError> {
        let index = self.device.index_of(row)?;
        // SAFETY: the caller's promise.
        let code = unsafe { (self.raw().launch)(self.raw, index, launch, params as u32, units) };
        self.device.checked(code, "launch a kernel")
    }

    /// Runs a row's `prepare`.
    ///
    /// # Errors
    /// As [`Queue::launch`].
    ///
    /// # Safety
    /// As `KernelRow::prepare`, with the addresses of the device's memory.
    pub unsafe fn prepare(
        &mut self,
        row: &KernelRow,
        (launch, params): (&RawLaunch, usize),
        prepared: *mut c_void,
    ) -> Result<(), DeviceError> {
        let index = self.device.index_of(row)?;
        // SAFETY: the caller's promise.
        let code =
            unsafe { (self.raw().prepare)(self.raw, index, launch, params as u32, prepared) };
        self.device.checked(code, "prepare a kernel")
    }

    /// An event behind all that is in the queue.
    ///
    /// # Errors
    /// The driver's.
    pub fn record(&mut self) -> Result<Event, DeviceError> {
        let mut event = 0;
        // SAFETY: the queue is open; the driver writes the event.
        let code = unsafe { (self.raw().record)(self.raw, &raw mut event) };
        self.device.checked(code, "record an event")?;
        Ok(Event(event))
    }

    /// Makes all later commands wait for an event of another queue of the device.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&mut self, event: Event) -> Result<(), DeviceError> {
        // SAFETY: the queue is open.
        let code = unsafe { (self.raw().wait)(self.raw, event.0) };
        self.device.checked(code, "wait for an event")
    }

    /// Runs all nodes of a segment.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// The segment is of this device and has run in no other queue; its memory stays as it is
    /// until the queue is past this.
    pub unsafe fn run_segment(&mut self, segment: &Segment) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let code = unsafe { segment.run_in(self.raw) };
        self.device.checked(code, "run a segment")
    }

    /// This thread waits for an event of the queue.
    ///
    /// # Errors
    /// What went wrong in the queue before it; [`DeviceError::Check`] for wrong contents.
    pub fn finish(&mut self, event: Event) -> Result<(), DeviceError> {
        // SAFETY: the queue is open.
        let code = unsafe { (self.raw().finish)(self.raw, event.0) };
        if code != WRONG_CONTENTS {
            return self.device.checked(code, "finish what it was given");
        }
        let mut failed = FailedCheck::default();
        // SAFETY: as above; the driver writes the check.
        let code = unsafe { (self.raw().failed_check)(self.raw, &raw mut failed) };
        self.device.checked(code, "say which check failed")?;
        let device = self.device.driver.device_name(self.device.index);
        Err(DeviceError::Check { device, failed })
    }

    /// The queue fails here unless a status word of the device is 0.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// The address is one of a word of the device's memory.
    pub unsafe fn check(&mut self, status: *const c_void, check: u64) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.raw().check)(self.raw, status, check) };
        self.device.checked(code, "check contents")
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.device.is_here() {
            // SAFETY: it is open and closed once.
            unsafe { (self.raw().close_queue)(self.raw) };
        }
    }
}
