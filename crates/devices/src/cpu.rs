//! `cpu`: the processor. Its memory is the process's, and the executor calls its kernels itself.

use crate::abi::{ABI, Capabilities, Costs, RawDriver};
use crate::{Driver, driver};
use cloakwork_kernels::{RawKernelRow, host_rows, host_table, processor};
use cloakwork_process::Once;

/// Memory moves at some eight bytes a nanosecond and core; arithmetic takes about one.
static TABLE: RawDriver = RawDriver {
    abi: ABI,
    struct_bytes: size_of::<RawDriver>() as u32,
    name: c"cpu".as_ptr(),
    capabilities: Capabilities::HOST_MEMORY
        .and(Capabilities::FUSES)
        .and(Capabilities::LIMB_MAJOR),
    costs: Costs {
        memory_bytes_per_us: 8_000,
        operations_per_us: 1_000,
        ..Costs::NONE
    },
    count: one,
    kernels: host_kernels,
    features: host_features,
    functions: std::ptr::null(),
    segments: std::ptr::null(),
};

unsafe extern "C" fn one() -> u32 {
    1
}

/// The processor's rows.
pub unsafe extern "C" fn host_kernels(count: *mut u64) -> *const RawKernelRow {
    let table = host_table();
    // SAFETY: the caller has a number there.
    unsafe { *count = table.len() as u64 };
    table.as_ptr()
}

/// The features of the processor.
pub unsafe extern "C" fn host_features(_index: u32) -> u64 {
    processor().bits()
}

/// The driver. Its rows are those of eager calls, which share what they prepare with plans.
pub fn driver() -> &'static Driver {
    static DRIVER: Once<Driver> = Once::new();
    DRIVER.get_or_init(|| driver::own(&TABLE, Some(host_rows())))
}
