//! Programs give the same bytes on a device whose driver has a process of its own.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_devices::{Driver, Drivers, isolate};
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, plan};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_testing::{Inputs, inputs, programs_without_devices};
use cloakwork_verify::Verified;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// `sim` in a process of its own.
fn isolated() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        isolate::set_program(isolate::Program {
            file: env!("CARGO_BIN_EXE_device-process").into(),
            arguments: Vec::new(),
        });
        isolate::driver(Path::new("sim:0"), None).unwrap()
    })
}

type Results = Result<Vec<Vec<i64>>, String>;

fn runs(
    verified: &Arc<Verified>,
    inputs: &Inputs,
    (device, drivers): (Device, Drivers),
) -> Results {
    let options = Options {
        device,
        drivers,
        ..Options::new(best_isa(), 2)
    };
    let plan = plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}"));
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    let mut last = Ok(Vec::new());
    for profile in [false, true, false] {
        let options = RunOptions {
            profile,
            ..RunOptions::default()
        };
        last = match executor.run(inputs, &options, &mut |_| true) {
            Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
            Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
            Err(other) => panic!("{other}\n{}", executor.plan()),
        };
    }
    last
}

#[test]
fn random_programs_give_the_same_bytes_in_a_process_of_its_own() {
    let elsewhere = Drivers::default().with_sim(isolated());
    for (number, verified) in programs_without_devices(7_000).take(40) {
        let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
        let here = runs(&verified, &inputs, (Device::Cpu, Drivers::default()));
        let there = runs(&verified, &inputs, (Device::Sim(0), elsewhere));
        assert_eq!(there, here, "{number}\n{}", text::print(verified.program()));
    }
}

#[test]
fn the_table_is_that_of_the_driver() {
    let (sim, _) = Drivers::default().of(Device::Sim(0));
    let own = isolated();
    assert_eq!(
        (own.name(), own.costs(), own.count()),
        (sim.name(), sim.costs(), sim.count())
    );
    assert_eq!(own.features(3), sim.features(3));
    let symbols = |driver: &Driver| -> Vec<&str> {
        driver.rows().all().iter().map(|row| row.symbol).collect()
    };
    assert_eq!(symbols(own), symbols(sim));
}
