//! `disk`: memory alone, in files that the process maps. What is there the processor computes.

use crate::abi::{ABI, Capabilities, Costs, RawDriver};
use crate::{Driver, driver};
use cloakwork_kernels::RawKernelRow;
use cloakwork_process::Once;

/// Steps that ran together would bring all that they touch into memory at once: it does not fuse.
/// A disk moves about a gigabyte a second.
static TABLE: RawDriver = RawDriver {
    abi: ABI,
    struct_bytes: size_of::<RawDriver>() as u32,
    name: c"disk".as_ptr(),
    capabilities: Capabilities::HOST_MEMORY.and(Capabilities::LIMB_MAJOR),
    costs: Costs {
        upload_bytes_per_us: 1_000,
        download_bytes_per_us: 1_000,
        ..Costs::NONE
    },
    count: crate::abi::any,
    kernels,
    features,
    functions: std::ptr::null(),
    segments: std::ptr::null(),
};

unsafe extern "C" fn kernels(count: *mut u64) -> *const RawKernelRow {
    // SAFETY: the caller has a number there.
    unsafe { *count = 0 };
    std::ptr::null()
}

unsafe extern "C" fn features(_index: u32) -> u64 {
    0
}

/// The driver.
pub fn driver() -> &'static Driver {
    static DRIVER: Once<Driver> = Once::new();
    DRIVER.get_or_init(|| driver::own(&TABLE, None))
}
