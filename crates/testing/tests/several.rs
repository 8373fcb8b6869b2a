//! Programs on several equal devices give the same bytes, and independent steps share the devices.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Home, Options, Plan, PlanError, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_testing::{Inputs, inputs, programs_without_devices};
use cloakwork_verify::{Verified, verify};
use std::sync::Arc;

fn planned(verified: &Arc<Verified>, devices: &[Device]) -> Arc<Plan> {
    let options = Options {
        device: devices[0],
        peers: devices[1..].to_vec(),
        ..Options::new(best_isa(), 2)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}")))
}

fn run(plan: Arc<Plan>, inputs: &Inputs) -> Result<Vec<Vec<i64>>, String> {
    let mut executor = Executor::new(plan).unwrap();
    let mut last = Ok(Vec::new());
    // The second run submits segments.
    for _ in 0..2 {
        last = match executor.run(inputs, &RunOptions::default(), &mut |_| true) {
            Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
            Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
            Err(other) => panic!("{other}\n{}", executor.plan()),
        };
    }
    last
}

/// Launches on each device of a plan.
fn launches(plan: &Plan, devices: &[Device]) -> Vec<usize> {
    let on = |device: Device| {
        let steps = plan.steps.iter().filter(|step| {
            let arena = plan.queues[step.queue as usize].arena;
            matches!(step.work, Work::Launch { .. })
                && plan.arenas[arena as usize].home == Home::Device(device)
        });
        steps.count()
    };
    devices.iter().map(|&device| on(device)).collect()
}

const THREE: [Device; 3] = [Device::Sim(0), Device::Sim(1), Device::Sim(2)];

#[test]
fn random_programs_give_the_same_bytes_on_several_devices() {
    let mut spread = 0;
    for (number, verified) in programs_without_devices(7_000).take(120) {
        let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
        let expected = run(planned(&verified, &[Device::Cpu]), &inputs);
        let there = planned(&verified, &THREE);
        let used = there.arenas.iter().filter(|arena| arena.bytes > 0);
        spread += usize::from(used.count() > 2);
        let got = run(Arc::clone(&there), &inputs);
        let source = text::print(verified.program());
        assert_eq!(got, expected, "{number}\n{source}\n{there}");
    }
    assert!(spread > 20, "{spread} programs on several devices");
}

/// So many chains of two steps.
fn chains(count: usize) -> Arc<Verified> {
    let mut source = String::new();
    for i in 0..count {
        source += &format!(
            "%a{i} = host_to_device input \"a{i}\" i64[4096]\n\
             %b{i} = empty [4096], i64\n\
             %b{i} = sort %a{i}, 0, 0, %b{i}\n\
             %c{i} = empty [4096], i64\n\
             %c{i} = _modsum_ttc %b{i}, %a{i}, 1000003, %c{i}\n\
             device_to_host %c{i} -> output \"c{i}\"\n"
        );
    }
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(verify(Arc::new(program)).verified.unwrap())
}

#[test]
fn independent_chains_share_the_devices_and_a_chain_stays_on_one() {
    let plan = planned(&chains(6), &THREE);
    assert_eq!(launches(&plan, &THREE), [4, 4, 4], "{plan}");
    let plan = planned(&chains(1), &THREE);
    assert_eq!(launches(&plan, &THREE), [2, 0, 0], "{plan}");
}

/// A product on a device that the program names.
fn named(device: &str) -> Arc<Verified> {
    let source = r#"
stream "s" at "DEVICE"
event "back" at "DEVICE"
%x = host_to_device input "x" i64[64]
%d = empty [64], i64 at "DEVICE"
copy %x, %d on "s"
%e = empty [64], i64 at "DEVICE"
_modmul_ttc %d, %d, 1000003, %e on "s"
%y = empty [64], i64
copy %e, %y on "s"
record "back" on "s"
wait "back"
device_to_host %y, none -> output "y"
free %y
free %d
free %e
"#;
    let source = source.replace("DEVICE", device);
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

#[test]
fn a_program_that_names_its_devices_is_spread_over_no_others() {
    for (name, named_device) in [("gpu:0", Device::Gpu(0)), ("sim:1", Device::Sim(1))] {
        let options = Options {
            device: THREE[0],
            peers: THREE[1..].to_vec(),
            ..Options::new(best_isa(), 2)
        };
        let refused = plan(named(name), &options).unwrap_err();
        let (device, named) = (THREE[0], named_device);
        assert_eq!(refused, PlanError::NamesDevices { device, named });
    }
    // Bound to one device, `gpu:0` is that device.
    let program = named("gpu:0");
    let given = inputs(program.program(), |i| i as i64 * 3 + 1);
    let there = planned(&program, &THREE[1..2]);
    assert_eq!(launches(&there, &THREE), [0, 1, 0], "{there}");
    let expected = run(planned(&program, &[Device::Cpu]), &given);
    assert_eq!(run(there, &given), expected);
}
