//! A driver and what is open of it: devices, memory, queues.

use crate::abi::{ABI, Costs, Opaque, RawDriver};
use cloakwork_ir::DType;
use cloakwork_kernels::{Isa, KernelRow, RawLaunch, Rows};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

/// What a driver refused or could not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The table is not one that this version reads.
    #[error("driver `{name}`: {reason}")]
    Driver {
        /// The driver.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A call of the driver failed.
    #[error("{device}: cannot {action}: {reason}")]
    Device {
        /// The device.
        device: String,
        /// What could not be done.
        action: &'static str,
        /// The driver's words.
        reason: String,
    },
}

/// A driver: its table and its rows.
#[derive(Debug)]
pub struct Driver {
    raw: &'static RawDriver,
    name: &'static str,
    rows: Rows,
}

impl Driver {
    /// Reads a driver's table.
    ///
    /// # Errors
    /// It is of another version, or has a kernel of an unknown dtype or feature.
    ///
    /// # Safety
    /// The table keeps the contract of `device.h`.
    pub unsafe fn new(raw: &'static RawDriver) -> Result<Self, DeviceError> {
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(raw.name) };
        let name = name.to_str().unwrap_or("?");
        let wrong = |reason: String| DeviceError::Driver {
            name: name.to_owned(),
            reason,
        };
        let size = size_of::<RawDriver>();
        if (raw.abi, raw.struct_bytes as usize) != (ABI, size) {
            return Err(wrong(format!(
                "expected version {ABI} of the table, {size} bytes, got version {}, {} bytes: \
                 build it with this version's device.h",
                raw.abi, raw.struct_bytes
            )));
        }
        let mut count = 0;
        // SAFETY: the caller's promise: the table of rows lives as long as the process.
        let table = unsafe {
            let first = (raw.kernels)(&raw mut count);
            std::slice::from_raw_parts(first, count as usize)
        };
        let rows = Rows::of_table(table).map_err(|index| {
            wrong(format!(
                "kernel row {index} names an unknown dtype or feature"
            ))
        })?;
        Ok(Self { raw, name, rows })
    }

    /// What its devices are called, without their number.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What they cost.
    #[must_use]
    pub fn costs(&self) -> Costs {
        self.raw.costs
    }

    /// The features of device `index`. Bits without a meaning are none of them.
    #[must_use]
    pub fn features(&self, index: u32) -> Isa {
        // SAFETY: the driver keeps its contract: any thread may ask, at any time.
        Isa::known(unsafe { (self.raw.features)(index) })
    }

    /// The preferred kernel for these types that device `index` runs with no other features of
    /// processors than `isa`.
    #[must_use]
    pub fn select(
        &self,
        index: u32,
        (kernel, types): (&str, [DType; 2]),
        isa: Isa,
    ) -> Option<&KernelRow> {
        let features = self.features(index).limited_to(isa);
        self.rows.select(kernel, types[0], types[1], features)
    }

    /// Opens a device.
    ///
    /// # Errors
    /// The driver's.
    pub fn open(&'static self, index: u32) -> Result<Arc<OpenDevice>, DeviceError> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the driver keeps its contract; it writes the device.
        let code = unsafe { (self.raw.open)(index, &raw mut raw) };
        if code != 0 {
            return Err(DeviceError::Device {
                device: format!("{}:{index}", self.name),
                action: "open the device",
                reason: format!("error {code}"),
            });
        }
        let generation = cloakwork_process::generation();
        Ok(Arc::new(OpenDevice {
            driver: self,
            index,
            raw,
            generation,
        }))
    }
}

/// An open device.
#[derive(Debug)]
pub struct OpenDevice {
    driver: &'static Driver,
    index: u32,
    raw: Opaque,
    generation: u64,
}

// SAFETY: any thread may call a driver's functions.
unsafe impl Send for OpenDevice {}
// SAFETY: as above.
unsafe impl Sync for OpenDevice {}

impl OpenDevice {
    /// Whether this process opened it: what a parent opened serves no forked child.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.generation == cloakwork_process::generation()
    }

    fn checked(&self, code: i32, action: &'static str) -> Result<(), DeviceError> {
        if code == 0 {
            return Ok(());
        }
        let mut text = [0u8; 256];
        // SAFETY: so many bytes are there.
        unsafe { (self.driver.raw.reason)(self.raw, text.as_mut_ptr().cast::<c_char>(), 256) };
        let words = CStr::from_bytes_until_nul(&text).map_or_else(
            |_| String::new(),
            |words| words.to_string_lossy().into_owned(),
        );
        Err(DeviceError::Device {
            device: format!("{}:{}", self.driver.name, self.index),
            action,
            reason: if words.is_empty() {
                format!("error {code}")
            } else {
                words
            },
        })
    }

    /// Memory of zeros.
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate(self: &Arc<Self>, bytes: u64) -> Result<DeviceMemory, DeviceError> {
        let mut at = std::ptr::null_mut();
        // SAFETY: the device is open; the driver writes the address.
        let code = unsafe { (self.driver.raw.allocate)(self.raw, bytes, &raw mut at) };
        self.checked(code, "allocate memory")?;
        Ok(DeviceMemory {
            device: Arc::clone(self),
            at,
            bytes,
        })
    }

    /// A new queue.
    ///
    /// # Errors
    /// The driver's.
    pub fn queue(self: &Arc<Self>) -> Result<Queue, DeviceError> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open; the driver writes the queue.
        let code = unsafe { (self.driver.raw.open_queue)(self.raw, &raw mut raw) };
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
            unsafe { (self.driver.raw.close)(self.raw) };
        }
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
            unsafe { (self.device.driver.raw.release)(self.device.raw, self.at) };
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
    fn raw(&self) -> &'static RawDriver {
        self.device.driver.raw
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
    /// The driver's, or the row is not a row of it.
    ///
    /// # Safety
    /// As `KernelRow::run`, with the addresses of the device's memory.
    pub unsafe fn launch(
        &mut self,
        row: &KernelRow,
        (launch, params): (&RawLaunch, usize),
        units: u64,
    ) -> Result<(), DeviceError> {
        let index = self.index_of(row)?;
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
        let index = self.index_of(row)?;
        // SAFETY: the caller's promise.
        let code =
            unsafe { (self.raw().prepare)(self.raw, index, launch, params as u32, prepared) };
        self.device.checked(code, "prepare a kernel")
    }

    fn index_of(&self, row: &KernelRow) -> Result<u32, DeviceError> {
        let rows = &self.device.driver.rows;
        rows.index_of(row).ok_or_else(|| DeviceError::Device {
            device: format!("{}:{}", self.device.driver.name, self.device.index),
            action: "launch a kernel",
            reason: format!("{} is not a row of this driver", row.symbol),
        })
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

    /// What comes after waits for an event of another queue of the device.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&mut self, event: Event) -> Result<(), DeviceError> {
        // SAFETY: the queue is open.
        let code = unsafe { (self.raw().wait)(self.raw, event.0) };
        self.device.checked(code, "wait for an event")
    }

    /// This thread waits for an event of the queue.
    ///
    /// # Errors
    /// What went wrong in the queue before it.
    pub fn finish(&mut self, event: Event) -> Result<(), DeviceError> {
        // SAFETY: the queue is open.
        let code = unsafe { (self.raw().finish)(self.raw, event.0) };
        self.device.checked(code, "finish what it was given")
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
