//! Passes must not change errors and the steps that they name, writes between equal reads, effects,
//! budgets.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cloakwork_ir::{HostTensor, Step, text};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{ALL, OpDef};
use cloakwork_passes::{Extent, optimize};
use cloakwork_plan::{Options, Plan, PlanError, plan};
use cloakwork_run::{Executor, RunOptions, bisect};
use cloakwork_testing::{Inputs, Source, generate_calls, inputs};
use cloakwork_verify::{Verified, verify};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn verified(source: &str) -> Arc<Verified> {
    let verification = verify(Arc::new(text::parse(source).unwrap()));
    let errors: Vec<String> = verification.errors().map(ToString::to_string).collect();
    let Some(verified) = verification.verified else {
        panic!("{errors:?}\n{source}");
    };
    Arc::new(verified)
}

fn cleaned(source: &str) -> Option<Arc<Verified>> {
    optimize(&verified(source), Extent::Everywhere).unwrap()
}

fn planned(
    verified: &Arc<Verified>,
    optimize: bool,
    budget: Option<u64>,
) -> Result<Plan, PlanError> {
    let options = Options {
        optimize,
        memory_budget_bytes: budget,
        ..Options::new(best_isa(), 1)
    };
    plan(Arc::clone(verified), &options)
}

fn numbers(verified: &Verified) -> Inputs {
    inputs(verified.program(), |i| i as i64 + 1)
}

/// The mismatches of a run, or its error.
fn said(source: &str, optimize: bool) -> String {
    let verified = verified(source);
    let plan = planned(&verified, optimize, None).unwrap();
    let options = RunOptions {
        verify: true,
        ..RunOptions::default()
    };
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    match executor.run(&numbers(&verified), &options, &mut |_| true) {
        Ok(outcome) => outcome
            .mismatches
            .iter()
            .map(|m| format!("{m}\n"))
            .collect(),
        Err(error) => error.to_string(),
    }
}

const EQUAL: &str = "%a = host_to_device input \"a\" i64[2]
%x = empty [2], i64
%x = multiply %a, %a, %x
%y = empty [2], i64
%y = multiply %a, %a, %y
";

#[test]
fn an_error_of_a_step_that_nobody_reads_is_kept() {
    let source = format!("{EQUAL}%g = empty [2], i64\n%g = take_along_axis %x, %y, 0, %g\n");
    assert!(cleaned(&source).is_some());
    let plain = said(&source, false);
    assert!(
        plain.contains("step 6") && plain.contains("indices"),
        "{plain}"
    );
    assert_eq!(said(&source, true), plain);
}

#[test]
fn of_two_equal_steps_that_are_wrong_the_first_is_told() {
    let take =
        |name| format!("%{name} = empty [2], i64\n%{name} = take_along_axis %a, %x, 0, %{name}\n");
    let source = format!("{EQUAL}{}{}", take("g"), take("h"));
    let source = format!("{source}device_to_host %g, none -> output \"g\"\n");
    let source = format!("{source}device_to_host %h, none -> output \"h\"\n");
    let plain = said(&source, false);
    assert!(plain.contains("step 6"), "{plain}");
    assert_eq!(said(&source, true), plain);
}

#[test]
fn a_mismatch_names_the_tensor_and_the_step_that_the_program_has() {
    let source = format!("{EQUAL}device_to_host %y, none -> i64[2] {{1, 5}}\n");
    let source = format!("{source}device_to_host %x, none -> i64[2] {{1, 4}}\n");
    assert!(cleaned(&source).is_some());
    let plain = said(&source, false);
    assert!(
        plain.contains("device_to_host %y") && plain.contains("step 4"),
        "{plain}"
    );
    assert_eq!(said(&source, true), plain);
}

#[test]
fn a_mismatch_of_an_expanded_op_is_told_as_without_passes() {
    let source = format!(
        "{EQUAL}%z = repeat_interleave %y, 2, 0\ndevice_to_host %z, none -> i64[4] {{1, 1, 4, 5}}\n\
         device_to_host %x, none -> i64[2] {{1, 4}}\n"
    );
    let plain = said(&source, false);
    assert!(plain.contains("device_to_host %z"), "{plain}");
    assert_eq!(said(&source, true), plain);
}

#[test]
fn an_output_that_is_an_input_has_memory_of_its_own() {
    let source = "%a = host_to_device input \"a\" i64[2]
%b = empty [2], i64
%b = copy %a, %b
device_to_host %b, none -> output \"b\"
";
    let verified = verified(source);
    let steps = cleaned(source).unwrap().program().steps.len();
    assert_eq!(steps, 2);
    let inputs = numbers(&verified);
    let plan = planned(&verified, true, None).unwrap();
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    let outcome = executor
        .run(&inputs, &RunOptions::default(), &mut |_| true)
        .unwrap();
    let (given, got) = (inputs.values().next().unwrap(), &outcome.outputs[0].tensor);
    let start = |tensor: &HostTensor| tensor.bytes().as_slice().as_ptr();
    assert_eq!(given.words(), got.words());
    assert_ne!(start(given), start(got));
}

#[test]
fn what_a_view_of_it_is_written_through_is_not_merged() {
    let source = format!(
        "{EQUAL}%v = get_slice %x, [0:1:1]\n%w = get_slice %a, [1:2:1]\n%v = copy %w, %v\n\
         device_to_host %x, none -> i64[2] {{2, 4}}\ndevice_to_host %y, none -> i64[2] {{1, 4}}\n"
    );
    assert_eq!(said(&source, false), "");
    assert_eq!(said(&source, true), "");
    assert!(cleaned(&source).is_none());
}

#[test]
fn a_name_that_is_freed_and_bound_again_is_two_tensors() {
    let source = format!(
        "{EQUAL}free %x\n%x = empty [2], i64\n%x = add %y, %y, %x\n\
         device_to_host %x, none -> i64[2] {{2, 8}}\ndevice_to_host %y, none -> i64[2] {{1, 4}}\n"
    );
    let source = source.replace(
        "%y = multiply",
        "%z = empty [2], i64\n%z = multiply %x, %x, %z\n%y = multiply",
    );
    assert_eq!(said(&source, true), "");
}

#[test]
fn what_draws_observes_or_calls_back_is_neither_merged_nor_dropped() {
    let effects = |verified: &Verified| {
        let calls = verified
            .actions()
            .iter()
            .filter_map(|(_, action)| action.call());
        let named = calls.filter(|call| call.def.effect().is_some());
        named.map(|call| call.def.name).collect::<Vec<_>>()
    };
    let mut seen = 0;
    let all = ALL.iter().filter(|def: &&&OpDef| def.effect().is_some());
    for (seed, def) in (0u64..).zip(all.filter(|def| !def.calls_back())) {
        let program = generate_calls(&mut Source::from_seed(seed), def);
        let twice = [text::print(&program), text::print(&program)].concat();
        let twice = twice.replacen("output \"output 0\"", "output \"first\"", 1);
        let program = text::parse(&twice).unwrap_or(program);
        let Some(verified) = verify(Arc::new(program)).verified.map(Arc::new) else {
            continue;
        };
        let before = effects(&verified);
        let after = optimize(&verified, Extent::Everywhere)
            .unwrap()
            .unwrap_or(verified);
        assert_eq!(effects(&after), before, "{}", def.name);
        seen += usize::from(!before.is_empty());
    }
    assert!(seen >= 6, "{seen}");
}

#[test]
fn no_pass_spells_the_name_of_an_op() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../passes/src");
    let forms = ALL.iter().flat_map(|def| def.forms);
    let names: BTreeSet<&str> = forms.map(|form| form.name).collect();
    let mut spelled = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        let code = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let code: Vec<&str> = code.collect();
        let quoted = code
            .iter()
            .flat_map(|line| line.split('"').skip(1).step_by(2));
        spelled.extend(
            quoted
                .filter(|word| names.contains(word))
                .map(str::to_owned),
        );
    }
    assert_eq!(spelled, Vec::<String>::new());
}

#[test]
fn a_program_that_keeps_to_a_budget_keeps_to_it_with_passes() {
    // %x is computed again at the end. If it is computed once, it lives through %s, which is large.
    let source = "%a = host_to_device input \"a\" i64[65536]
%x = empty [65536], i64
%x = sort %a, 0, 0, %x
%m = empty [], i64
%m = max %x, [0], 0, %m
%s = zeros [131072], i64
%t = empty [131072], i64
%t = sort %s, 0, 0, %t
%n = empty [], i64
%n = max %t, [0], 0, %n
%y = empty [65536], i64
%y = sort %a, 0, 0, %y
%k = empty [], i64
%k = min %y, [0], 0, %k
device_to_host %m, none -> output \"m\"
device_to_host %n, none -> output \"n\"
device_to_host %k, none -> output \"k\"
";
    let verified = verified(source);
    let natural = planned(&verified, false, None).unwrap();
    let budget = natural.memory.peak_bytes();
    let bounded = planned(&verified, true, Some(budget)).unwrap();
    assert!(!bounded.spills() && bounded.memory.peak_bytes() <= budget);
    let free = planned(&verified, true, None).unwrap();
    assert!(free.memory.arena_bytes <= natural.memory.arena_bytes);
}

#[test]
fn a_long_program_is_rewritten_only_where_that_pays() {
    let mut source = EQUAL.to_owned();
    for i in 0..5000 {
        source += &format!(
            "%x = add %x, {}, %x\n",
            if i % 2 == 0 { "%y" } else { "%a" }
        );
    }
    source += "device_to_host %x, none -> output \"x\"\n";
    source +=
        "%u = empty [2], i64\n%u = add %a, %a, %u\n%v = empty [2], i64\n%v = add %a, %a, %v\n";
    source += "device_to_host %u, none -> output \"u\"\ndevice_to_host %v, none -> output \"v\"\n";
    let verified = verified(&source);
    assert!(optimize(&verified, Extent::WherePaid).unwrap().is_none());
    assert!(optimize(&verified, Extent::Everywhere).unwrap().is_some());
}

#[test]
fn a_search_for_a_wrong_op_follows_a_plan_with_passes_too() {
    let source = format!("{EQUAL}%s = empty [2], i64\n%s = add %x, %y, %s\n");
    let source = format!("{source}device_to_host %s, none -> output \"s\"\n");
    let verified = verified(&source);
    let plan = planned(&verified, true, None).unwrap();
    assert!(plan.given.is_some());
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    let done = bisect(&mut executor, &numbers(&verified), &mut |_| true).unwrap();
    assert_eq!((done.wrong, done.by_reference), (None, 2));
}

#[test]
fn segments_and_origins_are_those_of_the_program() {
    let source = format!(
        "{}%s = empty [2], i64\n%s = add %x, %y, %s\ndevice_to_host %s, none -> output \"s\"\n",
        EQUAL.replace("%y = empty", "segment_start \"second\"\n%y = empty")
    );
    let source = format!("{source}segment_end\n");
    let Ok(program) = text::parse(&source) else {
        panic!("{source}");
    };
    let verified = Arc::new(verify(Arc::new(program)).verified.unwrap());
    let made = optimize(&verified, Extent::Everywhere).unwrap().unwrap();
    let origins = made.origins().unwrap();
    for (at, step) in made.program().steps.iter().enumerate() {
        let own = &verified.program().steps[origins[at] as usize];
        assert_eq!(std::mem::discriminant(step), std::mem::discriminant(own));
        if let (Step::Op(made_op), Step::Op(own_op)) = (step, own) {
            let name = verified.program().text_name(own_op.name);
            assert_eq!(made.program().text_name(made_op.name), name);
        }
        let segment = |verified: &Verified, step| {
            let text = verified.segment_of(step);
            text.map(|text| verified.program().text_name(text).to_owned())
        };
        assert_eq!(segment(&made, at as u32), segment(&verified, origins[at]));
    }
}

#[test]
fn a_run_error_is_one_with_passes_and_without() {
    let source = "%a = host_to_device input \"a\" i64[3]
%q = host_to_device input \"q\" i64[1]
%x = empty [3], i64
%x = modmul %a, %a, %q, %x
%y = empty [3], i64
%y = modmul %a, %a, %q, %y
%z = empty [3], i64
%z = modsum %x, %y, %q, %z
device_to_host %z, none -> output \"z\"
";
    let told: Vec<String> = [false, true].map(|optimize| said(source, optimize)).into();
    assert_eq!(told[0], told[1]);
    assert!(told[0].contains("step 3: modmul"), "{}", told[0]);
}

#[test]
fn a_program_is_expanded_and_verified_once_for_all_its_plans() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/rlwe/key_switch.cw");
    let verified = verified(&fs::read_to_string(path).unwrap());
    for optimize in [false, true] {
        let planned = |threads| {
            let options = Options {
                optimize,
                ..Options::new(best_isa(), threads)
            };
            plan(Arc::clone(&verified), &options).unwrap().verified
        };
        let first = planned(1);
        assert!(!Arc::ptr_eq(&first, &verified), "nothing was expanded");
        assert!(Arc::ptr_eq(&first, &planned(2)), "expanded twice");
    }
}
