//! Programs give the same bytes on a device whose memory the host cannot touch.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_devices::{Capabilities, Costs, Drivers};
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Arena, Home, Options, Plan, PlanError, Task, Way, Why, Work, plan};
use cloakwork_run::inspect::inspect;
use cloakwork_run::{Executor, RunError, RunOptions, bisect};
use cloakwork_testing::{Inputs, Source, inputs, programs_without_devices};
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

/// Drivers in which `sim` has these costs, capabilities and missing kernels.
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
    for (number, verified) in programs_without_devices(7_000).take(300) {
        let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
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
                text::print(verified.program())
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
    // Launches wait for the upload, and the last transfers wait for the last launch.
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

const WORDS: usize = 1 << 14;

/// Sums of vectors that are uploaded, each before its use or all at first, and freed.
fn weights(count: usize, is_first: bool) -> String {
    let upload = |i: usize| {
        let words = vec![i.to_string(); WORDS].join(", ");
        format!("%w{i} = host_to_device i64[{WORDS}] {{{words}}}\n")
    };
    let uses = |i: usize| {
        let sum = format!("%s = _modsum_ttc %s, %w{i}, 1000003, %s\nfree %w{i}\n");
        if is_first { sum } else { upload(i) + &sum }
    };
    let first: String = (0..count).filter(|_| is_first).map(upload).collect();
    let all: String = (0..count).map(uses).collect();
    format!(
        "generation later\n{first}%a = host_to_device input \"a\" i64[{WORDS}]\n\
         %s = empty [{WORDS}], i64\n%s = _modsum_ttc %a, %a, 1000003, %s\n{all}\
         device_to_host %s, none -> output \"s\"\n"
    )
}

/// Bytes that a plan needs of `sim`.
fn on_sim(plan: &Plan) -> u64 {
    let arenas = plan.arenas.iter();
    let own = arenas.filter(|arena| arena.home == Home::Device(Device::Sim(0)));
    own.map(Arena::device_bytes).sum()
}

#[test]
fn constants_that_a_program_uploads_while_it_computes_and_frees_take_no_more_where_they_are_more() {
    let bytes = 8 * WORDS as u64;
    for count in [3, 6, 12] {
        let verified = verified(&weights(count, false));
        let plan = planned(&verified, Device::Sim(0));
        // The sum, and two vectors: one arrives while the other is read.
        assert!(on_sim(&plan) <= 4 * bytes, "{count}: {plan}");
        let given = inputs(verified.program(), |i| i as i64);
        let sums: i64 = (0..count as i64).sum();
        let expected = (0..WORDS as i64).map(|i| (2 * i + sums) % 1_000_003);
        let mut executor = Executor::new(plan).unwrap();
        for _ in 0..2 {
            let results = run(&mut executor, &given, false);
            assert_eq!(results, Ok(vec![expected.clone().collect()]));
        }
    }
}

#[test]
fn constants_that_a_device_cannot_hold_all_are_uploaded_again_in_each_run() {
    let bytes = 8 * WORDS as u64;
    let verified = verified(&weights(8, true));
    assert!(on_sim(&planned(&verified, Device::Sim(0))) > 8 * bytes);
    let options = Options {
        device: Device::Sim(0),
        device_budgets: vec![(Device::Sim(0), 5 * bytes)],
        ..Options::new(best_isa(), 2)
    };
    let plan = Arc::new(plan(Arc::clone(&verified), &options).unwrap());
    assert!(on_sim(&plan) <= 5 * bytes, "{plan}");
    let given = inputs(verified.program(), |i| i as i64);
    let expected: Vec<i64> = (0..WORDS as i64).map(|i| 2 * i + 28).collect();
    let results = run(&mut Executor::new(plan).unwrap(), &given, false);
    assert_eq!(results, Ok(vec![expected]));
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
fn a_device_checks_indices_itself_and_the_host_waits_for_no_check() {
    let verified = verified(FAILS);
    let result_bytes = 8 * 4096;
    let there = planned(&verified, Device::Sim(0));
    assert_eq!(moved(&there, Way::Download), result_bytes, "{there}");
    let check = there.step_of_check(0).unwrap();
    assert!(there.steps[check].queue > 0, "{there}");
    let lacking = planned_for(&verified, Costs::NONE, &["check_range"]);
    assert_eq!(
        moved(&lacking, Way::Download),
        2 * result_bytes,
        "{lacking}"
    );
    let bad = inputs(verified.program(), |i| 3000 + i as i64);
    let here = planned(&verified, Device::Cpu);
    let words = run(&mut Executor::new(here).unwrap(), &bad, false).unwrap_err();
    assert!(words.contains("take_along_axis"), "{words}");
    for plan in [there, lacking] {
        let got = run(&mut Executor::new(plan).unwrap(), &bad, false);
        assert_eq!(got, Err(words.clone()));
    }
}

#[test]
fn a_tensor_on_a_device_goes_to_the_host_for_the_step_that_the_device_lacks() {
    let mixed = r#"
%a = host_to_device input "a" i64[64]
%b = empty [64], i64
%b = _modsum_ttc %a, %a, 1000003, %b
%b = _modmul_ttc %b, %a, 1000003, %b
%b = _modsum_ttc %b, %a, 1000003, %b
device_to_host %b -> output "b"
"#;
    let verified = verified(mixed);
    let plan = planned_for(&verified, Costs::NONE, &["modmul"]);
    // %a is uploaded; %b is downloaded and uploaded for the one step.
    assert_eq!(moved(&plan, Way::Upload), 2 * 8 * 64, "{plan}");
    assert_eq!(moved(&plan, Way::Download), 2 * 8 * 64, "{plan}");
    let given = inputs(verified.program(), |i| i as i64);
    let here = planned(&verified, Device::Cpu);
    let expected = run(&mut Executor::new(here).unwrap(), &given, false);
    let mut executor = Executor::new(plan).unwrap();
    assert_eq!(run(&mut executor, &given, false), expected);
    let held = bisect(&mut executor, &given, &mut |_| true).unwrap();
    assert_eq!((held.wrong, held.by_reference), (None, 3));
}

#[test]
fn every_step_of_an_op_waits_for_its_checks() {
    let options = Options {
        grain_ns: 0,
        ..Options::new(best_isa(), 3)
    };
    let plan = plan(verified(FAILS), &options).unwrap();
    let is_check = |work: &Work| matches!(work, Work::Check(_));
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

/// The bytes that a plan's transfers move in one direction.
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

/// A plan for a `sim` with these costs and missing kernels.
fn planned_for(verified: &Arc<Verified>, costs: Costs, lacks: &[&str]) -> Arc<Plan> {
    let lacks = lacks.iter().map(|&kernel| kernel.to_owned()).collect();
    let options = Options {
        device: Device::Sim(0),
        drivers: varied(costs, Capabilities::LIMB_MAJOR, lacks),
        ..Options::new(best_isa(), 2)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn random_programs_give_the_same_bytes_on_devices_that_lack_kernels_or_cost_much() {
    let names: BTreeSet<&str> = cloakwork_kernels::kernels()
        .iter()
        .map(|row| row.kernel)
        .collect();
    let (mut here, mut there) = (0, 0);
    for (number, verified) in programs_without_devices(9_000).take(300) {
        let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
        let plan = planned(&verified, Device::Cpu);
        let expected = run(&mut Executor::new(plan).unwrap(), &inputs, false);
        let mut draw = Source::from_seed(number);
        let lacks: Vec<&str> = names
            .iter()
            .copied()
            .filter(|_| draw.below(2) == 0)
            .collect();
        let costs = match number % 2 {
            0 => Costs::NONE,
            _ => Costs {
                launch_ns: draw.below(20) as u64,
                transfer_ns: draw.below(20) as u64,
                ..Costs::NONE
            },
        };
        let plan = planned_for(&verified, costs, &lacks);
        here += plan.elsewhere.len();
        there += plan
            .steps
            .iter()
            .filter(|step| step.queue > 0 && step.row().is_some())
            .count();
        let mut executor = Executor::new(Arc::clone(&plan)).unwrap();
        for _ in 0..2 {
            let got = run(&mut executor, &inputs, false);
            let shown = text::print(verified.program());
            assert_eq!(got, expected, "{number}\n{shown}\n{plan}");
        }
    }
    assert!(
        here > 300 && there > 300,
        "{here} steps here, {there} there"
    );
}

#[test]
fn a_step_whose_kernel_a_device_lacks_runs_on_the_host_and_the_plan_says_so() {
    let verified = verified(CHAIN);
    let given = inputs(verified.program(), |i| i as i64 % 500);
    let here = planned(&verified, Device::Cpu);
    let expected = run(&mut Executor::new(here).unwrap(), &given, false);
    let plan = planned_for(&verified, Costs::NONE, &["sort"]);
    let text = plan.to_string();
    let counts = "1 step on the host instead of a device: 1 without a kernel there, 0 cheaper";
    assert!(text.contains(counts), "{text}");
    let reason = "on the host: sim:0 has no `sort` kernel that takes i64 and gives i64";
    assert!(text.contains(reason), "{text}");
    let told = inspect(&verified, &plan);
    assert_eq!(
        told["elsewhere"].as_array().map(Vec::len),
        Some(1),
        "{told}"
    );
    assert_eq!(told["elsewhere"][0]["op"], "sort");
    assert_eq!(told["elsewhere"][0]["device"], "sim:0");
    assert_eq!(told["elsewhere"][0]["why"], reason);
    // The operand of `sort` is downloaded, and so is %b, a result.
    let downloads = steps(&plan, |work| matches!(work, Work::Transfer(Way::Download)));
    let uploads = steps(&plan, |work| matches!(work, Work::Transfer(Way::Upload)));
    assert_eq!((uploads, downloads), (1, 2), "{plan}");
    assert_eq!(
        run(&mut Executor::new(plan).unwrap(), &given, false),
        expected
    );
}

/// A device whose transfers pay for large computations.
const FAST: Costs = Costs {
    launch_ns: 2_000,
    transfer_ns: 5_000,
    upload_bytes_per_us: 20_000,
    download_bytes_per_us: 20_000,
    memory_bytes_per_us: 1_000_000,
    operations_per_us: 1_000_000,
};

#[test]
fn a_chain_of_small_steps_stays_on_the_host_and_one_of_large_steps_does_not() {
    let chain = |elements: usize, steps: usize| {
        let ty = format!("i64[{elements}]");
        let mut source = format!("%v0 = host_to_device input \"a\" {ty}\n");
        for step in 0..steps {
            let next = step + 1;
            source += &format!("%v{next} = empty [{elements}], i64\n");
            source += &format!("%v{next} = _modsum_ttc %v{step}, %v0, 1000003, %v{next}\n");
        }
        source + &format!("device_to_host %v{steps} -> output \"b\"\n")
    };
    let small = planned_for(&verified(&chain(16, 12)), FAST, &[]);
    assert_eq!(small.elsewhere.len(), 12, "{small}");
    assert!(
        small
            .elsewhere
            .iter()
            .all(|moved| moved.why == Why::Cheaper)
    );
    assert_eq!(moved(&small, Way::Upload) + moved(&small, Way::Download), 0);
    let large = planned_for(&verified(&chain(1 << 20, 12)), FAST, &[]);
    assert!(large.elsewhere.is_empty(), "{large}");
}

#[test]
fn what_comes_down_for_one_step_is_there_for_the_next() {
    let twice = r#"
%a = host_to_device input "a" i64[4096]
%b = empty [4096], i64
%b = _modsum_ttc %a, %a, 1000003, %b
%c = empty [4096], i64
%c = sort %b, 0, 0, %c
%d = empty [4096], i64
%d = sort %b, 0, 1, %d
device_to_host %c -> output "c"
device_to_host %d -> output "d"
device_to_host %b -> output "b"
"#;
    let plan = planned_for(&verified(twice), Costs::NONE, &["sort"]);
    assert_eq!(moved(&plan, Way::Download), 8 * 4096, "{plan}");
}

/// Steps over a few tensors that write in place, some of them on parts.
fn in_place(draw: &mut Source) -> String {
    let mut source = String::new();
    for tensor in 0..3 {
        source += &format!("%a{tensor} = host_to_device input \"a{tensor}\" i64[48]\n");
        source += &format!("%t{tensor} = empty [48], i64\n");
        source += &format!("%t{tensor} = _modsum_ttc %a{tensor}, %a0, 1000003, %t{tensor}\n");
    }
    for step in 0..14 {
        let [to, one, other] = [0; 3].map(|_| draw.below(3));
        let op = ["_modsum_ttc", "_modmul_ttc"][draw.below(2)];
        let (from, end) = [(0, 48), (8, 24), (16, 48)][draw.below(3)];
        let part = |name: &str, tensor: usize, kept: bool| {
            let (low, high) = if kept { (from, end) } else { (0, end - from) };
            format!("%{name}{step} = get_slice %t{tensor}, [{low}:{high}:1]\n")
        };
        source += &part("o", to, true);
        source += &part("x", one, draw.chance(2));
        source += &part("y", other, true);
        let (to, one, other) = (format!("o{step}"), format!("x{step}"), format!("y{step}"));
        source += &format!("%p{step} = empty [{}], i64\n", end - from);
        source += &format!("%p{step} = {op} %{one}, %{other}, 1000003, %p{step}\n");
        source += &format!("%{to} = {op} %p{step}, %{to}, 1000003, %{to}\n");
    }
    for tensor in 0..3 {
        source += &format!("device_to_host %t{tensor} -> output \"t{tensor}\"\n");
    }
    source
}

#[test]
fn copies_on_the_host_are_those_of_the_last_write() {
    let mut moved_both_ways = 0;
    for number in 0..60 {
        let mut draw = Source::from_seed(number);
        let verified = verified(&in_place(&mut draw));
        let given = inputs(verified.program(), |i| i as i64 * 31 % 997);
        let here = planned(&verified, Device::Cpu);
        let expected = run(&mut Executor::new(here).unwrap(), &given, false);
        let lacks = [["modmul"], ["modadd"], ["copy"]][draw.below(3)];
        let plan = planned_for(&verified, Costs::NONE, &lacks);
        let both = moved(&plan, Way::Upload).min(moved(&plan, Way::Download));
        moved_both_ways += usize::from(both > 3 * 8 * 48);
        let got = run(
            &mut Executor::new(Arc::clone(&plan)).unwrap(),
            &given,
            false,
        );
        assert_eq!(
            got,
            expected,
            "{number}\n{}\n{plan}",
            text::print(verified.program())
        );
    }
    assert!(moved_both_ways > 15, "{moved_both_ways}");
}

const BY_WORD: &str = r#"
stream "s" at "sim:0"
event "back" at "sim:0"
%x = host_to_device i64[64] iota
%d = empty [64], i64 at "sim:0"
copy %x, %d on "s"
%e = empty [64], i64 at "sim:0"
_modmul_ttc %d, %d, 1000003, %e on "s"
%f = empty [64], i64 at "sim:0"
_modsum_ttc %e, %d, 1000003, %f on "s"
%y = empty [64], i64
copy %f, %y on "s"
record "back" on "s"
wait "back"
device_to_host %y, none -> output "y"
free %y
free %d
free %e
free %f
"#;

#[test]
fn what_the_program_puts_on_a_device_stays_there_whatever_it_costs() {
    let verified = verified(BY_WORD);
    let given = inputs(verified.program(), |_| 0);
    let expected: Vec<i64> = (0..64).map(|i| i * i + i).collect();
    for (lacks, here) in [(&[][..], 0), (&["modmul"][..], 1)] {
        let lacks = lacks.iter().map(|&name: &&str| name.to_owned()).collect();
        let options = Options {
            drivers: varied(FAST, Capabilities::NONE, lacks),
            ..Options::new(best_isa(), 2)
        };
        let plan = Arc::new(plan(Arc::clone(&verified), &options).unwrap());
        assert_eq!(plan.elsewhere.len(), here, "{plan}");
        let is_there = |work: &Work| matches!(work, Work::Launch { .. });
        assert!(steps(&plan, is_there) >= 2, "{plan}");
        let got = run(&mut Executor::new(plan).unwrap(), &given, false);
        assert_eq!(got.as_ref(), Ok(&vec![expected.clone()]));
    }
}

#[test]
fn a_program_that_names_its_devices_is_planned_for_no_other() {
    let options = Options {
        device: Device::Sim(1),
        ..Options::new(best_isa(), 1)
    };
    let refused = plan(verified(BY_WORD), &options).unwrap_err();
    let named = Device::Sim(0);
    let device = Device::Sim(1);
    assert_eq!(refused, PlanError::NamesDevices { device, named });
}
