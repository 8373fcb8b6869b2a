//! Mirrors of the structs in `device.h`. A test compares sizes and offsets.

use cloakwork_kernels::{RawKernelRow, RawLaunch};
use std::ffi::{c_char, c_void};

/// `CW_DEVICE_ABI`.
pub const ABI: u32 = 5;

/// `CW_DEVICE_WRONG_CONTENTS`: the result of `finish` for a queue that failed at a check.
pub const WRONG_CONTENTS: i32 = -1;

/// `CW_DEVICE_LOST`: the device does nothing more for this process.
pub const DEVICE_LOST: i32 = -2;

/// `cw_device_costs`: what a device costs, as far as its maker knows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Nanoseconds of a launch beside its work.
    pub launch_ns: u64,
    /// Nanoseconds of a transfer beside its bytes.
    pub transfer_ns: u64,
    /// Bytes a microsecond from the host.
    pub upload_bytes_per_us: u64,
    /// Bytes a microsecond to the host.
    pub download_bytes_per_us: u64,
    /// Bytes a microsecond that a launch reads and writes; of the processor, one core.
    pub memory_bytes_per_us: u64,
    /// Operations a microsecond that a launch computes; of the processor, one core.
    pub operations_per_us: u64,
}

impl Costs {
    /// Costs of a device on which nothing takes time.
    pub const NONE: Self = Self {
        launch_ns: 0,
        transfer_ns: 0,
        upload_bytes_per_us: u64::MAX,
        download_bytes_per_us: u64::MAX,
        memory_bytes_per_us: u64::MAX,
        operations_per_us: u64::MAX,
    };

    /// Nanoseconds of a launch.
    #[must_use]
    pub fn launch_ns(&self, operations: u64, bytes: u64) -> u64 {
        let moving = at_rate(bytes, self.memory_bytes_per_us);
        let computing = at_rate(operations, self.operations_per_us);
        self.launch_ns.saturating_add(moving.max(computing))
    }

    /// Nanoseconds of a transfer from the host.
    #[must_use]
    pub fn upload_ns(&self, bytes: u64) -> u64 {
        let moving = at_rate(bytes, self.upload_bytes_per_us);
        self.transfer_ns.saturating_add(moving)
    }

    /// Nanoseconds of a transfer to the host.
    #[must_use]
    pub fn download_ns(&self, bytes: u64) -> u64 {
        let moving = at_rate(bytes, self.download_bytes_per_us);
        self.transfer_ns.saturating_add(moving)
    }
}

/// Nanoseconds of so much at so much a microsecond.
fn at_rate(amount: u64, per_us: u64) -> u64 {
    amount.saturating_mul(1000) / per_us.max(1)
}

/// `CW_DEVICE_...`: what a device is like, as a set.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// Its memory is the process's, and the engine runs its launches itself.
    pub const HOST_MEMORY: Self = Self(1);
    /// Neighbouring element-wise launches run block by block together.
    pub const FUSES: Self = Self(1 << 1);
    /// Tensors whose last axis runs over moduli are stored with that axis outermost.
    pub const LIMB_MAJOR: Self = Self(1 << 2);
    /// Launches that no wait and no event separates become one segment.
    pub const SEGMENTS: Self = Self(1 << 3);
    const ALL: Self = Self::HOST_MEMORY
        .and(Self::FUSES)
        .and(Self::LIMB_MAJOR)
        .and(Self::SEGMENTS);

    /// Those of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of another set are in this one.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits, of which some may have no meaning.
    pub(crate) const fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Whether all of them have a meaning.
    pub(crate) const fn are_known(self) -> bool {
        Self::ALL.has(self)
    }
}

/// `cw_failed_check`: the check at which a queue failed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailedCheck {
    /// The caller's number of it.
    pub check: u64,
    /// The status word.
    pub status: u64,
}

/// A device, a queue or a segment of the driver's own.
pub type Opaque = *mut c_void;

/// Moves bytes in a queue: to, from, bytes.
pub type MoveFn = unsafe extern "C" fn(Opaque, *mut c_void, *const c_void, u64) -> i32;

/// `cw_driver`. The header says what its fields mean.
#[allow(missing_docs)]
#[derive(Debug)]
#[repr(C)]
pub struct RawDriver {
    pub abi: u32,
    pub struct_bytes: u32,
    pub name: *const c_char,
    pub capabilities: Capabilities,
    pub costs: Costs,
    pub count: unsafe extern "C" fn() -> u32,
    pub kernels: unsafe extern "C" fn(*mut u64) -> *const RawKernelRow,
    pub features: unsafe extern "C" fn(u32) -> u64,
    pub functions: *const RawFunctions,
    pub segments: *const RawSegmentFunctions,
}

/// `count` of a driver that opens any device.
pub unsafe extern "C" fn any() -> u32 {
    u32::MAX
}

/// `cw_device_functions`. The header says what they do.
#[allow(missing_docs)]
#[derive(Debug)]
#[repr(C)]
pub struct RawFunctions {
    pub open: unsafe extern "C" fn(u32, *mut Opaque) -> i32,
    pub close: unsafe extern "C" fn(Opaque),
    pub reason: unsafe extern "C" fn(Opaque, *mut c_char, u64),
    pub allocate: unsafe extern "C" fn(Opaque, u64, *mut *mut c_void) -> i32,
    pub release: unsafe extern "C" fn(Opaque, *mut c_void),
    pub open_queue: unsafe extern "C" fn(Opaque, *mut Opaque) -> i32,
    pub close_queue: unsafe extern "C" fn(Opaque),
    pub upload: MoveFn,
    pub download: MoveFn,
    pub launch: unsafe extern "C" fn(Opaque, u32, *const RawLaunch, u32, u64) -> i32,
    pub prepare: unsafe extern "C" fn(Opaque, u32, *const RawLaunch, u32, *mut c_void) -> i32,
    pub record: unsafe extern "C" fn(Opaque, *mut u64) -> i32,
    pub wait: unsafe extern "C" fn(Opaque, u64) -> i32,
    pub finish: unsafe extern "C" fn(Opaque, u64) -> i32,
    pub check: unsafe extern "C" fn(Opaque, *const c_void, u64) -> i32,
    pub failed_check: unsafe extern "C" fn(Opaque, *mut FailedCheck) -> i32,
}

/// `cw_segment_functions`. The header says what they do.
#[allow(missing_docs)]
#[derive(Debug)]
#[repr(C)]
pub struct RawSegmentFunctions {
    pub build: unsafe extern "C" fn(Opaque, *const RawParts, *mut Opaque) -> i32,
    pub run: unsafe extern "C" fn(Opaque, Opaque) -> i32,
    pub release: unsafe extern "C" fn(Opaque, Opaque),
}

/// `CW_NODE_...`: the work of a node.
pub mod node {
    #![allow(missing_docs)]
    pub const LAUNCH: u32 = 0;
    pub const PREPARE: u32 = 1;
    pub const JOIN: u32 = 2;
    pub const CHECK: u32 = 3;
}

/// `cw_node`. The header says what its fields mean.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawNode {
    pub kind: u32,
    pub row: u32,
    pub params: u32,
    pub after_count: u32,
    pub launch: *const RawLaunch,
    pub units: u64,
    pub block: *mut c_void,
    pub after: *const u32,
}

/// `CW_RANGE_...`: the contents of a range outside of its segment.
pub mod range {
    #![allow(missing_docs)]
    pub const INPUT: u64 = 1;
    pub const OUTPUT: u64 = 2;
    pub const CHECKED: u64 = 4;
}

/// `cw_range`. The header says what its fields mean.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawRange {
    pub at: *mut c_void,
    pub bytes: u64,
    pub first: u32,
    pub last: u32,
    pub flags: u64,
}

/// `cw_segment_parts`.
#[allow(missing_docs)]
#[derive(Debug)]
#[repr(C)]
pub struct RawParts {
    pub nodes: *const RawNode,
    pub node_count: u64,
    pub ranges: *const RawRange,
    pub range_count: u64,
}

// SAFETY: a table is plain data that lives as long as the process.
unsafe impl Send for RawDriver {}
// SAFETY: as above; its functions may be called by any thread.
unsafe impl Sync for RawDriver {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    unsafe extern "C" {
        fn cw_device_layout(count: *mut u64) -> *const u64;
    }

    /// The part of the layout that is of segments.
    fn of_segments() -> Vec<usize> {
        vec![
            size_of::<RawSegmentFunctions>(),
            offset_of!(RawSegmentFunctions, build),
            offset_of!(RawSegmentFunctions, run),
            offset_of!(RawSegmentFunctions, release),
            node::LAUNCH as usize,
            node::PREPARE as usize,
            node::JOIN as usize,
            node::CHECK as usize,
            size_of::<RawNode>(),
            offset_of!(RawNode, kind),
            offset_of!(RawNode, row),
            offset_of!(RawNode, params),
            offset_of!(RawNode, after_count),
            offset_of!(RawNode, launch),
            offset_of!(RawNode, units),
            offset_of!(RawNode, block),
            offset_of!(RawNode, after),
            range::INPUT as usize,
            range::OUTPUT as usize,
            range::CHECKED as usize,
            size_of::<RawRange>(),
            offset_of!(RawRange, at),
            offset_of!(RawRange, bytes),
            offset_of!(RawRange, first),
            offset_of!(RawRange, last),
            offset_of!(RawRange, flags),
            size_of::<RawParts>(),
            offset_of!(RawParts, nodes),
            offset_of!(RawParts, node_count),
            offset_of!(RawParts, ranges),
            offset_of!(RawParts, range_count),
        ]
    }

    #[test]
    fn c_and_rust_agree_on_every_size_and_offset() {
        // The library with the function is linked by the crate whose rows are C's.
        assert!(!cloakwork_kernels::kernels().is_empty());
        let mut count = 0;
        // SAFETY: the function returns a constant array and writes its length.
        let layout = unsafe {
            let first = cw_device_layout(&raw mut count);
            std::slice::from_raw_parts(first, count as usize)
        };
        let expected = [
            ABI as usize,
            size_of::<Costs>(),
            offset_of!(Costs, launch_ns),
            offset_of!(Costs, transfer_ns),
            offset_of!(Costs, upload_bytes_per_us),
            offset_of!(Costs, download_bytes_per_us),
            offset_of!(Costs, memory_bytes_per_us),
            offset_of!(Costs, operations_per_us),
            Capabilities::HOST_MEMORY.0 as usize,
            Capabilities::FUSES.0 as usize,
            Capabilities::LIMB_MAJOR.0 as usize,
            Capabilities::SEGMENTS.0 as usize,
            size_of::<RawDriver>(),
            offset_of!(RawDriver, abi),
            offset_of!(RawDriver, struct_bytes),
            offset_of!(RawDriver, name),
            offset_of!(RawDriver, capabilities),
            offset_of!(RawDriver, costs),
            offset_of!(RawDriver, count),
            offset_of!(RawDriver, kernels),
            offset_of!(RawDriver, features),
            offset_of!(RawDriver, functions),
            offset_of!(RawDriver, segments),
            size_of::<RawFunctions>(),
            offset_of!(RawFunctions, open),
            offset_of!(RawFunctions, close),
            offset_of!(RawFunctions, reason),
            offset_of!(RawFunctions, allocate),
            offset_of!(RawFunctions, release),
            offset_of!(RawFunctions, open_queue),
            offset_of!(RawFunctions, close_queue),
            offset_of!(RawFunctions, upload),
            offset_of!(RawFunctions, download),
            offset_of!(RawFunctions, launch),
            offset_of!(RawFunctions, prepare),
            offset_of!(RawFunctions, record),
            offset_of!(RawFunctions, wait),
            offset_of!(RawFunctions, finish),
            offset_of!(RawFunctions, check),
            offset_of!(RawFunctions, failed_check),
            WRONG_CONTENTS as usize,
            DEVICE_LOST as usize,
            size_of::<FailedCheck>(),
            offset_of!(FailedCheck, check),
            offset_of!(FailedCheck, status),
        ];
        let layout: Vec<usize> = layout.iter().map(|&word| word as usize).collect();
        assert_eq!(layout, [&expected[..], &of_segments()].concat());
    }
}
