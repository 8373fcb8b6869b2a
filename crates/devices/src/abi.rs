//! Mirrors of the structs in `device.h`. A test compares sizes and offsets.

use cloakwork_kernels::{RawKernelRow, RawLaunch};
use std::ffi::{c_char, c_void};

/// `CW_DEVICE_ABI`.
pub const ABI: u32 = 2;

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
}

/// A device or a queue of the driver's own.
pub type Opaque = *mut c_void;

/// Moves bytes in a queue: to, from, bytes.
pub type MoveFn = unsafe extern "C" fn(Opaque, *mut c_void, *const c_void, u64) -> i32;

/// `cw_driver`. The header says what its functions do.
#[allow(missing_docs)]
#[derive(Debug)]
#[repr(C)]
pub struct RawDriver {
    pub abi: u32,
    pub struct_bytes: u32,
    pub name: *const c_char,
    pub costs: Costs,
    pub kernels: unsafe extern "C" fn(*mut u64) -> *const RawKernelRow,
    pub features: unsafe extern "C" fn(u32) -> u64,
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
            size_of::<RawDriver>(),
            offset_of!(RawDriver, abi),
            offset_of!(RawDriver, struct_bytes),
            offset_of!(RawDriver, name),
            offset_of!(RawDriver, costs),
            offset_of!(RawDriver, kernels),
            offset_of!(RawDriver, features),
            offset_of!(RawDriver, open),
            offset_of!(RawDriver, close),
            offset_of!(RawDriver, reason),
            offset_of!(RawDriver, allocate),
            offset_of!(RawDriver, release),
            offset_of!(RawDriver, open_queue),
            offset_of!(RawDriver, close_queue),
            offset_of!(RawDriver, upload),
            offset_of!(RawDriver, download),
            offset_of!(RawDriver, launch),
            offset_of!(RawDriver, prepare),
            offset_of!(RawDriver, record),
            offset_of!(RawDriver, wait),
            offset_of!(RawDriver, finish),
        ];
        let layout: Vec<usize> = layout.iter().map(|&word| word as usize).collect();
        assert_eq!(layout, expected);
    }
}
