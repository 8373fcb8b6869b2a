//! Programs give the same bytes on `cuda`, over a made-up driver of NVIDIA's (`tests/cuda`).
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

#[path = "../../devices/tests/made_up/mod.rs"]
mod made_up;

use cloakwork_csrc as _;
use cloakwork_devices::{Capabilities, Costs, Driver, Drivers};
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_testing::{Inputs, inputs, programs_without_devices};
use cloakwork_verify::{Verified, verify};
use made_up::MadeUp;
use std::collections::BTreeSet;
use std::sync::Arc;

type Results = Result<Vec<Vec<i64>>, String>;

fn run(executor: &mut Executor, inputs: &Inputs) -> Results {
    match executor.run(inputs, &RunOptions::default(), &mut |_| true) {
        Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("{other}\n{}", executor.plan()),
    }
}

/// The driver on which nothing takes time, so that plans leave to it what it can do.
fn free(made_up: &MadeUp) -> &'static Driver {
    let can = Capabilities::LIMB_MAJOR.and(Capabilities::SEGMENTS);
    let free = made_up.driver.varied(Costs::NONE, can, BTreeSet::new());
    Box::leak(Box::new(free.unwrap()))
}

fn planned(verified: &Arc<Verified>, device: Device, driver: &'static Driver) -> Arc<Plan> {
    let drivers = Drivers::default().with_sim(driver);
    let options = Options {
        device,
        drivers,
        ..Options::new(best_isa(), 2)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn random_programs_give_the_same_bytes_on_cuda_and_give_everything_back() {
    let made_up = MadeUp::new("seed=3");
    let driver = free(&made_up);
    let (mut launched, mut before) = (0, None);
    for (number, verified) in programs_without_devices(9_000).take(200) {
        let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
        let here = planned(&verified, Device::Cpu, driver);
        let expected = run(&mut Executor::new(here).unwrap(), &inputs);
        let there = planned(&verified, Device::Sim(0), driver);
        launched += there
            .steps
            .iter()
            .filter(|step| matches!(step.work, Work::Launch { .. }) && step.queue > 0)
            .count();
        let mut executor = Executor::new(Arc::clone(&there)).unwrap();
        for _ in 0..3 {
            assert_eq!(run(&mut executor, &inputs), expected, "{number}\n{there}");
        }
        drop(executor);
        let live = made_up.live();
        if launched > 0 {
            let held = (live.allocations, live.graphs);
            assert_eq!(*before.get_or_insert(held), held, "{number}");
            // Of these as many as were needed at a time, for the next ones.
            assert!(live.streams < 16 && live.events < 64, "{number}: {live:?}");
        }
    }
    assert!(launched > 700, "{launched} launches");
}

/// Indices that a check holds, between launches; some inputs are out of range.
const CHECKED: &str = r#"
%a = host_to_device input "a" i64[4096]
%i = host_to_device input "i" i64[4096]
%j = empty [4096], i64
%j = _modsum_ttc %i, %i, 1000003, %j
%b = empty [4096], i64
%b = take_along_axis %a, %j, 0, %b
%c = empty [4096], i64
%c = _modsum_ttc %b, %b, 1000003, %c
device_to_host %c -> output "c"
"#;

#[test]
fn a_run_whose_check_fails_on_the_gpu_is_told_as_the_hosts_and_the_next_one_is_right() {
    let made_up = MadeUp::new("seed=23");
    let driver = free(&made_up);
    let program = text::parse(CHECKED).unwrap();
    let verified = Arc::new(verify(Arc::new(program)).verified.unwrap());
    let good = inputs(verified.program(), |i| i as i64 % 40);
    let bad = inputs(verified.program(), |i| 3000 + i as i64);
    let mut here = Executor::new(planned(&verified, Device::Cpu, driver)).unwrap();
    let expected = [run(&mut here, &good), run(&mut here, &bad)];
    assert!(
        expected[1]
            .as_ref()
            .unwrap_err()
            .contains("take_along_axis")
    );
    let there = planned(&verified, Device::Sim(0), driver);
    assert!(
        there
            .steps
            .iter()
            .any(|step| matches!(step.work, Work::Check(_)) && step.queue > 0)
    );
    let mut executor = Executor::new(there).unwrap();
    for _ in 0..3 {
        assert_eq!(
            [run(&mut executor, &good), run(&mut executor, &bad)],
            expected
        );
    }
}
