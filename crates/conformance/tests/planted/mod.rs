//! Drivers with one mistake each, made around the table of `sim`.
#![allow(dead_code, clippy::unwrap_used)]

use cloakwork_devices::{Capabilities, Driver, Drivers, Opaque, RawDriver, RawFunctions};
use cloakwork_ir::Device;
use cloakwork_kernels::{RawLaunch, kernels};
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::AtomicU8;

/// `sim` as it is.
fn own() -> &'static RawDriver {
    Drivers::default().of(Device::Sim(0)).0.table()
}

fn inner() -> &'static RawFunctions {
    // SAFETY: the table of `sim` lives as long as the process.
    unsafe { &*own().functions }
}

/// Drivers in which `sim` has these functions, and no segments.
fn with(functions: RawFunctions) -> Drivers {
    let table = RawDriver {
        functions: Box::leak(Box::new(functions)),
        capabilities: Capabilities::LIMB_MAJOR,
        segments: std::ptr::null(),
        ..*own()
    };
    // SAFETY: but for the mistake, the functions keep the contract.
    let driver = unsafe { Driver::new(Box::leak(Box::new(table))) };
    Drivers::default().with_sim(Box::leak(Box::new(driver.unwrap())))
}

/// Writes an element of a launch's result, after the launch.
unsafe fn spoil(queue: Opaque, launch: &RawLaunch, element: usize) -> i32 {
    static WRONG: i64 = -77;
    // SAFETY: the element is one of the result; the word lives as long as the process.
    unsafe {
        let result = *launch.data;
        let to = result.wrapping_byte_add(8 * element);
        (inner().upload)(queue, to, (&raw const WRONG).cast(), 8)
    }
}

unsafe fn dims<'a>(launch: &RawLaunch) -> &'a [i64] {
    // SAFETY: the engine's launch has so many.
    unsafe { std::slice::from_raw_parts(launch.dims, launch.rank as usize) }
}

fn is_of(row: u32, kernel: &str) -> bool {
    kernels()[row as usize].kernel == kernel
}

/// One element of products of 1000 elements is wrong.
pub fn wrong_element() -> Drivers {
    wrong_at::<1000>()
}

/// One element of products of so many elements is wrong, about in the middle.
pub fn wrong_at<const SIZE: i64>() -> Drivers {
    unsafe extern "C" fn launch<const SIZE: i64>(
        queue: Opaque,
        row: u32,
        launch: *const RawLaunch,
        params: u32,
        units: u64,
    ) -> i32 {
        // SAFETY: the engine's arguments, passed on; the element is one of the result.
        unsafe {
            let done = (inner().launch)(queue, row, launch, params, units);
            let is_wide = kernels()[row as usize].symbol.starts_with("modmul_i64");
            match is_wide && dims(&*launch).iter().product::<i64>() == SIZE {
                true => spoil(queue, &*launch, SIZE as usize * 511 / 1000),
                false => done,
            }
        }
    }
    let launch = launch::<SIZE>;
    with(RawFunctions { launch, ..*inner() })
}

/// Sums read their first operand as if it were dense.
pub fn wrong_stride() -> Drivers {
    unsafe extern "C" fn launch(
        queue: Opaque,
        row: u32,
        launch: *const RawLaunch,
        params: u32,
        units: u64,
    ) -> i32 {
        // SAFETY: the engine's arguments; strides of 1 stay inside where greater ones did.
        unsafe {
            let own = &*launch;
            let rank = own.rank as usize;
            let count = own.operands as usize * rank;
            if !is_of(row, "modsum") || rank == 0 {
                return (inner().launch)(queue, row, launch, params, units);
            }
            let mut strides = std::slice::from_raw_parts(own.strides, count).to_vec();
            strides[2 * rank - 1] = strides[2 * rank - 1].min(1);
            let wrong = RawLaunch {
                strides: strides.as_ptr(),
                ..*own
            };
            (inner().launch)(queue, row, &raw const wrong, params, units)
        }
    }
    with(RawFunctions { launch, ..*inner() })
}

/// Products by moduli above 2^31 are wrong in their first element.
pub fn large_modulus() -> Drivers {
    unsafe extern "C" fn launch(
        queue: Opaque,
        row: u32,
        launch: *const RawLaunch,
        params: u32,
        units: u64,
    ) -> i32 {
        // SAFETY: the engine's arguments; the word is there until the queue is past the download.
        unsafe {
            let done = (inner().launch)(queue, row, launch, params, units);
            if done != 0 || !is_of(row, "modmul") || dims(&*launch).contains(&0) {
                return done;
            }
            let (mut modulus, mut event) = (0i64, 0);
            let at = *(*launch).data.add(3);
            (inner().download)(queue, (&raw mut modulus).cast(), at, 8);
            (inner().record)(queue, &raw mut event);
            (inner().finish)(queue, event);
            match modulus > 1 << 31 {
                true => spoil(queue, &*launch, 0),
                false => done,
            }
        }
    }
    with(RawFunctions { launch, ..*inner() })
}

/// Queues do not wait for one another, and uploads are late: a race that nothing lost by luck would
/// show nothing.
pub fn race() -> Drivers {
    /// Commands before an upload. `sim` delays one in four, by a tenth of a millisecond or so.
    const BEFORE: usize = 64;
    unsafe extern "C" fn wait(_: Opaque, _: u64) -> i32 {
        0
    }
    unsafe extern "C" fn upload(
        queue: Opaque,
        to: *mut c_void,
        from: *const c_void,
        bytes: u64,
    ) -> i32 {
        static READ: AtomicU8 = AtomicU8::new(0);
        // SAFETY: the engine's arguments, passed on; the byte that is read lives as long as the
        // process.
        unsafe {
            for _ in 0..if bytes > 0 { BEFORE } else { 0 } {
                (inner().download)(queue, READ.as_ptr().cast(), to, 1);
            }
            (inner().upload)(queue, to, from, bytes)
        }
    }
    with(RawFunctions {
        wait,
        upload,
        ..*inner()
    })
}

/// A block is given out again while it is in use: to the next allocation of its device.
pub fn lifetime() -> Drivers {
    static LAST: Mutex<Vec<(usize, usize, u64)>> = Mutex::new(Vec::new());
    unsafe extern "C" fn allocate(device: Opaque, bytes: u64, at: *mut *mut c_void) -> i32 {
        let mut last = LAST.lock().unwrap();
        let mine = |block: &&(usize, usize, u64)| block.0 == device as usize && block.2 >= bytes;
        if let Some(&(_, address, _)) = last.iter().find(mine)
            && bytes > 0
        {
            // SAFETY: the engine has a pointer there.
            unsafe { *at = std::ptr::without_provenance_mut(address) };
            return 0;
        }
        // SAFETY: the engine's arguments, passed on.
        let done = unsafe { (inner().allocate)(device, bytes, at) };
        // SAFETY: the function has written it.
        last.push((device as usize, unsafe { *at } as usize, bytes));
        done
    }
    unsafe extern "C" fn release(device: Opaque, at: *mut c_void) {
        let mut last = LAST.lock().unwrap();
        let is = |block: &(usize, usize, u64)| block.0 == device as usize && block.1 == at as usize;
        if let Some(place) = last.iter().position(is) {
            last.remove(place);
            // SAFETY: it was allocated there, and its first user is gone.
            unsafe { (inner().release)(device, at) };
        }
    }
    with(RawFunctions {
        allocate,
        release,
        ..*inner()
    })
}
