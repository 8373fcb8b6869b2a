//! Every op's kernels against its reference, inside random programs: with every instruction set of
//! this processor, both layouts, and one, two and three threads. Results must be the same bits.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{Program, text};
use cloakwork_kernels::{Isa, available_isas};
use cloakwork_ops::{ALL, Body, find_form};
use cloakwork_plan::{Options, plan};
use cloakwork_run::{Executor, RunError, RunOptions, bisect};
use cloakwork_testing::{Inputs, Source, generate, inputs};
use cloakwork_verify::{Verified, verify};
use std::collections::BTreeMap;
use std::sync::Arc;

const SEEDS: u64 = 1200;

/// What a run came to, in a form that can be compared: results, or the op that refused contents.
fn outcome(
    verified: &Arc<Verified>,
    options: &Options,
    inputs: &Inputs,
) -> Result<Vec<Vec<i64>>, String> {
    let plan = Arc::new(plan(Arc::clone(verified), options).unwrap());
    let mut executor = Executor::new(Arc::clone(&plan)).unwrap();
    let run = RunOptions {
        threads: options.threads,
        split_ns: 1,
        ..RunOptions::default()
    };
    match executor.run(inputs, &run, &mut |_| true) {
        Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("{other}\n{}\n{plan}", text::print(verified.program())),
    }
}

fn configurations() -> Vec<Options> {
    let mut all = Vec::new();
    for isa in available_isas() {
        for limb_major in [false, true] {
            for threads in 1..=3 {
                all.push(Options {
                    limb_major,
                    fuse: threads != 1,
                    ..Options::new(isa, threads)
                });
            }
        }
    }
    all
}

/// All that every step writes, not just what is downloaded, is what the references say.
fn bisected(seed: u64, verified: &Arc<Verified>, options: &Options, inputs: &Inputs) {
    let program = || text::print(verified.program());
    let plan = plan(Arc::clone(verified), options);
    let plan = plan.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", program()));
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    if let Ok(Some(wrong)) = bisect(&mut executor, inputs, &mut |_| true) {
        panic!("seed {seed}, {options:?}: {wrong}\n{}", program());
    }
}

#[test]
fn kernels_agree_with_references_whatever_the_isa_layout_and_threads() {
    let mut reached: BTreeMap<&str, usize> = ALL
        .iter()
        .filter(|def| matches!(&def.body, Body::Kernel(body) if body.reference.is_some()))
        .map(|def| (def.name, 0))
        .collect();
    for seed in 0..SEEDS {
        let program = Arc::new(generate(&mut Source::from_seed(seed)));
        let Some(verified) = verify(Arc::clone(&program)).verified else {
            continue;
        };
        let verified = Arc::new(verified);
        let inputs = inputs(&program, |i| (i as i64 * 7) % 23 - 5);
        let mut all = configurations().into_iter();
        let first = all.next().unwrap();
        for limb_major in [false, true] {
            let options = Options {
                limb_major,
                ..first.clone()
            };
            bisected(seed, &verified, &options, &inputs);
        }
        let expected = outcome(&verified, &first, &inputs);
        for options in all {
            let got = outcome(&verified, &options, &inputs);
            assert_eq!(
                got,
                expected,
                "seed {seed}, {options:?}\n{}",
                text::print(&program)
            );
        }
        if expected.is_ok() {
            count(&program, &mut reached);
        }
    }
    let rare: Vec<_> = reached
        .into_iter()
        .filter(|(_, count)| *count < 5)
        .collect();
    assert_eq!(rare, [], "ops that hardly any program ran");
    assert!(available_isas().contains(&Isa::Portable));
}

fn count(program: &Program, reached: &mut BTreeMap<&str, usize>) {
    for step in &program.steps {
        let cloakwork_ir::Step::Op(op) = step else {
            continue;
        };
        let name = program.text_name(op.name);
        if let Ok((def, _)) = find_form(name, program.args(op).len(), program.generation)
            && let Some(count) = reached.get_mut(def.name)
        {
            *count += 1;
        }
    }
}
