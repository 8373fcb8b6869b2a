//! A right device passes, and each planted mistake is named.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod planted;

use cloakwork_conformance::{Conformance, Shows, Side, Trying, conform, ops_held, sizes};
use cloakwork_csrc as _;
use cloakwork_devices::{Capabilities, Costs, Drivers};
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use std::collections::BTreeSet;
use std::time::Duration;

fn tried(drivers: Drivers, ops: &[&str], rounds: usize) -> Conformance {
    tried_from(7, drivers, ops, rounds)
}

fn tried_from(seed: u64, drivers: Drivers, ops: &[&str], rounds: usize) -> Conformance {
    let device = Side {
        drivers,
        ..Side::new(Device::Sim(0), best_isa())
    };
    let mut trying = Trying {
        device,
        host: Side::new(Device::Cpu, best_isa()),
        seed,
        ops: ops.iter().map(|&op| op.to_owned()).collect(),
        rounds,
        // Never reached, on a busy machine either: the rounds are the end.
        budget: Duration::from_secs(3600),
        speed: false,
        progress: &mut |_| true,
    };
    conform(&mut trying).unwrap_or_else(|error| panic!("{error}"))
}

/// The one failure of an op, as text of its op and its program.
fn failure(drivers: Drivers, op: &str, rounds: usize) -> (Shows, String) {
    let found = tried(drivers, &[op], rounds);
    let failure = found.ops[0]
        .failure
        .as_ref()
        .unwrap_or_else(|| panic!("no failure of {op}"));
    assert!(
        failure.difference.op.contains(op),
        "{}",
        failure.difference.op
    );
    (
        failure.difference.shows,
        text::print(&failure.difference.program),
    )
}

#[test]
fn a_right_device_passes() {
    let found = tried(
        Drivers::default(),
        &["modmul", "sort", "ntt", "take_along_axis"],
        12,
    );
    let names: BTreeSet<&str> = found.ops.iter().map(|op| op.def.name).collect();
    assert_eq!(
        names,
        BTreeSet::from(["modmul", "ntt", "sort", "take_along_axis"])
    );
    for op in &found.ops {
        assert!(op.failure.is_none(), "{}: {:?}", op.def.name, op.failure);
        assert!(op.by_reference + op.by_portable + op.refused >= 4, "{op:?}");
    }
    assert_eq!((found.rounds, found.is_cut), (12, false));
}

#[test]
fn a_device_on_which_everything_costs_more_than_on_the_host_is_tried_all_the_same() {
    let (sim, _) = Drivers::default().of(Device::Sim(0));
    let costs = Costs {
        launch_ns: 1 << 40,
        ..Costs::NONE
    };
    let dear = sim.varied(costs, Capabilities::NONE, BTreeSet::new());
    let dear = Box::leak(Box::new(dear.unwrap()));
    let found = tried(Drivers::default().with_sim(dear), &["modmul", "sort"], 4);
    for op in &found.ops {
        assert!(op.by_reference + op.by_portable >= 2, "{op:?}");
    }
    assert_eq!(found.ops.len(), 2);
}

#[test]
fn random_programs_pass_on_a_right_device() {
    let found = tried(Drivers::default(), &[], 1);
    assert!(
        found.program_failure.is_none(),
        "{:?}",
        found.program_failure
    );
    assert!(found.programs > 1 && found.program_steps > 5);
    let failures = found
        .ops
        .iter()
        .filter_map(|op| Some((op.def.name, op.failure.clone()?)));
    assert_eq!(
        failures.map(|(name, _)| name).collect::<Vec<_>>(),
        [] as [&str; 0]
    );
    assert!(
        found.ops.len() * 10 > ops_held().count() * 8,
        "{}",
        found.ops.len()
    );
}

#[test]
fn one_wrong_element_at_one_size_is_shown_by_a_call_of_that_size() {
    let (shows, program) = failure(planted::wrong_element(), "modmul", 5);
    assert_eq!(shows, Shows::Alone);
    assert!(program.contains("1000]"), "{program}");
}

#[test]
fn one_wrong_element_at_one_size_is_found_whatever_the_seed() {
    let planted: [(i64, fn() -> Drivers); 5] = [
        (1, planted::wrong_at::<1>),
        (29, planted::wrong_at::<29>),
        (64, planted::wrong_at::<64>),
        (257, planted::wrong_at::<257>),
        (4096, planted::wrong_at::<4096>),
    ];
    for seed in 0..10 {
        let (size, drivers) = planted[seed as usize % planted.len()];
        let found = tried_from(seed, drivers(), &["modmul"], 3);
        let failure = found.ops[0].failure.as_ref();
        let failure = failure.unwrap_or_else(|| panic!("seed {seed}: nothing at {size}"));
        let program = text::print(&failure.difference.program);
        assert!(
            size == 1 || program.contains(&format!("{size}]")),
            "{program}"
        );
    }
}

#[test]
fn every_kernel_of_elements_is_tried_at_every_size() {
    let found = tried(
        Drivers::default(),
        &["modmul", "modsum", "sum", "g_decomp"],
        3,
    );
    let whole = |kernel: &str| {
        let mut sizes = found.sizes.iter();
        sizes.any(|(symbol, sized)| symbol.starts_with(kernel) && sized.tried == sized.of)
    };
    for kernel in [
        "modmul_i64",
        "modmul_i32",
        "modsum_i64",
        "modsum_i32",
        "sum_i64",
    ] {
        assert!(whole(kernel), "{kernel}: {:?}", found.sizes);
    }
    assert_eq!(sizes().count(), sizes().collect::<BTreeSet<u64>>().len());
}

#[test]
fn a_wrong_stride_is_shown_by_a_strided_operand() {
    let (shows, program) = failure(planted::wrong_stride(), "modsum", 20);
    assert_eq!(shows, Shows::Alone);
    assert!(
        program.contains("slice") || program.contains("strides") || program.contains("fortran"),
        "{program}"
    );
}

#[test]
fn a_modulus_above_2_to_the_31_is_shown_by_one_element() {
    let (_, program) = failure(planted::large_modulus(), "modmul", 30);
    assert!(
        program.contains("i64[1]") || program.contains("i64[]"),
        "{program}"
    );
}

#[test]
fn a_race_and_memory_given_out_twice_fail_in_some_op() {
    for drivers in [planted::race(), planted::lifetime()] {
        let found = tried(drivers, &["modsum", "modmul"], 12);
        assert!(found.ops.iter().any(|op| op.failure.is_some()));
    }
}
