//! Tables that drivers may have, and the devices that they make.

use cloakwork_csrc as _;
use cloakwork_devices::{Capabilities, Costs, Driver, Drivers, Opaque, RawDriver, RawFunctions};
use cloakwork_ir::{DType, Device};
use cloakwork_kernels::Isa;
use std::collections::BTreeSet;
use std::ffi::c_char;

fn sim() -> &'static Driver {
    Drivers::default().of(Device::Sim(0)).0
}

fn cpu() -> &'static Driver {
    Drivers::default().of(Device::Cpu).0
}

#[test]
fn a_table_that_contradicts_itself_is_refused_in_words() {
    let refused = |driver: &Driver, can| {
        let varied = driver.varied(Costs::NONE, can, BTreeSet::new());
        varied.map_or_else(|error| error.to_string(), |_| String::new())
    };
    let text = refused(sim(), Capabilities::HOST_MEMORY);
    let both = "expected functions, or memory of the host, and not both";
    assert_eq!(text, format!("driver `sim`: {both}"));
    let text = refused(cpu(), Capabilities::NONE);
    assert_eq!(text, format!("driver `cpu`: {both}"));
    let text = refused(sim(), Capabilities::FUSES);
    assert!(text.contains("where launches are fused"), "{text}");
    assert_eq!(refused(sim(), Capabilities::LIMB_MAJOR), "");
    let segments = Capabilities::SEGMENTS;
    assert_eq!(refused(sim(), segments), "");
    let text = refused(cpu(), Capabilities::HOST_MEMORY.and(segments));
    assert!(text.contains("expected functions of segments"), "{text}");
}

#[test]
fn a_table_has_functions_of_segments_where_it_names_their_capability() {
    let own = sim().table();
    let made = |segments, capabilities| {
        let table = RawDriver {
            capabilities,
            segments,
            ..*own
        };
        // SAFETY: the functions are those of `sim`, which keep the contract.
        let driver = unsafe { Driver::new(Box::leak(Box::new(table))) };
        driver.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(made(own.segments, own.capabilities), "");
    assert_eq!(made(std::ptr::null(), Capabilities::NONE), "");
    let text = made(std::ptr::null(), own.capabilities);
    assert!(
        text.contains("functions of segments, which its capabilities name"),
        "{text}"
    );
    let text = made(own.segments, Capabilities::NONE);
    assert!(
        text.contains("a capability for its functions of segments"),
        "{text}"
    );
}

#[test]
fn costs_add_what_a_thing_takes_beside_its_bytes() {
    let costs = Costs {
        launch_ns: 5,
        transfer_ns: 7,
        upload_bytes_per_us: 1000,
        download_bytes_per_us: 500,
        memory_bytes_per_us: 8000,
        operations_per_us: 1000,
    };
    assert_eq!((costs.upload_ns(10), costs.download_ns(10)), (17, 27));
    assert_eq!(
        (costs.launch_ns(10, 800), costs.launch_ns(200, 800)),
        (105, 205)
    );
    assert_eq!(Costs::NONE.launch_ns(1 << 40, 1 << 40), 0);
}

#[test]
fn kernels_that_a_driver_is_varied_to_lack_are_not_selected() {
    let add = |driver: &Driver| {
        let add = ("add", [DType::I64; 2]);
        driver.select(0, add, Isa::PORTABLE).is_some()
    };
    let lacks = BTreeSet::from(["add".to_owned()]);
    let varied = sim().varied(Costs::NONE, Capabilities::NONE, lacks);
    assert!(add(sim()) && varied.is_ok_and(|varied| !add(&varied)));
}

#[test]
fn programs_run_on_devices_by_drivers_of_their_own() {
    let drivers = Drivers::default();
    for device in [Device::Cpu, Device::Sim(7)] {
        assert!(drivers.run_on(device), "{device}");
    }
    for device in [Device::Gpu(0), Device::Disk(0)] {
        assert!(!drivers.run_on(device), "{device}");
    }
    let text = cpu()
        .open(0)
        .map_or_else(|error| error.to_string(), |_| String::new());
    assert_eq!(
        text,
        "cpu:0: cannot open the device: its memory is the host's"
    );
}

/// A device that does not open, but says why.
unsafe extern "C" fn open_for_reason(_index: u32, to: *mut Opaque) -> i32 {
    // SAFETY: the caller has a pointer there; nothing follows this one but `say` and `close`.
    unsafe { *to = std::ptr::dangling_mut::<u8>().cast() };
    7
}

unsafe extern "C" fn open_for_nothing(_index: u32, _to: *mut Opaque) -> i32 {
    7
}

unsafe extern "C" fn say(_device: Opaque, text: *mut c_char, bytes: u64) {
    let words = c"the chip is on fire".to_bytes_with_nul();
    assert!(bytes as usize >= words.len());
    // SAFETY: the caller has so many bytes there.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast(), text, words.len()) };
}

unsafe extern "C" fn close(_device: Opaque) {}

#[test]
fn a_device_that_does_not_open_says_why_or_gives_its_number() {
    let text = |open| {
        // SAFETY: a driver with memory of its own has functions.
        let own = unsafe { &*sim().table().functions };
        let functions = RawFunctions {
            open,
            reason: say,
            close,
            ..*own
        };
        let table = RawDriver {
            functions: Box::leak(Box::new(functions)),
            ..*sim().table()
        };
        // SAFETY: the other functions are those of `sim`, which keep the contract.
        let driver = unsafe { Driver::new(Box::leak(Box::new(table))) }.unwrap();
        let opened = Box::leak(Box::new(driver)).open(3);
        opened.map_or_else(|error| error.to_string(), |_| String::new())
    };
    let refused = "sim:3: cannot open the device: ";
    assert_eq!(
        text(open_for_reason),
        format!("{refused}the chip is on fire")
    );
    assert_eq!(text(open_for_nothing), format!("{refused}error 7"));
}
