//! Every op's kernels against its reference, inside random programs: with every instruction set of
//! this processor, both layouts, and one, two and three threads. References allow floats the error
//! that their declarations state; different runs must give the same bits.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use cloakwork_ir::{DType, HostTensor, Program, text};
use cloakwork_kernels::{Isa, available_isas};
use cloakwork_ops::{ALL, Body, Family, OpDef, Reference, find_form};
use cloakwork_plan::{Options, plan};
use cloakwork_run::{Executor, RunError, RunOptions, bisect};
use cloakwork_testing::{Inputs, Source, generate, generate_calls, inputs, is_whole, tries};
use cloakwork_verify::{Verified, verify};
use std::sync::Arc;

/// Random programs, and programs of each op. References take ten times as long in builds without
/// optimisation, as under sanitizers.
const SEEDS: u64 = if cfg!(debug_assertions) { 180 } else { 400 };
const CALLS: u64 = if cfg!(debug_assertions) { 4 } else { 12 };

/// The outcome of a run in a comparable form: results, or the op that rejected contents.
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
        Ok(outcome) => Ok(outcome.outputs.iter().map(|o| words(&o.tensor)).collect()),
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("{other}\n{}\n{plan}", text::print(verified.program())),
    }
}

/// The components of a tensor. NaN has many bit patterns, and processors choose among them: here it
/// has one.
fn words(tensor: &HostTensor) -> Vec<i64> {
    let is_nan = |word: i64| match tensor.dtype().component() {
        DType::F32 => f32::from_bits(word as u32).is_nan(),
        DType::F64 => f64::from_bits(word as u64).is_nan(),
        _ => false,
    };
    let all = tensor.words().into_iter();
    all.map(|word| if is_nan(word) { i64::MIN } else { word })
        .collect()
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

/// Compares all results of steps, not only downloads, with the references: returns the number of
/// compared results, or the contents that the run rejects.
fn bisected(seed: u64, verified: &Arc<Verified>, options: &Options, inputs: &Inputs) -> Held {
    let program = || text::print(verified.program());
    let plan = plan(Arc::clone(verified), options);
    let plan = plan.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", program()));
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    match bisect(&mut executor, inputs, &mut |_| true) {
        Ok(done) => match done.wrong {
            None => Ok(done.by_reference),
            Some(wrong) => panic!("seed {seed}, {options:?}: {wrong}\n{}", program()),
        },
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("seed {seed}, {options:?}: {other}\n{}", program()),
    }
}

type Held = Result<u64, String>;

/// Ops whose bits may depend on the instruction set: products of float matrices use fused
/// multiply-add if available, and libraries choose by the processor.
fn depends_on_isa(program: &Program) -> bool {
    let linear = |def: &OpDef| def.family == Family::Linear;
    ops_of(program).any(linear)
}

#[test]
fn kernels_agree_with_references_whatever_the_isa_layout_and_threads() {
    let (mut held, mut refused) = (0, 0);
    let seeds = tries(SEEDS);
    for seed in 0..seeds {
        let program = Arc::new(generate(&mut Source::from_seed(seed)));
        let verified = verify(Arc::clone(&program)).verified.unwrap();
        let verified = Arc::new(verified);
        let inputs = inputs(&program, |i| (i as i64 * 7) % 23 - 5);
        let isas = available_isas();
        let isa = isas[seed as usize % isas.len()];
        let expected = outcome(&verified, &Options::new(isas[0], 1), &inputs);
        for limb_major in [false, true] {
            let options = Options {
                limb_major,
                ..Options::new(isa, 1)
            };
            let bisected = bisected(seed, &verified, &options, &inputs);
            assert_eq!(
                bisected.as_ref().err(),
                expected.as_ref().err(),
                "seed {seed}"
            );
            held += bisected.unwrap_or(0);
        }
        refused += usize::from(expected.is_err());
        let mut of_isa = expected.clone();
        for options in configurations() {
            let got = outcome(&verified, &options, &inputs);
            let is_first = options.threads == 1 && !options.limb_major;
            if is_first && depends_on_isa(&program) {
                assert_eq!(got.as_ref().err(), expected.as_ref().err(), "seed {seed}");
                of_isa = got;
                continue;
            }
            let text = || text::print(&program);
            assert_eq!(got, of_isa, "seed {seed}, {options:?}\n{}", text());
        }
    }
    println!("{held} results held to references, {refused} of {seeds} programs refused");
    assert!(held > 10 * seeds && refused < seeds as usize / 4);
    assert!(available_isas().contains(&Isa::PORTABLE));
}

#[test]
fn every_op_is_held_to_its_reference() {
    let ops = ALL.iter().filter(|def| match &def.body {
        Body::Kernel(body) => !matches!(body.reference, Reference::Callers),
        _ => false,
    });
    let wanted = if is_whole() { CALLS } else { CALLS / 2 };
    let mut rare = vec![];
    for def in ops {
        let mut calls = 0;
        for attempt in 0..wanted {
            // Of the op alone, so that a new one changes no other's programs.
            let seed = seed_of(def.name) + attempt;
            let program = Arc::new(generate_calls(&mut Source::from_seed(seed), def));
            let verified = verify(Arc::clone(&program)).verified.unwrap();
            let verified = Arc::new(verified);
            let inputs = inputs(&program, |i| (i as i64 * 7) % 23 - 5);
            let isas = available_isas();
            let options = Options::new(isas[attempt as usize % isas.len()], 2);
            if bisected(seed, &verified, &options, &inputs).is_ok() {
                calls += ops_of(&program).filter(|own| own.name == def.name).count();
            }
        }
        if calls < wanted as usize / 3 {
            rare.push((def.name, calls));
        }
    }
    assert_eq!(rare, [], "ops that hardly any program ran");
}

/// FNV-1a of 32 bits, in thousands.
fn seed_of(name: &str) -> u64 {
    let mixed = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    1000 * u64::from(name.bytes().fold(0x811c_9dc5, mixed))
}

fn ops_of(program: &Program) -> impl Iterator<Item = &'static OpDef> {
    program.steps.iter().filter_map(|step| {
        let cloakwork_ir::Step::Op(op) = step else {
            return None;
        };
        let name = program.text_name(op.name);
        let found = find_form(name, program.args(op).len(), program.generation);
        found.ok().map(|(def, _)| def)
    })
}
