//! The device through its table, as the executor uses it.
#![allow(clippy::unwrap_used)]

use super::driver;
use super::table::TABLE;
use crate::{Driver, RawDriver};
use cloakwork_ir::DType;
use cloakwork_kernels::{Isa, LaunchShape, RawKernelRow, RawLaunch, host_table};
use std::ffi::{CStr, c_void};

const COUNT: usize = 1000;

/// c = a + b over i64 in the device's memory, `times` times.
fn sums(times: usize) -> Vec<i64> {
    let device = driver().open(0).unwrap();
    let memory = device.allocate(3 * 8 * COUNT as u64).unwrap();
    let (mut compute, mut moves) = (device.queue().unwrap(), device.queue().unwrap());
    let place = |index: usize| memory.address().wrapping_byte_add(index * 8 * COUNT);
    let values: Vec<i64> = (0..COUNT as i64).collect();
    let bytes = 8 * COUNT as u64;
    for operand in [1, 2] {
        // SAFETY: both have so many bytes, and live to the end.
        unsafe { moves.upload(place(operand), values.as_ptr().cast(), bytes) }.unwrap();
    }
    let uploaded = moves.record().unwrap();
    compute.wait(uploaded).unwrap();
    let row = driver().select(0, ("add", [DType::I64; 2]), Isa::PORTABLE);
    let row = row.unwrap();
    let shape = LaunchShape {
        dims: &[COUNT as i64],
        strides: &[1, 1, 1],
        params: &[0],
    };
    for time in 0..times {
        let other = if time == 0 { 2 } else { 0 };
        let data: [*mut c_void; 3] = [place(0), place(1), place(other)];
        let launch = RawLaunch::new(&shape, &data, std::ptr::null());
        // SAFETY: the operands are the device's, as large as the launch.
        unsafe { compute.launch(row, (&launch, 1), COUNT as u64) }.unwrap();
    }
    let computed = compute.record().unwrap();
    moves.wait(computed).unwrap();
    let mut result = vec![0i64; COUNT];
    // SAFETY: as above.
    unsafe { moves.download(result.as_mut_ptr().cast(), place(0), bytes) }.unwrap();
    let done = moves.record().unwrap();
    moves.finish(done).unwrap();
    result
}

#[test]
fn queues_keep_their_order_and_wait_for_one_another() {
    for times in [1, 2, 20] {
        let expected: Vec<i64> = (0..COUNT as i64).map(|i| i * (times as i64 + 1)).collect();
        assert_eq!(sums(times), expected);
    }
}

#[test]
fn its_addresses_are_no_memory_of_the_host() {
    let device = driver().open(0).unwrap();
    let memory = device.allocate(64).unwrap();
    assert!(
        memory.address() as usize >> 47 != 0,
        "a pointer may look like this"
    );
}

#[test]
fn what_leaves_an_allocation_is_refused_in_words() {
    let device = driver().open(0).unwrap();
    let memory = device.allocate(64).unwrap();
    let mut queue = device.queue().unwrap();
    let bytes = [0u8; 65];
    // SAFETY: the driver refuses what it does not have.
    unsafe { queue.upload(memory.address(), bytes.as_ptr().cast(), 65) }.unwrap();
    let event = queue.record().unwrap();
    let text = queue.finish(event).unwrap_err().to_string();
    assert!(
        text.starts_with("sim:0: cannot finish what it was given: 65 bytes at"),
        "{text}"
    );
    let text = device.allocate(1 << 60).unwrap_err().to_string();
    assert!(
        text.contains("out of memory: 1152921504606846976 bytes requested"),
        "{text}"
    );
}

/// What devices of the made-up driver differ in.
const MATRIX_UNITS: u64 = 1 << Isa::FIRST_OWN;

unsafe extern "C" fn three_rows(count: *mut u64) -> *const RawKernelRow {
    let is_add = |row: &&RawKernelRow| {
        // SAFETY: names of the table are texts.
        let symbol = unsafe { CStr::from_ptr(row.symbol) };
        symbol == c"add_i64_portable"
    };
    let portable = host_table().iter().find(is_add).unwrap();
    let row = |symbol: &'static CStr, needs, preference| RawKernelRow {
        symbol: symbol.as_ptr(),
        needs,
        preference,
        ..*portable
    };
    let rows = vec![
        row(c"plain", 0, 0),
        row(c"vector", Isa::AVX2.bits(), 1),
        row(c"matrix", MATRIX_UNITS, 2),
    ];
    // SAFETY: the caller has a number there.
    unsafe { *count = rows.len() as u64 };
    rows.leak().as_ptr()
}

unsafe extern "C" fn units_on_device_one(index: u32) -> u64 {
    Isa::AVX2.bits() | if index == 1 { MATRIX_UNITS } else { 0 }
}

#[test]
fn a_device_runs_the_rows_whose_needs_it_has_and_plans_withhold_features_of_processors_alone() {
    let raw = Box::leak(Box::new(RawDriver {
        kernels: three_rows,
        features: units_on_device_one,
        ..TABLE
    }));
    // SAFETY: the table is the simulated one's but for what the test does not call.
    let driver = unsafe { Driver::new(raw) }.unwrap();
    let chosen = |index, isa| {
        let row = driver.select(index, ("add", [DType::I64; 2]), isa);
        row.unwrap().symbol
    };
    assert_eq!(chosen(0, Isa::AVX512), "vector");
    assert_eq!(chosen(0, Isa::NEON), "plain");
    assert_eq!(chosen(1, Isa::AVX512), "matrix");
    assert_eq!(chosen(1, Isa::PORTABLE), "matrix");
}
