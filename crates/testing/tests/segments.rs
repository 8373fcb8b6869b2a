//! Programs give the same bytes where drivers get their launches as segments.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_devices::{Capabilities, Costs, Drivers};
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_testing::{Inputs, inputs, programs_without_devices};
use cloakwork_verify::{Verified, verify};
use std::collections::BTreeSet;
use std::sync::Arc;

/// `sim` without segments.
fn without_segments() -> Drivers {
    let driver = Drivers::default().of(Device::Sim(0)).0.varied(
        Costs::NONE,
        Capabilities::LIMB_MAJOR,
        BTreeSet::new(),
    );
    Drivers::default().with_sim(Box::leak(Box::new(driver.unwrap())))
}

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

fn planned(verified: &Arc<Verified>, device: Device, drivers: Drivers) -> Arc<Plan> {
    let options = Options {
        device,
        drivers,
        ..Options::new(best_isa(), 1)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}")))
}

type Results = Result<Vec<Vec<i64>>, RunError>;

fn run(executor: &mut Executor, inputs: &Inputs) -> Results {
    let options = RunOptions::default();
    let outcome = executor.run(inputs, &options, &mut |_| true)?;
    Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect())
}

/// The results of a program on the host.
fn expected(verified: &Arc<Verified>, inputs: &Inputs) -> Results {
    let plan = planned(verified, Device::Cpu, Drivers::default());
    run(&mut Executor::new(plan).unwrap(), inputs)
}

#[test]
fn random_programs_give_the_same_bytes_with_segments_and_without() {
    let (mut nodes, mut alone) = (0, 0);
    for (number, verified) in programs_without_devices(11_000).take(300) {
        let program = verified.program();
        let inputs = inputs(program, |i| (i as i64 * 5) % 19 - 4);
        let words = |results: Results| results.map_err(|error| error.to_string());
        let expected = words(expected(&verified, &inputs));
        for drivers in [Drivers::default(), without_segments()] {
            let plan = planned(&verified, Device::Sim(0), drivers);
            let all = plan.segments.iter().map(|segment| segment.nodes.len());
            nodes += all.sum::<usize>();
            alone += usize::from(plan.segments.is_empty());
            let mut executor = Executor::new(Arc::clone(&plan)).unwrap();
            for _ in 0..3 {
                let got = words(run(&mut executor, &inputs));
                assert_eq!(got, expected, "{number}\n{}\n{plan}", text::print(program));
            }
        }
    }
    assert!(
        nodes > 500 && alone >= 300,
        "{nodes} nodes, {alone} plans without"
    );
}

#[test]
fn many_readers_of_bytes_that_are_written_again_are_joined() {
    let mut source = "%a = host_to_device input \"a\" i64[16]\n\
                      %s = empty [16], i64\n\
                      %s = _modsum_ttc %a, %a, 1000003, %s\n"
        .to_owned();
    let readers = 200;
    for reader in 0..readers {
        source += &format!("%r{reader} = empty [16], i64\n");
        source += &format!(
            "%r{reader} = _modsum_ttc %s, %a, {}, %r{reader}\n",
            1009 + reader
        );
    }
    source += "%s = _modsum_ttc %a, %a, 17, %s\n%t = empty [16], i64\n\
               %t = _modsum_ttc %s, %a, 1000003, %t\n";
    for reader in 0..readers {
        source += &format!("%t = _modsum_ttc %t, %r{reader}, 1000003, %t\n");
    }
    let verified = verified(&(source + "device_to_host %t -> output \"t\"\n"));
    let plan = planned(&verified, Device::Sim(0), Drivers::default());
    let [segment] = &plan.segments[..] else {
        panic!("{plan}")
    };
    let joins = segment.nodes.iter().filter(|node| node.step.is_none());
    assert!(joins.count() > 1, "{:?}", segment.nodes);
    let edges: usize = segment
        .nodes
        .iter()
        .map(|node| segment.after(node).len())
        .sum();
    assert!(edges < 6 * segment.nodes.len(), "{edges} edges");
    let given = inputs(verified.program(), |i| i as i64 * 7);
    let expected = expected(&verified, &given).unwrap();
    let mut executor = Executor::new(Arc::clone(&plan)).unwrap();
    for _ in 0..4 {
        assert_eq!(run(&mut executor, &given).unwrap(), expected);
    }
}

/// `sim` whose launches take a microsecond.
fn with_launches() -> Drivers {
    let driver = Drivers::default().of(Device::Sim(0)).0.varied(
        Costs {
            launch_ns: 1_000,
            ..Costs::NONE
        },
        Capabilities::LIMB_MAJOR.and(Capabilities::SEGMENTS),
        BTreeSet::new(),
    );
    Drivers::default().with_sim(Box::leak(Box::new(driver.unwrap())))
}

/// So many launches that do not depend on one another, each with a tensor of its own, and the sum
/// of their results, in halves.
fn independent(count: usize) -> String {
    let mut source = "%a = host_to_device input \"a\" i64[16384]\n\
                      %t = empty [16384], i64\n\
                      %t = _modsum_ttc %a, %a, 1000003, %t\n"
        .to_owned();
    for one in 0..count {
        source += &format!(
            "%r = empty [16384], i64\n\
             %r = _modsum_ttc %a, %a, {}, %r\n\
             %s = empty [16384], i64\n\
             %s = _modsum_ttc %r, %r, {}, %s\n\
             free %r\n\
             %t = _modsum_ttc %t, %s, 1000003, %t\n\
             free %s\n",
            1009 + one,
            2003 + one,
        );
    }
    source + "device_to_host %t -> output \"t\"\n"
}

/// How many steps the longest chain of a segment has.
fn depth(segment: &cloakwork_plan::Segment) -> usize {
    let mut depths: Vec<usize> = Vec::new();
    for node in &segment.nodes {
        let before = segment.after(node).iter().map(|&b| depths[b as usize]);
        depths.push(before.max().unwrap_or(0) + usize::from(node.step.is_some()));
    }
    depths.into_iter().max().unwrap_or(0)
}

#[test]
fn memory_that_a_device_uses_again_waits_where_that_shortens_a_chain() {
    let verified = verified(&independent(30));
    let in_turn = planned(&verified, Device::Sim(0), Drivers::default());
    let apart = planned(&verified, Device::Sim(0), with_launches());
    let depths = [&in_turn, &apart].map(|plan| depth(&plan.segments[0]));
    // Each sum waits for the one before it; of the rest, two launches are before the first sum.
    assert!(
        depths[0] > 55 && depths[1] < 35,
        "{depths:?}\n{in_turn}\n{apart}"
    );
    let bytes = [&in_turn, &apart].map(|plan| plan.memory.arena_bytes);
    assert!(bytes[0] < bytes[1], "{bytes:?}");
    let given = inputs(verified.program(), |i| i as i64 * 7);
    let expected = expected(&verified, &given).unwrap();
    let mut executor = Executor::new(Arc::clone(&apart)).unwrap();
    for _ in 0..3 {
        assert_eq!(run(&mut executor, &given).unwrap(), expected);
    }
}

#[test]
fn a_budget_keeps_memory_from_waiting() {
    let verified = verified(&independent(30));
    let device = Device::Sim(0);
    let planned = |device_budgets: &[(Device, u64)], memory_budget_bytes| {
        let options = Options {
            device,
            drivers: with_launches(),
            device_budgets: device_budgets.to_vec(),
            memory_budget_bytes,
            ..Options::new(best_isa(), 1)
        };
        let plan = plan(Arc::clone(&verified), &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plan.segments.len(), 1, "{plan}");
        plan.memory
    };
    let free = planned(&[], None);
    // As much as memory that is used again at once takes: 512 KiB of buffers.
    let budget = free.peak_bytes() - free.arena_bytes + (512 << 10);
    assert_eq!(planned(&[], Some(budget)).arena_bytes, 512 << 10);
    assert_eq!(planned(&[(device, 530 << 10)], None).arena_bytes, 512 << 10);
    assert!(free.arena_bytes > 530 << 10, "{}", free.arena_bytes);
}

/// Two checks, with launches before, between and after them.
const CHECKED: &str = r#"
%a = host_to_device input "a" i64[64]
%i = host_to_device input "i" i64[64]
%j = empty [64], i64
%j = _modsum_ttc %i, %i, 1000003, %j
%s = empty [64], i64
%s = _modsum_ttc %a, %i, 1000003, %s
%k = empty [64], i64
%k = _modsum_ttc %j, %i, 1000003, %k
%b = empty [64], i64
%b = take_along_axis %a, %k, 0, %b
%c = empty [64], i64
%c = _modsum_ttc %b, %s, 1000003, %c
%d = empty [64], i64
%d = take_along_axis %c, %j, 0, %d
%e = empty [64], i64
%e = _modsum_ttc %d, %b, 1000003, %e
device_to_host %e -> output "e"
"#;

#[test]
fn a_check_that_fails_in_a_segment_says_what_it_says_on_the_host() {
    let verified = verified(CHECKED);
    let good = inputs(verified.program(), |i| i as i64 % 20);
    let bad = inputs(verified.program(), |i| i as i64 + 20);
    let words = |results: Results| results.map_err(|error| error.to_string());
    let plan = planned(&verified, Device::Sim(0), Drivers::default());
    let [segment] = &plan.segments[..] else {
        panic!("{plan}")
    };
    let steps = &plan.steps[segment.first as usize..segment.end as usize];
    let checks = steps
        .iter()
        .filter(|step| matches!(step.work, Work::Check(_)));
    assert_eq!(checks.count(), 2, "{plan}");
    let refused = words(expected(&verified, &bad));
    assert!(
        refused
            .as_ref()
            .is_err_and(|text| text.contains("take_along_axis"))
    );
    let mut executor = Executor::new(plan).unwrap();
    for _ in 0..2 {
        for _ in 0..2 {
            let got = words(run(&mut executor, &good));
            assert_eq!(got, words(expected(&verified, &good)));
        }
        assert_eq!(words(run(&mut executor, &bad)), refused);
    }
}

#[test]
fn launches_that_trust_contents_are_after_their_check_and_checks_after_one_another() {
    let plan = planned(&verified(CHECKED), Device::Sim(0), Drivers::default());
    let [segment] = &plan.segments[..] else {
        panic!("{plan}")
    };
    let mut before: Vec<BTreeSet<u32>> = Vec::new();
    let mut checks: Vec<(u32, u32)> = Vec::new();
    let mut held = 0;
    for (number, node) in (0u32..).zip(&segment.nodes) {
        let after = segment.after(node);
        let all = after.iter().flat_map(|&one| before[one as usize].clone());
        before.push(all.chain(after.iter().copied()).collect());
        let Some(step) = node.step.map(|step| &plan.steps[step as usize]) else {
            continue;
        };
        let is_check = matches!(step.work, Work::Check(_));
        for &(check, origin) in &checks {
            if is_check || step.origin == origin {
                assert!(before[number as usize].contains(&check), "{number}\n{plan}");
                held += 1;
            }
        }
        if is_check {
            checks.push((number, step.origin));
        }
    }
    assert_eq!((checks.len(), held), (2, 3), "{plan}");
    let ranges = segment.ranges.iter().filter(|range| range.is_checked);
    assert_eq!(ranges.count(), 2, "the indices of both\n{plan}");
}

#[test]
fn a_segment_keeps_what_a_download_may_still_read() {
    let source = r#"
%a = host_to_device input "a" i64[64]
%b = empty [64], i64
%b = multiply %a, %a, %b
device_to_host %b -> output "b"
%c = empty [64], i64
%c = multiply %b, %b, %c
%d = empty [64], i64
%d = add %b, %c, %d
device_to_host %d -> output "d"
"#;
    let plan = planned(&verified(source), Device::Sim(0), Drivers::default());
    let products = plan
        .segments
        .iter()
        .find(|segment| segment.nodes.len() == 2);
    let products = products.unwrap_or_else(|| panic!("{plan}"));
    let first = &plan.addresses[plan.addresses_of(&plan.steps[products.first as usize])];
    // The operand, which the segment reads last, and whose download may not be done.
    let read = products.ranges.iter().find(|range| range.at == first[1]);
    assert!(
        read.is_some_and(|range| range.is_input && range.is_output),
        "{plan}"
    );
}
