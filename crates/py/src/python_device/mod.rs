//! Devices whose kernels are Python's: a class with a method per kernel.
//!
//! Its memory, queues and events are here and never take the interpreter's lock; a launch takes it
//! while its method runs. Each call is done when it returns.

mod call;
mod method;
mod table;

use crate::drivers;
use cloakwork_devices::{Capabilities, Costs, Driver, RawDriver, register};
use cloakwork_ir::{DType, DriverName};
use cloakwork_kernels::{KernelRow, RawKernelRow, kernels};
use cloakwork_process::Mutex;
use method::Method;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ffi::{CString, c_char};
use std::ptr::null;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A driver: what its functions need to know.
pub(super) struct Slot {
    rows: Vec<RawKernelRow>,
    methods: Vec<Method>,
    devices: u32,
}

/// The most drivers of a process: the functions of a table have no argument that says whose they
/// are, so that each driver has its own.
const MOST: usize = 32;
static SLOTS: [AtomicPtr<Slot>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
/// Held while a driver is added.
static ADDING: Mutex<()> = Mutex::new(());

/// The driver of a table's functions.
fn slot(number: usize) -> Option<&'static Slot> {
    // SAFETY: null, or a slot that lives as long as the process.
    unsafe { SLOTS[number].load(Ordering::Acquire).as_ref() }
}

unsafe extern "C" fn rows_of<const N: usize>(count: *mut u64) -> *const RawKernelRow {
    let rows = slot(N).map_or(&[][..], |slot| &slot.rows);
    // SAFETY: the caller has a number there.
    unsafe { *count = rows.len() as u64 };
    rows.as_ptr()
}

unsafe extern "C" fn count_of<const N: usize>() -> u32 {
    slot(N).map_or(0, |slot| slot.devices)
}

unsafe extern "C" fn no_features(_index: u32) -> u64 {
    0
}

/// A text of a table: they live as long as the process. Names of Python have no zero inside.
fn text(name: &str) -> *const c_char {
    let name = CString::new(name).unwrap_or_default();
    name.into_raw().cast_const()
}

/// The table of driver N but for its name.
fn table_of<const N: usize>() -> RawDriver {
    RawDriver {
        abi: cloakwork_devices::ABI,
        struct_bytes: size_of::<RawDriver>() as u32,
        name: null(),
        capabilities: Capabilities::NONE,
        costs: Costs::NONE,
        count: count_of::<N>,
        kernels: rows_of::<N>,
        features: no_features,
        functions: Box::leak(Box::new(table::functions::<N>())),
        segments: null(),
    }
}

macro_rules! tables {
    ($($number:literal)*) => { [$(table_of::<$number>),*] };
}
const TABLES: [fn() -> RawDriver; MOST] = tables![
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
];

/// A kernel, and the types and bytes of an element of one of its rows.
type RowFacts = (
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    u32,
);

/// The kernels of the processor, which are those that a device may have, with the names of their
/// dtypes (None: any of so many bytes).
#[pyfunction]
pub fn kernel_types() -> Vec<RowFacts> {
    let name = |dtype: Option<DType>| dtype.map(DType::name);
    let facts = |row: &KernelRow| {
        let types = (name(row.in_dtype), name(row.out_dtype));
        (row.kernel, types.0, types.1, row.element_bytes)
    };
    let mut found: Vec<RowFacts> = kernels().iter().map(facts).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A kernel, its symbol, the dtypes of its row (empty: any of so many bytes), and its method.
type RowGiven<'py> = (String, String, [String; 2], u32, Method);

fn row_of((kernel, symbol, dtypes, element_bytes, _): &RowGiven) -> RawKernelRow {
    let number = |name: &String| DType::from_name(name).map_or(0, |dtype| dtype.number().into());
    RawKernelRow {
        kernel: text(kernel),
        symbol: text(symbol),
        needs: 0,
        in_dtype: number(&dtypes[0]),
        out_dtype: number(&dtypes[1]),
        element_bytes: *element_bytes,
        constant_operands: 0,
        prepared_axis: 0,
        preference: 0,
        // Launches go to methods.
        run: None,
        scratch_bytes: None,
        prepared_bytes: None,
        prepare: None,
    }
}

/// Makes the devices of a Python driver known by its name.
#[pyfunction]
pub fn register_python_driver(
    name: &str,
    devices: u32,
    rows: Vec<RowGiven<'_>>,
) -> PyResult<&'static str> {
    let _adding = ADDING.lock();
    let free = SLOTS
        .iter()
        .position(|slot| slot.load(Ordering::Acquire).is_null());
    let full = || PyRuntimeError::new_err(format!("{MOST} classes are drivers: no more fit"));
    let free = free.ok_or_else(full)?;
    let slot = Slot {
        rows: rows.iter().map(row_of).collect(),
        methods: rows.into_iter().map(|(.., method)| method).collect(),
        devices,
    };
    SLOTS[free].store(Box::leak(Box::new(slot)), Ordering::Release);
    let table = RawDriver {
        name: text(name),
        ..TABLES[free]()
    };
    // SAFETY: the functions of `table.rs` keep the contract; the table lives as long as the
    // process.
    let driver = unsafe { Driver::new(Box::leak(Box::new(table))) };
    let registered = driver.and_then(|driver| register(driver, None));
    registered.map(DriverName::as_str).map_err(|error| {
        SLOTS[free].store(std::ptr::null_mut(), Ordering::Release);
        drivers::refused(&error)
    })
}
