//! Random programs give the same bytes, and fail with the same error, in every order of tasks and
//! on any number of workers.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::text;
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, plan};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_testing::{Inputs, Source, generate, inputs, tries};
use cloakwork_verify::{Verified, verify};
use std::sync::Arc;

const PROGRAMS: u64 = if cfg!(debug_assertions) { 120 } else { 250 };
const SEEDS: u64 = 20;

fn planned(verified: &Arc<Verified>, threads: usize) -> Arc<Plan> {
    let options = Options {
        grain_ns: 0,
        ..Options::new(best_isa(), threads)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap())
}

type Results = Result<Vec<Vec<i64>>, String>;

fn outcome(executor: &mut Executor, inputs: &Inputs, threads: usize, seed: Option<u64>) -> Results {
    let options = RunOptions {
        threads,
        split_ns: 1,
        profile: seed.is_some_and(|seed| seed % 2 == 0),
        schedule_seed: seed,
        ..RunOptions::default()
    };
    match executor.run(inputs, &options, &mut |_| true) {
        Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("{other}\n{}", executor.plan()),
    }
}

#[test]
fn random_programs_give_the_same_bytes_in_any_order_on_any_number_of_workers() {
    let (mut edges, mut failed) = (0, 0);
    for number in 0..PROGRAMS {
        let program = Arc::new(generate(&mut Source::from_seed(number)));
        let verified = verify(Arc::clone(&program)).verified.unwrap();
        let verified = Arc::new(verified);
        let inputs = inputs(&program, |i| (i as i64 * 7) % 23 - 5);
        let mut alone = Executor::new(planned(&verified, 1)).unwrap();
        let expected = outcome(&mut alone, &inputs, 1, None);
        let plan = planned(&verified, 8);
        edges += plan.graph.as_ref().unwrap().edges();
        failed += usize::from(expected.is_err());
        let mut executor = Executor::new(Arc::clone(&plan)).unwrap();
        for threads in [1, 2, 3, 8] {
            for seed in 0..tries(SEEDS) {
                let got = outcome(&mut executor, &inputs, threads, Some(seed));
                let context = || format!("{}\n{plan}", text::print(&program));
                assert_eq!(got, expected, "{number} {threads} {seed}\n{}", context());
            }
        }
    }
    assert!(edges > PROGRAMS as usize / 4, "programs without any order");
    // Debug builds run fewer programs.
    let is_seen = cfg!(debug_assertions) || failed > 0;
    assert!(is_seen, "no program that refuses what it computed");
}
