//! Programs give the same bytes on `cuda`, over a made-up driver of NVIDIA's (`tests/cuda`).
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

#[path = "../../devices/tests/made_up/mod.rs"]
mod made_up;

use cloakwork_devices::{Capabilities, Costs, Driver, Drivers};
use cloakwork_ir::Device;
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_testing::{Inputs, inputs, programs_without_devices};
use cloakwork_verify::Verified;
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
            assert_eq!(*before.get_or_insert(live), live, "{number}");
        }
    }
    assert!(launched > 700, "{launched} launches");
}
