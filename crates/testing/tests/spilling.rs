//! Programs with less memory than they need give the same bytes, or are rejected before they run.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, PlanError, Step, Way, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions, bisect};
use cloakwork_testing::{Inputs, Source, generate, inputs, tries};
use cloakwork_verify::{Verified, verify};
use std::collections::HashMap;
use std::sync::Arc;

type Results = Result<Vec<Vec<i64>>, String>;

fn outcome(plan: &Arc<Plan>, inputs: &Inputs, seed: Option<u64>) -> Results {
    let mut executor = Executor::new(Arc::clone(plan)).unwrap();
    let options = RunOptions {
        threads: plan.options.threads,
        split_ns: 1,
        schedule_seed: seed,
        ..RunOptions::default()
    };
    match executor.run(inputs, &options, &mut |_| true) {
        Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("{other}\n{plan}"),
    }
}

/// Plans a program so that its arena has at most `percent` percent of its natural size.
fn planned(verified: &Arc<Verified>, natural: &Plan, percent: u64) -> Result<Plan, PlanError> {
    let memory = natural.memory;
    let arena = memory.arena_bytes * percent / 100;
    let budget = memory.peak_bytes() - memory.arena_bytes + arena;
    let options = Options {
        memory_budget_bytes: Some(budget),
        grain_ns: 0,
        fuse: percent != 75,
        ..Options::new(best_isa(), 3)
    };
    let found = plan(Arc::clone(verified), &options)?;
    assert!(found.memory.peak_bytes() <= budget, "{found}");
    Ok(found)
}

/// A program of many tensors, each of which is read again long after it was written.
fn wide(tensors: usize) -> String {
    let mut source = String::from("%a = host_to_device input \"a\" i64[4096]\n");
    for i in 0..tensors {
        source += &format!("%t{i} = empty [4096], i64\n");
        source += &format!("%t{i} = _modsum_ttc %a, %a, {}, %t{i}\n", 1000 + i);
        source += &format!("%s{i} = empty [4096], i64\n%s{i} = sort %t{i}, 0, 0, %s{i}\n");
    }
    source += "%o = zeros [4096], i64\n";
    for _ in 0..2 {
        for i in 0..tensors {
            source += &format!("%o = _modsum_ttc %o, %s{i}, 1000003, %o\n");
        }
    }
    source + "device_to_host %o -> output \"o\"\n"
}

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

/// Number of random programs, and the most that are tried until enough of them spill.
const PROGRAMS: u64 = 1200;
const MOST_PROGRAMS: u64 = 10 * PROGRAMS;

#[test]
fn random_programs_give_the_same_bytes_with_less_memory() {
    let (mut spilled, mut refused) = (0, 0);
    // Tensors of most random programs are too small to spill: few programs spill, but some must.
    for number in 0..MOST_PROGRAMS {
        if number >= tries(PROGRAMS) && spilled >= 4 {
            break;
        }
        let program = Arc::new(generate(&mut Source::from_seed(number)));
        let verified = verify(Arc::clone(&program)).verified.unwrap();
        let verified = Arc::new(verified);
        let inputs = inputs(&program, |i| (i as i64 * 7) % 23 - 5);
        let natural = plan(Arc::clone(&verified), &Options::new(best_isa(), 3)).unwrap();
        let natural = Arc::new(natural);
        let expected = outcome(&natural, &inputs, None);
        for percent in [100, 75, 50] {
            match planned(&verified, &natural, percent) {
                Ok(plan) => {
                    let plan = Arc::new(plan);
                    spilled += usize::from(plan.spills());
                    for seed in [None, Some(1), Some(2)] {
                        let got = outcome(&plan, &inputs, seed);
                        let program = || text::print(&program);
                        assert_eq!(got, expected, "{number} {percent}\n{}\n{plan}", program());
                    }
                }
                Err(PlanError::Budget { .. }) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(spilled >= 4, "{spilled} plans spilled");
    assert!(refused > 0, "nothing was refused");
}

#[test]
fn the_least_budget_that_a_refusal_names_is_enough() {
    let mut refused = 0;
    for number in 0..400 {
        let program = Arc::new(generate(&mut Source::from_seed(number)));
        let verified = Arc::new(verify(Arc::clone(&program)).verified.unwrap());
        for device in [Device::Cpu, Device::Sim(0)] {
            for budget in [Budget::Together, Budget::OfHost] {
                let with = |bytes| plan(Arc::clone(&verified), &budget.of(bytes, device));
                let mut error = match with(1) {
                    // It is not for another device.
                    Ok(_) | Err(PlanError::NamesDevices { .. }) => continue,
                    Err(error) => error,
                };
                let least = match &mut error {
                    PlanError::Budget { least_bytes, .. } => *least_bytes,
                    PlanError::DeviceBudget { least_bytes, .. } => least_bytes.unwrap(),
                    other => panic!("{other}"),
                };
                let found = with(least);
                assert!(
                    found.is_ok(),
                    "{number} {device} {error}\n{:?}",
                    found.err()
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 1000, "{refused} plans were refused");
}

#[derive(Clone, Copy)]
enum Budget {
    Together,
    OfHost,
}

impl Budget {
    fn of(self, bytes: u64, device: Device) -> Options {
        let mut options = Options {
            device,
            ..Options::new(best_isa(), 2)
        };
        match self {
            Self::Together => options.memory_budget_bytes = Some(bytes),
            Self::OfHost => options.device_budgets = vec![(Device::Cpu, bytes)],
        }
        options
    }
}

#[test]
fn half_of_the_memory_is_enough_for_tensors_that_wait() {
    let verified = verified(&wide(12));
    let inputs = inputs(verified.program(), |i| i as i64 % 500);
    let options = Options {
        fuse: false,
        ..Options::new(best_isa(), 3)
    };
    let natural = Arc::new(plan(Arc::clone(&verified), &options).unwrap());
    let expected = outcome(&natural, &inputs, None);
    for percent in [100, 75, 50, 40] {
        let memory = natural.memory;
        let least = memory.peak_bytes() - memory.arena_bytes;
        let budget = least + memory.arena_bytes * percent / 100;
        let options = Options {
            memory_budget_bytes: Some(budget),
            ..options.clone()
        };
        let plan = Arc::new(plan(Arc::clone(&verified), &options).unwrap());
        assert!(plan.memory.peak_bytes() <= budget);
        assert_eq!(plan.spills(), percent != 100);
        for seed in [None, Some(1), Some(2), Some(3)] {
            assert_eq!(outcome(&plan, &inputs, seed), expected, "{percent}\n{plan}");
        }
        let place = |step: &Step| {
            let to = plan.addresses[step.first_address as usize];
            matches!(step.work, Work::Transfer(Way::ToDisk)).then_some(to.index)
        };
        let mut written: Vec<u32> = plan.steps.iter().filter_map(place).collect();
        let writes = written.len();
        written.sort_unstable();
        written.dedup();
        let clean = natural.buffers.len();
        assert!(
            written.len() + 2 >= writes,
            "{clean}: only %o changes twice\n{plan}"
        );
        let mut executor = Executor::new(plan).unwrap();
        let held = bisect(&mut executor, &inputs, &mut |_| true).unwrap();
        assert_eq!(held.wrong, None);
        assert!(held.by_reference > 0 && held.by_portable_kernel.is_empty());
    }
}

#[test]
fn a_program_whose_steps_touch_too_much_is_refused_with_all_numbers() {
    let verified = verified(&wide(4));
    let options = Options {
        memory_budget_bytes: Some(40_000),
        ..Options::new(best_isa(), 1)
    };
    match plan(Arc::clone(&verified), &options) {
        Err(error @ PlanError::Budget { .. }) => {
            let PlanError::Budget {
                memory,
                least_bytes,
                budget_bytes,
            } = &error
            else {
                return;
            };
            assert!(budget_bytes < least_bytes && *least_bytes <= memory.peak_bytes());
            assert!(error.to_string().contains("budget is 39.1 KiB"), "{error}");
            let with = |bytes| {
                let memory_budget_bytes = Some(bytes);
                let options = Options {
                    memory_budget_bytes,
                    ..options.clone()
                };
                plan(Arc::clone(&verified), &options)
            };
            assert!(with(*least_bytes).is_ok() && with(*least_bytes - 1).is_err());
        }
        other => panic!("{:?}", other.map(|plan| plan.memory)),
    }
}

#[test]
fn a_disk_that_fails_is_told_with_step_bytes_and_place() {
    let verified = verified(&wide(12));
    let natural = plan(Arc::clone(&verified), &Options::new(best_isa(), 1)).unwrap();
    let options = Options {
        fuse: false,
        memory_budget_bytes: Some(natural.memory.peak_bytes() * 2 / 3),
        ..Options::new(best_isa(), 1)
    };
    let plan = Arc::new(plan(Arc::clone(&verified), &options).unwrap());
    let inputs = inputs(verified.program(), |i| i as i64 % 500);
    let mut executor = Executor::new(Arc::clone(&plan)).unwrap();
    let nowhere = RunOptions {
        spill_dir: Some("/nowhere/at/all".into()),
        ..RunOptions::default()
    };
    match executor.run(&inputs, &nowhere, &mut |_| true) {
        Err(RunError::Disk {
            bytes, directory, ..
        }) => assert_eq!(
            (bytes, &*directory),
            (plan.memory.disk_bytes, "/nowhere/at/all")
        ),
        other => panic!("{other:?}"),
    }
    let run = executor.run(&inputs, &RunOptions::default(), &mut |_| true);
    assert!(run.is_ok());
    let none: Inputs = HashMap::new();
    assert!(
        executor
            .run(&none, &RunOptions::default(), &mut |_| true)
            .is_err()
    );
}
