//! The seeded loops of every test run, and the coverage that the generator must reach.

use cloakwork_ir::{FIELD_DTYPES, Step, text};
use cloakwork_ops::{ALL, find, find_form};
use cloakwork_testing::{
    Failure, SAMPLE_CIRCOM_FILES, SAMPLE_INSTRUCTIONS, SAMPLE_TRANSCRIPT, Source, check_all,
    check_circom_bytes, check_heal_bytes, check_instructions, check_program, check_text,
    damaged_circom_file, damaged_instructions, execute, generate, inputs, mutate, mutate_bytes,
    tries, well_typed,
};
use proptest::prelude::{any, proptest};
use std::collections::BTreeMap;
use std::sync::Arc;

const SEEDS: u64 = 1500;

#[test]
fn generated_programs_reach_every_op() {
    // Ops that call back need a caller, which a generated program does not have.
    let ops = ALL.iter().filter(|def| !def.calls_back());
    let mut calls: BTreeMap<&str, usize> = ops.map(|def| (def.name, 0)).collect();
    for seed in 0..SEEDS {
        let program = generate(&mut Source::from_seed(seed));
        for step in &program.steps {
            let Step::Op(op) = step else { continue };
            let name = program.text_name(op.name);
            let form = find_form(name, program.args(op).len(), program.generation);
            if let Ok((def, _)) = form {
                *calls.entry(def.name).or_default() += 1;
            }
        }
    }
    // Some ops need operands that are rarely generated: matrices of floats, transcripts, points.
    let is_rare = |(name, count): &(&str, usize)| match find(name).map(|def| def.family) {
        Some(family) if family.is_of_numbers() || family.is_of_proofs() => *count < 1,
        _ => *count < 5,
    };
    let rare: Vec<_> = calls.into_iter().filter(is_rare).collect();
    assert_eq!(rare, []);
}

#[test]
fn generated_programs_reach_every_field() {
    let programs = (0..SEEDS).map(|seed| generate(&mut Source::from_seed(seed)));
    let texts: Vec<String> = programs.map(|program| text::print(&program)).collect();
    for dtype in FIELD_DTYPES {
        let tensor = format!(" {dtype}[");
        let reached = texts.iter().filter(|text| text.contains(&tensor)).count();
        assert!(reached >= 5, "{dtype}: {reached}");
    }
}

#[test]
fn generated_programs_run_by_their_references() {
    let mut ran = 0;
    for seed in 0..tries(SEEDS) {
        let program = generate(&mut Source::from_seed(seed));
        let verified = Arc::new(well_typed(&program).expect("the generator promises it"));
        match execute(&verified, &inputs(&program, |_| 0)) {
            Ok(_) => ran += 1,
            // The run rejects a computed modulus of 0 or an invalid computed permutation.
            Err(Failure::Refused(text)) => {
                assert!(text.contains("expected "), "seed {seed}: {text}");
            }
            Err(Failure::Wrong(text)) => panic!("seed {seed}: {text}"),
        }
    }
    let seeds = tries(SEEDS);
    assert!(ran as u64 > seeds / 2, "{ran} of {seeds}");
}

#[test]
fn the_sample_transcript_is_right_before_it_is_damaged() {
    let program = cloakwork_formats::parse_heal(SAMPLE_TRANSCRIPT.as_bytes());
    let program = program.expect("the sample is a transcript");
    let verified = Arc::new(well_typed(&program).expect("the sample is well typed"));
    let outcome = execute(&verified, &inputs(&program, |_| 0)).expect("the sample runs");
    assert_eq!(outcome.outputs.len(), 1);
    assert_eq!(outcome.mismatches, []);
}

#[test]
fn damaged_programs_of_the_instruction_set_are_judged_or_refused() {
    for sample in SAMPLE_INSTRUCTIONS {
        assert_eq!(check_instructions(sample.as_bytes()), Ok(()));
    }
    for seed in 0..tries(SEEDS) {
        let damaged = damaged_instructions(&mut Source::from_seed(seed));
        assert_eq!(check_instructions(&damaged), Ok(()), "seed {seed}");
    }
}

#[test]
fn damaged_files_of_circom_are_read_or_refused() {
    for bytes in SAMPLE_CIRCOM_FILES {
        assert_eq!(check_circom_bytes(bytes), Ok(()));
    }
    for seed in 0..20_000 {
        let damaged = damaged_circom_file(&mut Source::from_seed(seed));
        assert_eq!(check_circom_bytes(&damaged), Ok(()), "seed {seed}");
    }
}

proptest! {
    #[test]
    fn damaged_transcripts_are_read_or_refused(seed in any::<u64>()) {
        let mut source = Source::from_seed(seed);
        let damaged = mutate_bytes(SAMPLE_TRANSCRIPT.as_bytes(), &mut source);
        assert_eq!(check_heal_bytes(&damaged), Ok(()));
    }

    #[test]
    fn generated_programs_keep_all_laws(seed in any::<u64>()) {
        let program = generate(&mut Source::from_seed(seed));
        assert_eq!(check_all(program), Ok(()));
    }

    #[test]
    fn damaged_programs_keep_the_laws_of_all_programs(seed in any::<u64>()) {
        let mut source = Source::from_seed(seed);
        let program = generate(&mut source);
        assert_eq!(check_program(mutate(&program, &mut source)), Ok(()));
    }

    #[test]
    fn any_bytes_make_a_program_to_generate(bytes in any::<Vec<u8>>()) {
        assert_eq!(check_all(generate(&mut Source::from_bytes(&bytes))), Ok(()));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[%a-c0-2=,:;\\[\\]{}\\-> \"\n]{0,60}") {
        assert_eq!(check_text(&text), Ok(()));
        assert_eq!(check_heal_bytes(text.as_bytes()), Ok(()));
    }
}
