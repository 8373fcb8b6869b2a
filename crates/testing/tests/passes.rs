//! Runs `tests/passes/*.cw`: each file holds a program, followed by the programs after its passes.
//! `UPDATE_EXPECT=1` rewrites these. Also random programs, with passes and without: results are
//! equal bit for bit.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cloakwork_ir::{Program, text};
use cloakwork_passes::{Extent, PASSES, Pass, Shown, optimize, shown};
use cloakwork_plan::{Options, plan};
use cloakwork_run::{Executor, Outcome, RunError, RunOptions};
use cloakwork_testing::{Inputs, Source, generate, generate_calls, inputs, tries};
use cloakwork_verify::{Verified, verify};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

const BEHIND: &str = "\n; after ";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/passes");
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn verified(program: Program) -> Option<Arc<Verified>> {
    verify(Arc::new(program)).verified.map(Arc::new)
}

/// The passes that the first line names.
fn named(file: &str) -> Vec<Pass> {
    let line = file.lines().next().unwrap();
    let names = line.strip_prefix("; passes: ").unwrap().split(", ");
    let pass = |name: &str| PASSES.iter().find(|pass| pass.name == name).copied();
    names.map(|name| pass(name).unwrap()).collect()
}

/// The program after each pass that the file names.
fn made(source: &str) -> Vec<Shown> {
    let verification = verify(Arc::new(text::parse(source).unwrap()));
    let errors: Vec<String> = verification.errors().map(ToString::to_string).collect();
    let Some(verified) = verification.verified else {
        panic!("{errors:?}\n{source}");
    };
    shown(&Arc::new(verified), &named(source)).unwrap().1
}

/// The same as comments, in the form of the file.
fn actual(source: &str) -> String {
    let shown = made(source);
    let mut lines = String::new();
    for pass in shown {
        lines += &format!("; after {}: {}\n", pass.pass, pass.counted());
        for line in pass.after.unwrap_or_default().lines() {
            lines += &format!(";   {line}\n");
        }
    }
    lines
}

#[test]
fn passes_make_of_programs_what_stands_behind_them() {
    let mut wrong = Vec::new();
    for path in files() {
        let file = fs::read_to_string(&path).unwrap();
        let end = file.find(BEHIND).map_or(file.len(), |at| at + 1);
        let (source, expected) = file.split_at(end);
        let source = source.trim_end();
        let actual = actual(source);
        if actual == expected {
            continue;
        }
        if env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, format!("{source}\n\n{actual}")).unwrap();
        } else {
            wrong.push(format!("{}:\n{actual}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}set UPDATE_EXPECT=1 to accept",
        wrong.join("\n")
    );
}

#[test]
fn every_pass_has_a_program_that_it_changes() {
    let mut changed = BTreeSet::new();
    for path in files() {
        let file = fs::read_to_string(path).unwrap();
        let shown = made(&file);
        changed.extend(
            shown
                .iter()
                .filter(|pass| pass.after.is_some())
                .map(|pass| pass.pass),
        );
    }
    let all: BTreeSet<&str> = PASSES.iter().map(|pass| pass.name).collect();
    assert_eq!(changed, all);
}

/// A run with passes or without.
fn run(verified: &Arc<Verified>, inputs: &Inputs, optimize: bool) -> Result<Outcome, String> {
    let options = Options {
        optimize,
        ..Options::new(cloakwork_kernels::best_isa(), 1)
    };
    let plan = plan(Arc::clone(verified), &options).map_err(|error| error.to_string())?;
    let told = |error: RunError| error.to_string();
    let mut executor = Executor::new(Arc::new(plan)).map_err(told)?;
    let options = RunOptions {
        verify: true,
        ..RunOptions::default()
    };
    executor.run(inputs, &options, &mut |_| true).map_err(told)
}

/// All parts of a run's outcome that a user sees.
fn seen(outcome: Result<Outcome, String>) -> Result<Vec<String>, String> {
    let outcome = outcome?;
    let outputs = outcome.outputs.iter().map(|output| {
        let bytes = output.tensor.bytes().as_slice();
        format!(
            "{:?} {} {} {bytes:?}",
            output.name,
            output.step,
            output.tensor.ty()
        )
    });
    let mismatches = outcome.mismatches.iter().map(ToString::to_string);
    Ok(outputs.chain(mismatches).collect())
}

/// Compares runs with passes and without. Returns whether the passes changed the program.
fn agrees(program: Program, seed: u64) -> bool {
    let text = text::print(&program);
    let Some(verified) = verified(program) else {
        panic!("seed {seed}: generated programs are right\n{text}");
    };
    let cleaned = optimize(&verified, Extent::Everywhere);
    let cleaned = cleaned.unwrap_or_else(|mistake| panic!("seed {seed}: {mistake}\n{text}"));
    let inputs = inputs(verified.program(), |i| i as i64 % 7 + 1);
    let plain = seen(run(&verified, &inputs, false));
    let optimized = seen(run(&verified, &inputs, true));
    if plain != optimized {
        let made = cleaned.map_or(String::new(), |made| text::print(made.program()));
        panic!("seed {seed}:\n{text}\nmade\n{made}\n{plain:?}\n{optimized:?}");
    }
    cleaned.is_some()
}

/// The same program, in which some calls are repeated immediately.
fn repeated(program: &Program, source: &mut Source) -> Program {
    let mut lines: Vec<String> = Vec::new();
    for line in text::print(program).lines() {
        lines.push(line.to_owned());
        let mut parts = line.splitn(2, " = ");
        if let (Some(name), Some(call)) = (parts.next(), parts.next())
            && source.chance(2)
        {
            let again = format!("{name}_again");
            lines.push(format!("{again} = {call}"));
            lines.push(format!(
                "device_to_host {again}, none -> output \"{}\"",
                lines.len()
            ));
        }
    }
    text::parse(&lines.join("\n")).unwrap()
}

const SEEDS: u64 = if cfg!(debug_assertions) { 450 } else { 1500 };

/// Programs of copies, views, sums and products over a few small tensors, many of them in place:
/// many values are computed twice, with many writes in between.
fn movements(source: &mut Source, is_field: bool) -> String {
    let mut text = String::from("%a = host_to_device input \"a\" i64[6]\n");
    text += "%b = host_to_device i64[6] {1, 2, 3, 4, 5, 6}\n%q = host_to_device i64[1] {17}\n";
    if is_field {
        text = "%a = host_to_device input \"a\" i64[6]\n%b = host_to_device input \"b\" i64[6]\n"
            .into();
    }
    let mut names = vec!["a".to_owned(), "b".to_owned()];
    let mut views: Vec<(String, usize)> = Vec::new();
    for i in 0..4 + source.below(24) {
        let [x, y, z] = [(); 3].map(|()| source.pick(&names).cloned().unwrap());
        match source.below(10) {
            0 | 1 => {
                text += &format!("%t{i} = empty [6], i64\n");
                names.push(format!("t{i}"));
            }
            2 => {
                let start = source.below(4);
                let size = 1 + source.below(6 - start);
                text += &format!("%v{i} = get_slice %{x}, [{start}:{}:1]\n", start + size);
                views.push((format!("v{i}"), size));
            }
            3 | 4 => {
                let Some((from, size)) = source.pick(&views).cloned() else {
                    continue;
                };
                let same: Vec<_> = views.iter().filter(|(_, other)| *other == size).collect();
                let Some((to, _)) = source.pick(&same).copied() else {
                    continue;
                };
                let call = ["copy %{from}", "add %{from}, %{to}"][source.below(2)];
                let call = call.replace("{from}", &from).replace("{to}", to);
                text += &format!("%{to} = {call}, %{to}\n");
            }
            5 => text += &format!("%{y} = copy %{x}, %{y}\n"),
            6 => {
                text += &format!("%n{i} = empty [6], i64\n%n{i} = copy %{x}, %n{i}\n");
                names.push(format!("n{i}"));
            }
            7 => text += &format!("device_to_host %{x}, none -> output \"o{i}\"\n"),
            8 if is_field => {
                text += &format!("%p{i} = empty [6], i64\n%p{i} = reciprocal %{x}, %p{i}\n");
                names.push(format!("p{i}"));
            }
            8 => {
                text += &format!("%p{i} = empty [6], i64\n%p{i} = modmul %{x}, %{y}, %q, %p{i}\n");
                text += &format!("%{z} = modsum %{y}, %p{i}, %q, %{z}\n");
                names.extend(source.chance(4).then(|| format!("p{i}")));
            }
            _ => text += &format!("%{z} = add %{x}, %{y}, %{z}\n"),
        }
    }
    for (i, name) in names.iter().enumerate() {
        text += &format!("device_to_host %{name}, none -> output \"end{i}\"\n");
    }
    if is_field {
        return text.replace("i64", "bn254.fr");
    }
    text
}

#[test]
fn copies_views_and_writes_in_place_give_the_same_with_passes_and_without() {
    let mut right = 0;
    let mut changed = 0;
    let seeds = tries(SEEDS);
    for seed in 0..8 * seeds {
        let text = movements(&mut Source::from_seed(seed), seed % 4 == 0);
        let program = text::parse(&text).unwrap();
        // A view may overlap the target of its copy: the verifier rejects such programs.
        if verified(program.clone()).is_some() {
            right += 1;
            changed += u64::from(agrees(program, seed));
        }
    }
    assert!(right > seeds && changed > right / 2, "{right} {changed}");
}

#[test]
fn random_programs_give_the_same_with_passes_and_without() {
    let seeds = tries(SEEDS);
    let changed = (0..seeds).filter(|&seed| {
        let mut source = Source::from_seed(seed);
        agrees(generate(&mut source), seed)
    });
    assert!(changed.count() as u64 > seeds / 4);
}

#[test]
fn calls_that_stand_twice_give_the_same_with_passes_and_without() {
    let mut changed = 0;
    for (seed, def) in (0u64..)
        .zip(cloakwork_ops::ALL)
        .filter(|(_, def)| !def.calls_back())
    {
        let mut source = Source::from_seed(seed);
        let program = repeated(&generate_calls(&mut source, def), &mut source);
        if verified(program.clone()).is_some() {
            changed += u64::from(agrees(program, seed));
        }
    }
    assert!(changed > 50, "{changed}");
}
