//! One long step on several equal devices: its parts give the same bytes, move nothing between
//! steps that are cut alike, and are made only where the run ends earlier.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_passes::Extent;
use cloakwork_plan::{Options, Plan, Way, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions, coverage};
use cloakwork_testing::{Inputs, inputs, programs_without_devices};
use cloakwork_verify::{Action, Verified, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const FOUR: [Device; 4] = [
    Device::Sim(0),
    Device::Sim(1),
    Device::Sim(2),
    Device::Sim(3),
];

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

fn planned(verified: &Arc<Verified>, devices: &[Device], divide: Extent) -> Arc<Plan> {
    let options = Options {
        device: devices[0],
        peers: devices[1..].to_vec(),
        divide,
        ..Options::new(best_isa(), 2)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}")))
}

fn run(plan: &Arc<Plan>, inputs: &Inputs) -> Result<Vec<Vec<i64>>, String> {
    let mut executor = Executor::new(Arc::clone(plan)).unwrap();
    let mut last = Ok(Vec::new());
    // The second run submits segments.
    for _ in 0..2 {
        last = match executor.run(inputs, &RunOptions::default(), &mut |_| true) {
            Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
            Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
            Err(other) => panic!("{other}\n{plan}"),
        };
    }
    last
}

/// How many calls of each op each step of the program as written makes.
fn calls(plan: &Plan) -> BTreeMap<(u32, &'static str), usize> {
    let mut calls = BTreeMap::new();
    for (step, action) in plan.verified.actions() {
        if let Action::Kernel { call, .. } = action {
            let own = (plan.program_step(*step), call.def.name);
            *calls.entry(own).or_default() += 1;
        }
    }
    calls
}

#[test]
fn random_programs_give_the_same_bytes_with_every_step_in_parts_that_can_be() {
    let mut ops: BTreeSet<&str> = BTreeSet::new();
    for (number, verified) in programs_without_devices(23_000).take(400) {
        let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
        let devices = &FOUR[..2 + number as usize % 3];
        let there = planned(&verified, devices, Extent::Everywhere);
        if there.divided == 0 {
            continue;
        }
        let alone = planned(&verified, &[Device::Cpu], Extent::WherePaid);
        let before = calls(&alone);
        let more = calls(&there).into_iter();
        let more = more.filter(|(own, count)| before.get(own).is_some_and(|one| one < count));
        ops.extend(more.map(|((_, op), _)| op));
        let expected = run(&alone, &inputs);
        let source = text::print(verified.program());
        let parts = text::print(there.verified.program());
        assert_eq!(
            run(&there, &inputs),
            expected,
            "{number}\n{source}\n{parts}\n{there}"
        );
    }
    let cut = [
        "add",
        "axis_modsum",
        "base_convert",
        "field_ntt",
        "intt",
        "modmul",
        "msm",
        "ntt",
    ];
    let missing: Vec<&str> = cut.into_iter().filter(|op| !ops.contains(op)).collect();
    assert!(
        missing.is_empty(),
        "{missing:?} were never cut, but {ops:?}"
    );
}

/// Transforms of rows, their squares, and back.
fn transforms([rows, length]: [u64; 2], chains: u64) -> Arc<Verified> {
    let mut source = String::new();
    for i in 0..chains {
        source += &format!(
            "%a{i} = host_to_device input \"a{i}\" babybear[{rows}, {length}]\n\
             %b{i} = empty [{rows}, {length}], babybear\n\
             %b{i} = field_ntt %a{i}, 0, none, 1, %b{i}\n\
             %b{i} = multiply %b{i}, %b{i}, %b{i}\n\
             %c{i} = empty [{rows}, {length}], babybear\n\
             %c{i} = field_ntt %b{i}, 1, none, 1, %c{i}\n\
             device_to_host %c{i} -> output \"c{i}\"\n"
        );
    }
    verified(&source)
}

fn moved(plan: &Plan, way: Way) -> (usize, u64) {
    let steps = plan.steps.iter().zip(&plan.costs);
    let moves = steps.filter(|(step, _)| matches!(step.work, Work::Transfer(own) if own == way));
    moves.fold((0, 0), |(count, bytes), (_, cost)| {
        (count + 1, bytes + cost.bytes)
    })
}

#[test]
fn steps_that_are_cut_alike_move_nothing_between_them_and_inputs_and_results_once() {
    let verified = transforms([8, 4096], 1);
    let plan = planned(&verified, &FOUR, Extent::Everywhere);
    assert_eq!(plan.divided, 3, "{plan}");
    let text = plan.to_string();
    let line = "3 steps in parts on sim:0, sim:1, sim:2, sim:3\n";
    assert!(text.contains(line), "{text}");
    let bytes = 8 * 4096 * 4;
    assert_eq!(moved(&plan, Way::Upload), (4, bytes), "{plan}");
    assert_eq!(moved(&plan, Way::Download), (4, bytes), "{plan}");
    let table = coverage::table(&plan, None);
    assert_eq!(table["runs"]["device"], 3, "{table}");
    assert!(table["runs"]["expansion"].is_null(), "{table}");
    let given = inputs(verified.program(), |i| i as i64 % 1000);
    let alone = planned(&verified, &[Device::Cpu], Extent::WherePaid);
    assert_eq!(run(&plan, &given), run(&alone, &given));
}

#[test]
fn steps_are_divided_where_the_run_ends_earlier() {
    let divided = |dims, chains, count: usize| {
        let verified = transforms(dims, chains);
        planned(&verified, &FOUR[..count], Extent::WherePaid).divided
    };
    assert_eq!(divided([512, 4096], 1, 4), 3);
    assert_eq!(divided([512, 4096], 1, 1), 0);
    // Too short, and: each device has a chain of its own.
    assert_eq!(divided([4, 64], 1, 4), 0);
    assert_eq!(divided([512, 4096], 4, 4), 0);
}

#[test]
fn a_tensor_in_parts_is_whole_for_steps_that_cannot_be_cut_alike() {
    let source = r#"
%a = host_to_device input "a" i64[8, 6]
%b = empty [8, 6], i64
%b = _modmul_tcc %a, 3, 1000003, %b
%s = get_slice %b, [2:5:1, 0:6:1]
%d = empty [3, 6], i64
%d = _modmul_tcc %s, 5, 1000003, %d
%b = _modmul_tcc %b, 7, 1000003, %b
%f = empty [8, 6], i64
%f = sort %b, 1, 0, %f
%e = empty [8, 6], i64
%e = _modmul_ttc %b, %f, 1000003, %e
device_to_host %d -> output "d"
device_to_host %e -> output "e"
device_to_host %b -> output "b"
"#;
    let verified = verified(source);
    let plan = planned(&verified, &FOUR[..3], Extent::Everywhere);
    assert!(plan.divided >= 3, "{plan}");
    let given = inputs(verified.program(), |i| i as i64 * 31 % 100_000);
    let alone = planned(&verified, &[Device::Cpu], Extent::WherePaid);
    assert_eq!(run(&plan, &given), run(&alone, &given), "{plan}");
}
