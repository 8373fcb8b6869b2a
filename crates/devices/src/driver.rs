//! A driver: its table, read and checked.

use crate::abi::{
    ABI, Capabilities, Costs, FailedCheck, RawDriver, RawFunctions, RawSegmentFunctions,
};
use crate::{OpenDevice, isolate};
use cloakwork_ir::DType;
use cloakwork_kernels::{Isa, KernelRow, Rows};
use cloakwork_process::Mutex;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::sync::{Arc, Weak};

/// An error of a driver, or of one of its devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The table is not one that this version reads.
    #[error("driver `{name}`: {reason}")]
    Driver {
        /// The driver.
        name: String,
        /// The fault in the table.
        reason: String,
    },
    /// A call of the driver failed.
    #[error("{device}: cannot {action}: {reason}")]
    Device {
        /// The device.
        device: String,
        /// The action that failed, after "cannot".
        action: &'static str,
        /// The driver's words.
        reason: String,
    },
    /// The device does nothing any more: the process of its driver ended or was ended, or it is
    /// lost for this process.
    #[error("{device}: {reason}")]
    Lost {
        /// The device.
        device: String,
        /// The way in which it ended, and the call in which it did.
        reason: String,
        /// The step of the plan that the call was for.
        step: Option<u32>,
        /// Whether nobody knows which work of the device it was: [`isolate::carefully`].
        is_vague: bool,
    },
    /// A check in a queue found contents wrong.
    #[error("{device}: check {} found wrong contents, status {}", failed.check, failed.status)]
    Check {
        /// The device.
        device: String,
        /// The check that failed.
        failed: FailedCheck,
    },
}

/// A driver: its table and its rows.
#[derive(Debug)]
pub struct Driver {
    raw: &'static RawDriver,
    functions: Option<&'static RawFunctions>,
    segments: Option<&'static RawSegmentFunctions>,
    name: &'static str,
    rows: &'static Rows,
    costs: Costs,
    capabilities: Capabilities,
    /// Kernels that it is planned without.
    lacks: BTreeSet<String>,
}

/// The driver of a table of this crate's, with rows that are read already, if they are.
#[allow(clippy::expect_used)]
pub(crate) fn own(raw: &'static RawDriver, rows: Option<&'static Rows>) -> Driver {
    // SAFETY: the tables of this crate keep the contract.
    let rows = rows.map_or_else(|| unsafe { read_rows(raw) }, Ok);
    // SAFETY: as above.
    let read = rows.and_then(|rows| unsafe { Driver::of(raw, rows) });
    read.expect("a table of this version")
}

/// # Safety
/// The table keeps the contract of `device.h`.
unsafe fn name_of(raw: &'static RawDriver) -> &'static str {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(raw.name) }.to_str().unwrap_or("?")
}

/// # Safety
/// As [`name_of`].
unsafe fn read_rows(raw: &'static RawDriver) -> Result<&'static Rows, DeviceError> {
    let refused = |reason| DeviceError::Driver {
        // SAFETY: the caller's promise.
        name: unsafe { name_of(raw) }.to_owned(),
        reason,
    };
    let mut count = 0;
    // SAFETY: as above.
    let first = unsafe { (raw.kernels)(&raw mut count) };
    let table = match count {
        0 => &[],
        _ if first.is_null() => {
            return Err(refused(format!("expected {count} kernel rows, got null")));
        }
        // SAFETY: as above: the table of rows lives as long as the process.
        _ => unsafe { std::slice::from_raw_parts(first, count as usize) },
    };
    // SAFETY: as above.
    let rows = unsafe { Rows::of_table(table) };
    // A driver lives as long as the process.
    rows.map(|rows| &*Box::leak(Box::new(rows)))
        .map_err(refused)
}

/// The fault of a table of another version; none for this version.
pub(crate) fn other_version(abi: u32, struct_bytes: u32) -> Option<String> {
    let size = size_of::<RawDriver>();
    ((abi, struct_bytes as usize) != (ABI, size)).then(|| {
        format!(
            "expected version {ABI} of the table, {size} bytes, got version {abi}, {struct_bytes} \
             bytes: build it with this version's device.h"
        )
    })
}

/// The first contradiction in a table.
fn wrong(raw: &RawDriver) -> Option<String> {
    if let Some(reason) = other_version(raw.abi, raw.struct_bytes) {
        return Some(reason);
    }
    let can = raw.capabilities;
    let in_place = can.has(Capabilities::HOST_MEMORY);
    if !can.are_known() {
        return Some(format!("expected capabilities of device.h, got {can:?}"));
    }
    let segments = can.has(Capabilities::SEGMENTS);
    let contradictions = [
        (
            in_place != raw.functions.is_null(),
            "expected functions, or memory of the host, and not both",
        ),
        (
            can.has(Capabilities::FUSES) && !in_place,
            "expected memory of the host where launches are fused",
        ),
        (
            segments && raw.segments.is_null(),
            "expected functions of segments, which its capabilities name",
        ),
        (
            segments && in_place,
            "expected memory of its own where segments run",
        ),
    ];
    let mut found = contradictions.into_iter().filter(|(is_so, _)| *is_so);
    found.next().map(|(_, text)| text.to_owned())
}

impl Driver {
    /// Reads a driver's table.
    ///
    /// # Errors
    /// It is of another version, or says what cannot be.
    ///
    /// # Safety
    /// The table keeps the contract of `device.h`.
    pub unsafe fn new(raw: &'static RawDriver) -> Result<Self, DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { Self::of(raw, read_rows(raw)?) }
    }

    /// # Safety
    /// As [`Driver::new`].
    pub(crate) unsafe fn of(
        raw: &'static RawDriver,
        rows: &'static Rows,
    ) -> Result<Self, DeviceError> {
        // SAFETY: the caller's promise.
        let name = unsafe { name_of(raw) };
        let unnamed = !raw.capabilities.has(Capabilities::SEGMENTS) && !raw.segments.is_null();
        let unnamed =
            unnamed.then(|| "expected a capability for its functions of segments".to_owned());
        if let Some(reason) = wrong(raw).or(unnamed) {
            let name = name.to_owned();
            return Err(DeviceError::Driver { name, reason });
        }
        Ok(Self {
            raw,
            // SAFETY: the caller's promise; null, or tables that live as long as the process.
            functions: unsafe { raw.functions.as_ref() },
            // SAFETY: as above.
            segments: unsafe { raw.segments.as_ref() },
            name,
            rows,
            costs: raw.costs,
            capabilities: raw.capabilities,
            lacks: BTreeSet::new(),
        })
    }

    /// The same driver, planned as if it had other costs and wishes and lacked some kernels: how
    /// tests see what plans make of them.
    ///
    /// # Errors
    /// It cannot be like that.
    pub fn varied(
        &self,
        costs: Costs,
        capabilities: Capabilities,
        lacks: BTreeSet<String>,
    ) -> Result<Self, DeviceError> {
        let said = RawDriver {
            capabilities,
            ..*self.raw
        };
        if let Some(reason) = wrong(&said) {
            let name = self.name.to_owned();
            return Err(DeviceError::Driver { name, reason });
        }
        Ok(Self {
            raw: self.raw,
            functions: self.functions,
            segments: self.segments,
            name: self.name,
            rows: self.rows,
            costs,
            capabilities,
            lacks,
        })
    }

    /// Its table: tests make other drivers of it, with some functions of their own.
    #[must_use]
    pub fn table(&self) -> &'static RawDriver {
        self.raw
    }

    /// The name of its devices, without their number.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The costs of its devices.
    #[must_use]
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Whether its devices have all of these capabilities.
    #[must_use]
    pub fn has(&self, capabilities: Capabilities) -> bool {
        self.capabilities.has(capabilities)
    }

    /// Their kernels.
    #[must_use]
    pub fn kernels(&self) -> &'static [KernelRow] {
        self.rows.all()
    }

    /// Whether its devices have kernels at all.
    #[must_use]
    pub fn computes(&self) -> bool {
        !self.rows.all().is_empty()
    }

    /// The number of devices now.
    #[must_use]
    pub fn count(&self) -> u32 {
        // SAFETY: the driver keeps its contract: any thread may ask, at any time.
        unsafe { (self.raw.count)() }
    }

    /// Its kernels.
    #[must_use]
    pub fn rows(&self) -> &'static Rows {
        self.rows
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
    ) -> Option<&'static KernelRow> {
        let (rows, features) = (self.rows, self.features(index).limited_to(isa));
        let found = rows.select(kernel, types[0], types[1], features)?;
        (self.lacks.is_empty() || !self.lacks.contains(kernel)).then_some(found)
    }

    pub(crate) fn functions(&self) -> Option<&'static RawFunctions> {
        self.functions
    }

    pub(crate) fn segments(&self) -> Option<&'static RawSegmentFunctions> {
        self.segments
    }

    pub(crate) fn index_of(&self, row: &KernelRow) -> Option<u32> {
        self.rows.index_of(row)
    }

    pub(crate) fn device_name(&self, index: u32) -> String {
        format!("{}:{index}", self.name)
    }

    pub(crate) fn device_error(
        &self,
        index: u32,
        action: &'static str,
        reason: String,
    ) -> DeviceError {
        DeviceError::Device {
            device: self.device_name(index),
            action,
            reason,
        }
    }

    /// Opens a device.
    ///
    /// # Errors
    /// The driver's, or its memory is the host's: then there is nothing to open.
    pub fn open(&'static self, index: u32) -> Result<Arc<OpenDevice>, DeviceError> {
        let refused = |reason| self.device_error(index, "open the device", reason);
        let functions = self.functions;
        let functions = functions.ok_or_else(|| refused("its memory is the host's".into()))?;
        OpenDevice::new(self, functions, index)
            .map(Arc::new)
            .map_err(|(code, reason)| match isolate::is_lost(functions, code) {
                true => DeviceError::Lost {
                    device: self.device_name(index),
                    reason,
                    step: None,
                    // A run that should name a kernel names none if it does not begin.
                    is_vague: isolate::is_careful(),
                },
                false => refused(reason),
            })
    }

    /// A device that all users share while one of them has it: memory of one opening serves no
    /// other. A device that is lost, or a parent's of this process, is opened anew, as is each
    /// within [`isolate::carefully`].
    ///
    /// # Errors
    /// As [`Driver::open`].
    pub fn shared(&'static self, index: u32) -> Result<Arc<OpenDevice>, DeviceError> {
        static SHARED: Mutex<Vec<(u32, Weak<OpenDevice>)>> = Mutex::new(Vec::new());
        let is_it = |(number, device): &(u32, Weak<OpenDevice>)| {
            let device = device.upgrade().filter(|_| *number == index)?;
            (std::ptr::eq(device.driver(), self) && device.serves()).then_some(device)
        };
        if isolate::is_careful() {
            return self.open(index);
        }
        if let Some(device) = SHARED.lock().iter().find_map(is_it) {
            return Ok(device);
        }
        let made = self.open(index)?;
        let mut shared = SHARED.lock();
        // Another thread may have opened it meanwhile.
        if let Some(device) = shared.iter().find_map(is_it) {
            return Ok(device);
        }
        shared.retain(|(_, device)| device.strong_count() > 0);
        shared.push((index, Arc::downgrade(&made)));
        drop(shared);
        Ok(made)
    }
}
