//! The seeded fuzz loop: `fuzz [--seeds N] [--start S]`. Stops at the first broken law and prints
//! the seed that reproduces it.

use cloakwork_testing::{
    SAMPLE_TRANSCRIPT, Source, check_all, check_circom_bytes, check_container_bytes,
    check_heal_bytes, check_instructions, check_program, check_tensor_bytes, check_text,
    damaged_circom_file, damaged_container, damaged_instructions, damaged_tensor, generate, mutate,
    mutate_bytes,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Number of texts and files for each seed in `check_seed`.
const FILES_A_SEED: u64 = 12;

struct Options {
    seeds: u64,
    start: u64,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("fuzz: {message}");
            return ExitCode::from(2);
        }
    };
    for seed in options.start..options.start.saturating_add(options.seeds) {
        let outcome = catch_unwind(AssertUnwindSafe(|| check_seed(seed)));
        let broken = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(law)) => law,
            Err(_) => "a panic, see above".to_owned(),
        };
        eprintln!("fuzz: seed {seed}: {broken}\nagain: fuzz --start {seed} --seeds 1");
        return ExitCode::FAILURE;
    }
    println!(
        "{} seeds from {}: every law holds of as many programs, right and wrong, and of {} damaged \
         files",
        options.seeds,
        options.start,
        FILES_A_SEED * options.seeds
    );
    ExitCode::SUCCESS
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        seeds: 1000,
        start: 0,
    };
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--seeds" => &mut options.seeds,
            "--start" => &mut options.start,
            other => return Err(format!("expected --seeds N or --start S, got {other}")),
        };
        let value = words.next().unwrap_or_default();
        *place = value
            .parse()
            .map_err(|_| format!("{word} wants a number, got `{value}`"))?;
    }
    Ok(options)
}

/// One valid program, one mutated program, and damaged texts and files.
fn check_seed(seed: u64) -> Result<(), String> {
    let mut source = Source::from_seed(seed);
    let program = generate(&mut source);
    check_program(mutate(&program, &mut source))?;
    let printed = cloakwork_ir::text::print(&program);
    let damaged = mutate_bytes(printed.as_bytes(), &mut source);
    check_text(&String::from_utf8_lossy(&damaged))?;
    let damaged = mutate_bytes(SAMPLE_TRANSCRIPT.as_bytes(), &mut source);
    check_heal_bytes(&damaged)?;
    check_instructions(&damaged_instructions(&mut source))?;
    check_container_bytes(&damaged_container(&mut source))?;
    for _ in 0..4 {
        check_tensor_bytes(&damaged_tensor(&mut source))?;
        check_circom_bytes(&damaged_circom_file(&mut source))?;
    }
    check_all(program)
}
