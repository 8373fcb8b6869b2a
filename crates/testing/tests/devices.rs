//! Programs give the same bytes on a device whose memory the host cannot touch.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_devices::{Capabilities, Costs, Drivers};
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{HostCall, Options, Plan, PlanError, Task, Way, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions, bisect};
use cloakwork_testing::{Inputs, Source, generate, inputs};
use cloakwork_verify::{Verified, verify};
use std::collections::BTreeSet;
use std::sync::Arc;

type Results = Result<Vec<Vec<i64>>, String>;

fn run(executor: &mut Executor, inputs: &Inputs, profile: bool) -> Results {
    let options = RunOptions {
        profile,
        ..RunOptions::default()
    };
    match executor.run(inputs, &options, &mut |_| true) {
        Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("{other}\n{}", executor.plan()),
    }
}

fn planned(verified: &Arc<Verified>, device: Device) -> Arc<Plan> {
    let options = Options {
        device,
        ..Options::new(best_isa(), 2)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}")))
}

/// Drivers of which `sim` is planned as if it were like this.
fn varied(costs: Costs, capabilities: Capabilities, lacks: BTreeSet<String>) -> Drivers {
    let drivers = Drivers::default();
    let (sim, _) = drivers.of(Device::Sim(0));
    let sim = sim.varied(costs, capabilities, lacks).unwrap();
    drivers.with_sim(Box::leak(Box::new(sim)))
}

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

fn steps(plan: &Plan, is: fn(&Work) -> bool) -> usize {
    plan.steps.iter().filter(|step| is(&step.work)).count()
}

#[test]
fn random_programs_give_the_same_bytes_on_a_device() {
    let mut launched = 0;
    for number in 0..300 {
        let program = Arc::new(generate(&mut Source::from_seed(7_000 + number)));
        let verified = Arc::new(verify(Arc::clone(&program)).verified.unwrap());
        let inputs = inputs(&program, |i| (i as i64 * 7) % 23 - 5);
        let here = planned(&verified, Device::Cpu);
        let expected = run(&mut Executor::new(here).unwrap(), &inputs, false);
        let there = planned(&verified, Device::Sim(0));
        launched += steps(&there, |work| matches!(work, Work::Launch { .. }));
        let mut executor = Executor::new(Arc::clone(&there)).unwrap();
        for profile in [false, true, false] {
            let got = run(&mut executor, &inputs, profile);
            assert_eq!(
                got,
                expected,
                "{number}\n{}\n{there}",
                text::print(&program)
            );
        }
    }
    assert!(launched > 1000, "{launched} launches");
}

const CHAIN: &str = r#"
%a = host_to_device input "a" i64[4096]
%b = empty [4096], i64
%b = _modsum_ttc %a, %a, 1000003, %b
%c = empty [4096], i64
%c = _modsum_ttc %b, %a, 1000003, %c
%d = empty [4096], i64
%d = sort %c, 0, 0, %d
device_to_host %d -> output "d"
device_to_host %b -> output "b"
"#;

#[test]
fn a_chain_uploads_its_input_once_and_waits_as_rarely_as_it_must() {
    let plan = planned(&verified(CHAIN), Device::Sim(0));
    let uploads = steps(&plan, |work| matches!(work, Work::Transfer(Way::Upload)));
    let downloads = steps(&plan, |work| matches!(work, Work::Transfer(Way::Download)));
    assert_eq!((uploads, downloads), (1, 2), "{plan}");
    // Launches wait for the upload, and the last transfers for the last launch.
    assert_eq!(plan.waits.len(), 2, "{plan}");
    assert!(
        plan.to_string()
            .contains("sim:0's queue of launches waits for"),
        "{plan}"
    );
    assert!(plan.graph.is_none() && plan.fusions.is_empty());
}

#[test]
fn what_each_step_wrote_there_is_held_to_references() {
    let verified = verified(CHAIN);
    let inputs = inputs(verified.program(), |i| i as i64 % 500);
    let plan = planned(&verified, Device::Sim(0));
    let mut executor = Executor::new(plan).unwrap();
    let held = bisect(&mut executor, &inputs, &mut |_| true).unwrap();
    assert_eq!(held.wrong, None);
    assert_eq!(held.by_reference, 3);
}

#[test]
fn a_device_holds_no_more_than_its_budget() {
    let options = Options {
        device: Device::Sim(0),
        device_budgets: vec![(Device::Sim(0), 98_304)],
        ..Options::new(best_isa(), 2)
    };
    match plan(verified(CHAIN), &options) {
        Err(PlanError::DeviceBudget { device, .. }) => assert_eq!(device, Device::Sim(0)),
        other => panic!("{:?}", other.map(|plan| plan.memory)),
    }
}

const FAILS: &str = r#"
%a = host_to_device input "a" i64[4096]
%i = host_to_device input "i" i64[4096]
%j = empty [4096], i64
%j = _modsum_ttc %i, %i, 1000003, %j
%b = empty [4096], i64
%b = take_along_axis %a, %j, 0, %b
device_to_host %b -> output "b"
"#;

#[test]
fn a_run_that_is_refused_leaves_the_device_of_use() {
    let verified = verified(FAILS);
    let good = inputs(verified.program(), |i| i as i64 % 40);
    let bad = inputs(verified.program(), |i| 3000 + i as i64);
    let here = run(
        &mut Executor::new(planned(&verified, Device::Cpu)).unwrap(),
        &good,
        false,
    );
    let mut executor = Executor::new(planned(&verified, Device::Sim(0))).unwrap();
    for _ in 0..3 {
        assert!(
            run(&mut executor, &bad, false)
                .unwrap_err()
                .contains("take_along_axis")
        );
        assert_eq!(run(&mut executor, &good, false), here);
    }
}

#[test]
fn every_step_of_an_op_waits_for_its_checks() {
    let options = Options {
        grain_ns: 0,
        ..Options::new(best_isa(), 3)
    };
    let plan = plan(verified(FAILS), &options).unwrap();
    let is_check = |work: &Work| matches!(work, Work::Host(HostCall::Check(_)));
    let check = plan
        .steps
        .iter()
        .position(|step| is_check(&step.work))
        .unwrap();
    let guarded: Vec<usize> = (check + 1..plan.steps.len())
        .filter(|&step| plan.steps[step].origin == plan.steps[check].origin)
        .collect();
    assert!(!guarded.is_empty(), "{plan}");
    let graph = plan.graph.as_ref().unwrap();
    let tasks = graph.tasks();
    let task_of = |step: usize| {
        let holds = |task: &Task| graph.units(task).contains(&(step as u32));
        tasks.iter().position(holds).unwrap()
    };
    let mut behind = vec![false; tasks.len()];
    behind[task_of(check)] = true;
    for (index, task) in tasks.iter().enumerate() {
        if behind[index] {
            graph
                .successors(task)
                .iter()
                .for_each(|&next| behind[next as usize] = true);
        }
    }
    assert!(guarded.iter().all(|&step| behind[task_of(step)]), "{plan}");
}

/// The bytes that transfers of a plan move one way.
fn moved(plan: &Plan, way: Way) -> u64 {
    let steps = plan.steps.iter().zip(&plan.costs);
    let moves = steps.filter(|(step, _)| matches!(step.work, Work::Transfer(own) if own == way));
    moves.map(|(_, cost)| cost.bytes).sum()
}

const VIEWS: &str = r#"
%a = host_to_device input "a" i64[100000]
%h = get_slice %a, [0:40:1]
%t = get_slice %a, [99990:100000:1]
%m = get_slice %a, [20:60:1]
%b = empty [40], i64
%b = _modsum_ttc %h, %m, 1000003, %b
%c = empty [10], i64
%c = _modsum_ttc %t, %t, 1000003, %c
device_to_host %b -> output "b"
device_to_host %c -> output "c"
"#;

#[test]
fn of_a_large_input_the_bytes_go_up_that_steps_read_each_once() {
    let verified = verified(VIEWS);
    let plan = planned(&verified, Device::Sim(0));
    assert_eq!(moved(&plan, Way::Upload), 8 * (60 + 10), "{plan}");
    assert!(plan.memory.arena_bytes < 2048, "{plan}");
    let given = inputs(verified.program(), |i| i as i64 % 500);
    let here = planned(&verified, Device::Cpu);
    let expected = run(&mut Executor::new(here).unwrap(), &given, false);
    let got = run(&mut Executor::new(plan).unwrap(), &given, false);
    assert_eq!(got, expected);
}

#[test]
fn what_no_run_changes_lies_in_one_block_and_what_is_small_in_front() {
    let plan = planned(&verified(LIMBS), Device::Sim(0));
    let own: Vec<_> = plan.constants.iter().filter(|c| c.arena > 0).collect();
    assert!(own.len() > 1, "{plan}");
    let padded = |bytes: u64| bytes.next_multiple_of(64);
    let total: u64 = own.iter().map(|constant| padded(constant.bytes)).sum();
    assert_eq!(plan.arenas[1].constant_bytes, total);
    let mut by_place = own.clone();
    by_place.sort_by_key(|constant| constant.offset);
    let mut end = 0;
    for constant in &by_place {
        assert_eq!(constant.offset, end, "{constant:?}");
        end += padded(constant.bytes);
    }
    assert!(by_place.is_sorted_by_key(|constant| !constant.is_gathered()));
}

const LIMBS: &str = r#"
%a = host_to_device input "a" i64[64, 3]
%m = host_to_device i64[3] {97, 101, 103}
%b = empty [64, 3], i64
%b = modmul %a, %a, %m, %b
device_to_host %b -> output "b"
"#;

#[test]
fn limbs_are_stored_as_the_driver_wants_them() {
    let verified = verified(LIMBS);
    let given = inputs(verified.program(), |i| i as i64 % 90);
    let expected = run(
        &mut Executor::new(planned(&verified, Device::Cpu)).unwrap(),
        &given,
        false,
    );
    for (wishes, is_wanted) in [
        (Capabilities::LIMB_MAJOR, true),
        (Capabilities::NONE, false),
    ] {
        let options = Options {
            device: Device::Sim(0),
            drivers: varied(Costs::NONE, wishes, BTreeSet::new()),
            ..Options::new(best_isa(), 2)
        };
        let plan = Arc::new(plan(Arc::clone(&verified), &options).unwrap());
        assert_eq!(plan.limb_major_storages > 0, is_wanted, "{plan}");
        assert_eq!(
            run(&mut Executor::new(plan).unwrap(), &given, false),
            expected
        );
    }
}
