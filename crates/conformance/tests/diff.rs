//! The first step that differs is named, whatever is wrong with a device.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod planted;

use cloakwork_conformance::{
    Comparing, Comparison, Difference, Inputs, Place, Shows, Side, diff, inputs,
};
use cloakwork_csrc as _;
use cloakwork_devices::Drivers;
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_verify::{Verified, verify};
use std::sync::Arc;

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

fn compared(source: &str, drivers: Drivers) -> Comparison {
    compared_by(source, drivers, |_| {})
}

fn compared_by(source: &str, drivers: Drivers, change: fn(&mut Comparing)) -> Comparison {
    let verified = verified(source);
    let given: Inputs = inputs(verified.program(), |i| i as i64 * 31 % 997);
    let device = Side {
        drivers,
        ..Side::new(Device::Sim(0), best_isa())
    };
    let mut comparing = Comparing::new(device, Side::new(Device::Cpu, best_isa()));
    change(&mut comparing);
    let found = diff(&verified, &given, &comparing, &mut || true);
    found.unwrap_or_else(|error| panic!("{error}"))
}

fn difference(source: &str, drivers: Drivers) -> Difference {
    let found = compared(source, drivers);
    found
        .difference
        .unwrap_or_else(|| panic!("no difference in {} steps", found.compared))
}

/// A program of sums and products, some of transposed operands.
fn chain(size: u64, modulus: i64) -> String {
    format!(
        "segment \"first\" {{
           %a = host_to_device input \"a\" i64[{size}, 4]
           %t = transpose %a, [1, 0]
           %b = empty [4, {size}], i64
           %b = _modsum_ttc %t, %t, 97, %b
           %c = empty [4, {size}], i64
           %c = _modmul_ttc %b, %t, 193, %c
         }}
         segment \"second\" {{
           %d = empty [4, {size}], i64
           %d = _modmul_ttc %c, %b, {modulus}, %d
           %e = empty [4, {size}], i64
           %e = _modsum_ttc %d, %c, 12289, %e
           device_to_host %e -> output \"e\"
         }}"
    )
}

#[test]
fn a_right_device_differs_nowhere() {
    let found = compared(&chain(250, 7681), Drivers::default());
    assert!(found.difference.is_none(), "{:?}", found.difference);
    assert_eq!((found.compared, found.rounded, found.windows), (4, 0, 1));
}

#[test]
fn one_wrong_element_at_one_size_is_named_with_its_step_segment_and_index() {
    assert!(
        compared(&chain(249, 7681), planted::wrong_element())
            .difference
            .is_none()
    );
    let found = difference(&chain(250, 7681), planted::wrong_element());
    assert_eq!(
        (found.op.as_str(), found.name.as_str()),
        ("_modmul_ttc", "c")
    );
    assert_eq!(found.segment.as_deref(), Some("first"));
    assert_eq!((found.shows, found.place), (Shows::Alone, Place::Result));
    let unequal = found.unequal.unwrap();
    assert_eq!((unequal.got.as_str(), unequal.different), ("-77", 1));
    assert_eq!(unequal.total, 1000);
    assert_eq!((found.wrong_runs, found.runs), (5, 5));
    assert!(
        found
            .kernels
            .iter()
            .all(|kernel| kernel.starts_with("modmul_i64"))
    );
    assert_eq!(found.kernels.len(), 1);
}

#[test]
fn a_wrong_stride_is_named_at_the_step_that_reads_by_it() {
    let found = difference(&chain(30, 7681), planted::wrong_stride());
    assert_eq!(
        (found.op.as_str(), found.name.as_str()),
        ("_modsum_ttc", "b")
    );
    assert_eq!(found.shows, Shows::Alone);
    assert!(found.unequal.unwrap().different > 50);
}

#[test]
fn a_modulus_above_2_to_the_31_is_named_at_the_step_that_has_it() {
    let found = difference(&chain(8, 4_293_918_721), planted::large_modulus());
    assert_eq!(
        (found.name.as_str(), found.segment.as_deref()),
        ("d", Some("second"))
    );
    assert_eq!(found.unequal.unwrap().index, [0, 0]);
}

#[test]
fn a_race_is_said_to_be_intermittent() {
    let found = difference(&chain(2000, 7681), planted::race());
    assert!(found.wrong_runs > 0, "{found:?}");
    assert!(!found.op.is_empty(), "{found:?}");
}

#[test]
fn memory_that_is_given_out_twice_is_named() {
    let found = difference(&chain(30, 7681), planted::lifetime());
    assert!(!found.op.is_empty(), "{found:?}");
    assert!(matches!(found.shows, Shows::Together { .. }), "{found:?}");
}

#[test]
fn the_dumped_step_is_a_program_that_shows_the_difference_again() {
    let found = difference(&chain(250, 7681), planted::wrong_element());
    let source = text::print(&found.program);
    assert_eq!(source.matches("_modmul_ttc").count(), 1, "{source}");
    assert!(!source.contains("input"), "{source}");
    let again = difference(&source, planted::wrong_element());
    assert_eq!(again.unequal, found.unequal);
    assert!(compared(&source, Drivers::default()).difference.is_none());
}

#[test]
fn a_program_is_compared_window_by_window_if_its_results_are_large() {
    let narrow = |comparing: &mut Comparing| comparing.window_bytes = 1;
    let found = compared_by(&chain(250, 7681), Drivers::default(), narrow);
    assert!(found.difference.is_none() && found.windows > 4);
    let found = compared_by(&chain(250, 7681), planted::wrong_element(), narrow);
    assert_eq!(found.difference.unwrap().name, "c");
}
