//! Ops whose kernels a device lacks: expanded there, or on the host, and the table of both.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_devices::{Capabilities, Costs, Drivers};
use cloakwork_ir::{Device, Step, text};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{ALL, Body};
use cloakwork_plan::{Options, Plan, PlanError, Way, Why, Work, plan};
use cloakwork_run::{Executor, RunError, RunOptions, coverage};
use cloakwork_testing::{Inputs, Source, generate_calls, inputs, programs_without_devices};
use cloakwork_verify::{Verified, verify};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

/// Options for a `sim` with these costs that lacks kernels.
fn lacking(costs: Costs, lacks: &[&str]) -> Options {
    let drivers = Drivers::default();
    let (sim, _) = drivers.of(Device::Sim(0));
    let lacks = lacks.iter().map(|&kernel| kernel.to_owned()).collect();
    let sim = sim.varied(costs, Capabilities::LIMB_MAJOR, lacks).unwrap();
    Options {
        device: Device::Sim(0),
        drivers: drivers.with_sim(Box::leak(Box::new(sim))),
        ..Options::new(best_isa(), 2)
    }
}

fn planned(verified: &Arc<Verified>, options: &Options) -> Arc<Plan> {
    let made = plan(Arc::clone(verified), options);
    Arc::new(made.unwrap_or_else(|error| panic!("{error}")))
}

type Results = Result<Vec<Vec<i64>>, String>;

fn run(plan: &Arc<Plan>, inputs: &Inputs) -> Results {
    let mut executor = Executor::new(Arc::clone(plan)).unwrap();
    match executor.run(inputs, &RunOptions::default(), &mut |_| true) {
        Ok(outcome) => Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
        Err(error @ RunError::Contents { .. }) => Err(error.to_string()),
        Err(other) => panic!("{other}\n{plan}"),
    }
}

/// The results of a program on the host.
fn expected(verified: &Arc<Verified>, inputs: &Inputs) -> Results {
    run(&planned(verified, &Options::new(best_isa(), 2)), inputs)
}

fn moved(plan: &Plan, way: Way) -> u64 {
    let steps = plan.steps.iter().zip(&plan.costs);
    let moves = steps.filter(|(step, _)| matches!(step.work, Work::Transfer(own) if own == way));
    moves.map(|(_, cost)| cost.bytes).sum()
}

/// The rows of a table in words: op, steps, how they run.
fn rows(table: &Value) -> Vec<String> {
    let rows = table["ops"].as_array().unwrap().iter();
    let shown = rows.map(|row| {
        let into = row["into"].as_array().map_or(String::new(), |into| {
            let names: Vec<_> = into.iter().filter_map(Value::as_str).collect();
            format!(" {}", names.join(" "))
        });
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}{into}", row["steps"], word("op"), word("runs"))
    });
    shown.collect()
}

const SUM: &str = r#"
%a = host_to_device input "a" i64[4, 64]
%q = host_to_device i64[1] {1000003}
%b = empty [4, 64], i64
%b = _modneg_ttc %a, 1000003, %b
%c = empty [64], i64
%c = axis_modsum %b, 0, %q, %c
%d = empty [64], i64
%d = modmuladd %c, %c, %c, 1000003, %d
device_to_host %d -> output "d"
"#;

#[test]
fn an_op_whose_kernel_a_device_lacks_is_expanded_there_and_nothing_else_is_moved() {
    let source = SUM.replace("_modneg_ttc", "_modneg_tc");
    let verified = verified(&source);
    let lacks = ["modneg", "axis_modsum", "modmuladd"];
    let plan = planned(&verified, &lacking(Costs::NONE, &lacks));
    assert!(plan.elsewhere.is_empty(), "{plan}");
    assert_eq!(moved(&plan, Way::Upload), 8 * 4 * 64, "{plan}");
    assert_eq!(moved(&plan, Way::Download), 8 * 64, "{plan}");
    let table = coverage::table(&plan, None);
    let expanded = [
        "1 _modneg_tc expansion modmul modsum",
        "1 axis_modsum expansion modsum",
        "1 modmuladd expansion modmul modsum",
    ];
    let found = rows(&table);
    for row in expanded {
        assert!(found.iter().any(|own| own == row), "{row}: {found:?}");
    }
    let given = inputs(verified.program(), |i| i as i64 * 31 - 4_000);
    assert_eq!(run(&plan, &given), expected(&verified, &given));
}

/// Calls whose result is an operand under another name, and what they give.
const ALIASED: [(&str, &str, [i64; 4]); 6] = [
    ("new_reference %a", "copy %a, %b", [5, 2, 3, 40]),
    ("reshape %a, [4]", "copy %a, %b", [5, 2, 3, 40]),
    ("reshape %a, [1, 4]", "copy %a, %b", [5, 2, 3, 40]),
    ("new_reference %a", "modneg %a, 97, %b", [92, 95, 94, 57]),
    ("reshape %a, [1, 4]", "modneg %a, %a, %b", [0, 0, 0, 0]),
    (
        "reshape %a, [1, 4]",
        "modmuladd %a, %a, %b, 97, %b",
        [30, 6, 12, 88],
    ),
];

#[test]
fn a_result_that_is_an_operand_under_another_name_is_expanded_as_one_under_its_own() {
    let lacks = ["copy", "modneg", "modmuladd"];
    for (alias, call, expected) in ALIASED {
        let source = format!(
            "generation later\n%a = host_to_device i64[4] {{5, 2, 3, 40}}\n%b = {alias}\n\
             %b = {call}\ndevice_to_host %b, none -> output \"r\"\n"
        );
        let verified = verified(&source);
        let options = Options {
            fallback: false,
            ..lacking(Costs::NONE, &lacks)
        };
        let results = run(&planned(&verified, &options), &Inputs::new());
        assert_eq!(results, Ok(vec![expected.to_vec()]), "{source}");
    }
}

#[test]
fn an_expansion_whose_parts_a_device_lacks_too_runs_on_the_host_as_one_kernel() {
    let verified = verified(&SUM.replace("_modneg_ttc", "_modneg_tc"));
    let plan = planned(&verified, &lacking(Costs::NONE, &["modneg", "modsum"]));
    let table = coverage::table(&plan, None);
    assert!(
        rows(&table).contains(&"1 _modneg_tc host".to_owned()),
        "{table}"
    );
    assert_eq!(table["runs"]["host"], 1, "{table}");
    let on_host = plan.steps.iter().filter_map(cloakwork_plan::Step::launched);
    assert!(
        on_host.into_iter().any(|row| row.kernel == "modneg"),
        "{plan}"
    );
}

/// A device on which launches take long and transfers do not.
const SLOW: Costs = Costs {
    launch_ns: 10_000_000,
    transfer_ns: 10,
    ..Costs::NONE
};

#[test]
fn an_expansion_that_costs_more_than_the_host_with_transfers_is_left_and_the_reason_says_so() {
    let verified = verified(&SUM.replace("_modneg_ttc", "_modneg_tc"));
    let mut options = lacking(SLOW, &["axis_modsum"]);
    let plan = planned(&verified, &options);
    let of = |plan: &Plan| {
        let step = plan
            .elsewhere
            .iter()
            .find(|moved| plan.program_step(moved.origin) == 5);
        step.map(ToString::to_string)
    };
    let told = of(&plan).unwrap();
    assert!(
        told.ends_with("and the op's expansion costs more there"),
        "{told}"
    );
    // Where the host is not allowed, the expansion runs whatever it costs.
    options.fallback = false;
    let plan = planned(&verified, &options);
    assert_eq!(of(&plan), None, "{plan}");
    let given = inputs(verified.program(), |i| i as i64 * 31 - 4_000);
    assert_eq!(run(&plan, &given), expected(&verified, &given));
}

#[test]
fn without_fallback_a_plan_is_refused_with_all_steps_that_would_run_on_the_host() {
    let source = r#"
%a = host_to_device input "a" i64[64]
%b = empty [64], i64
%b = sort %a, 0, 0, %b
%c = empty [64], i64
%c = multiply %b, %b, %c
%d = empty [64], i64
%d = sort %c, 0, 1, %d
device_to_host %d -> output "d"
"#;
    let verified = verified(source);
    let mut options = lacking(Costs::NONE, &["sort"]);
    options.fallback = false;
    let refused = plan(Arc::clone(&verified), &options).unwrap_err();
    let PlanError::Fallback { steps } = &refused else {
        panic!("{refused}")
    };
    let told: Vec<_> = steps
        .iter()
        .map(|row| (row.step, row.op.as_str()))
        .collect();
    assert_eq!(told, [(2, "sort"), (6, "sort")]);
    let text = refused.to_string();
    let reason = "step 2, sort, would run on the host: sim:0 has no `sort` kernel that takes i64";
    assert!(text.contains(reason), "{text}");
}

#[test]
fn the_table_names_the_transfers_that_each_step_on_the_host_causes() {
    let source = r#"
%a = host_to_device input "a" i64[262144]
%b = empty [262144], i64
%b = multiply %a, %a, %b
%c = empty [262144], i64
%c = sort %b, 0, 0, %c
%d = empty [262144], i64
%d = multiply %c, %c, %d
device_to_host %d -> output "d"
"#;
    let costs = Costs {
        upload_bytes_per_us: 100_000,
        download_bytes_per_us: 200_000,
        transfer_ns: 500,
        ..Costs::NONE
    };
    let verified = verified(source);
    let plan = planned(&verified, &lacking(costs, &["sort"]));
    let given = inputs(verified.program(), |i| i as i64 * 7 % 100);
    let mut executor = Executor::new(Arc::clone(&plan)).unwrap();
    let options = RunOptions {
        profile: true,
        ..RunOptions::default()
    };
    let outcome = executor.run(&given, &options, &mut |_| true).unwrap();
    let table = coverage::table(&plan, Some(&outcome));
    let sort = table["ops"].as_array().unwrap().iter();
    let sort = sort.clone().find(|row| row["op"] == "sort").unwrap();
    // Down before it, up for the product.
    assert_eq!(sort["transfers"]["count"], 2, "{table}\n{plan}");
    assert_eq!(sort["transfers"]["bytes"], (2 * 8) << 18);
    let seconds = sort["transfers"]["estimated_seconds"].as_f64().unwrap();
    assert!(
        (seconds - (20.971 + 10.485 + 1.0) * 1e-6).abs() < 1e-8,
        "{seconds}"
    );
    assert!(sort["transfers"]["measured_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(table["transfers"], sort["transfers"]);
    assert_eq!(
        coverage::table(&plan, None)["transfers"]["measured_seconds"],
        Value::Null
    );
}

#[test]
fn random_programs_on_devices_that_lack_kernels_give_the_same_bytes_and_tables_that_add_up() {
    let names: BTreeSet<&str> = cloakwork_kernels::kernels()
        .iter()
        .map(|row| row.kernel)
        .collect();
    let [mut refused, mut allowed] = [0; 2];
    for (number, verified) in programs_without_devices(11_000).take(300) {
        let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
        let expected = expected(&verified, &inputs);
        let mut draw = Source::from_seed(number);
        let share = 2 + draw.below(6);
        let lacks = names.iter().copied().filter(|_| draw.chance(share));
        let lacks: Vec<&str> = lacks.collect();
        let costs = Costs {
            launch_ns: draw.below(3_000) as u64,
            transfer_ns: draw.below(3_000) as u64,
            ..Costs::NONE
        };
        let mut options = lacking(costs, &lacks);
        options.optimize = draw.chance(2);
        let plan = planned(&verified, &options);
        let shown = text::print(verified.program());
        assert_eq!(run(&plan, &inputs), expected, "{number}\n{shown}\n{plan}");
        let table = coverage::table(&plan, None);
        let sums = table["runs"].as_object().unwrap().values();
        let sum: u64 = sums.filter_map(Value::as_u64).sum();
        let steps = verified.program().steps.iter();
        let calls = steps.filter(|step| matches!(step, Step::Op(_))).count();
        assert_eq!(sum, calls as u64, "{table}\n{shown}");
        // Without fallback, what is merely cheaper on the host runs on the device.
        let is_forced = |why| {
            matches!(
                why,
                Why::NoKernel { expands: false, .. } | Why::NoCheck(_) | Why::NoFill(_)
            )
        };
        let is_forced = plan.elsewhere.iter().any(|moved| is_forced(moved.why));
        options.fallback = false;
        match tried(&verified, &options) {
            Ok(plan) => {
                let table = coverage::table(&plan, None);
                assert_eq!(table["runs"]["host"], Value::Null, "{table}");
                assert!(!is_forced, "{shown}\n{plan}");
                assert_eq!(run(&plan, &inputs), expected, "{number}\n{shown}\n{plan}");
                allowed += 1;
            }
            Err(PlanError::Fallback { steps }) => {
                // What is checked may lie on the host where that costs less.
                let is_check = steps.iter().any(|step| step.why.starts_with("its "));
                assert!(is_forced || is_check, "{steps:?}\n{table}\n{shown}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(
        refused > 60 && allowed > 60,
        "{refused} refused, {allowed} allowed"
    );
}

const CHECKED: &str = r#"
%a = host_to_device input "a" i64[64]
%m = host_to_device input "m" i64[64]
%q = empty [64], i64
%q = multiply %m, %m, %q
%o = empty [64], i64
%o = _modmul_ttt %a, %a, %q, %o
device_to_host %o -> output "o"
"#;

#[test]
fn a_check_whose_kernel_a_device_lacks_is_told_and_refused_as_any_step_is() {
    let verified = verified(CHECKED);
    let has_all = planned(&verified, &lacking(Costs::NONE, &[]));
    assert!(has_all.elsewhere.is_empty(), "{has_all}");
    let mut options = lacking(Costs::NONE, &["check_range"]);
    let plan = planned(&verified, &options);
    let reason = "its check of contents on the host: sim:0 has no `check_range` kernel that takes \
                  i64";
    let text = plan.to_string();
    assert!(text.contains(&format!("5 {reason}\n")), "{text}");
    assert!(text.contains("1 check of contents on the host instead of a device"));
    assert_eq!(moved(&plan, Way::Download), 2 * 8 * 64, "{plan}");
    let table = coverage::table(&plan, None);
    let product = table["ops"].as_array().unwrap().iter();
    let product = product.clone().find(|row| row["op"] == "_modmul_ttt");
    let product = product.unwrap();
    assert_eq!(product["runs"], "host check", "{table}");
    assert_eq!(product["why"], reason);
    // What is checked, and nothing that the device would read anyway.
    assert_eq!(product["transfers"]["count"], 1, "{table}");
    assert_eq!(product["transfers"]["bytes"], 8 * 64);
    let right = inputs(verified.program(), |i| i as i64 % 7 + 2);
    let wrong = inputs(verified.program(), |i| i as i64 % 7);
    for (given, are_right) in [(right, true), (wrong, false)] {
        let expected = expected(&verified, &given);
        assert_eq!(run(&plan, &given), expected);
        assert_eq!(expected.is_ok(), are_right, "{expected:?}");
    }
    options.fallback = false;
    let refused = tried(&verified, &options).unwrap_err().to_string();
    let told = format!("step 5, _modmul_ttt, would run {reason}");
    assert!(refused.contains(&told), "{refused}");
}

#[test]
fn zeros_that_a_device_cannot_make_are_told_and_refused_as_any_step_is() {
    let source = r#"
%a = host_to_device input "a" i64[8]
%b = empty [16], i64
%s = get_slice %b, [0:8:1]
%s = multiply %a, %a, %s
%c = empty [16], i64
%c = multiply %b, %b, %c
device_to_host %c -> output "c"
"#;
    let verified = verified(source);
    let mut options = lacking(Costs::NONE, &["fill"]);
    let plan = planned(&verified, &options);
    let reason = "its zeros on the host: sim:0 has no `fill` kernel for i64";
    let text = plan.to_string();
    assert!(text.contains(&format!("3 {reason}\n")), "{text}");
    assert!(text.contains("1 tensor filled with zeros on the host instead of a device"));
    let table = coverage::table(&plan, None);
    assert_eq!(table["runs"]["host zeros"], 1, "{table}");
    assert_eq!(table["transfers"]["count"], 1, "{table}\n{text}");
    assert_eq!(table["transfers"]["bytes"], 8 * 16, "{table}\n{text}");
    let given = inputs(verified.program(), |i| i as i64 * 31 - 4);
    assert_eq!(run(&plan, &given), expected(&verified, &given));
    options.fallback = false;
    let refused = tried(&verified, &options).unwrap_err().to_string();
    let told = format!("step 3, multiply, would run {reason}");
    assert!(refused.contains(&told), "{refused}");
}

#[test]
fn each_op_with_an_expansion_gives_the_same_bytes_by_it() {
    let kernels = ALL.iter().filter(|def| match &def.body {
        // Its expansion is for HEAL, and calls the same kernel.
        Body::Kernel(body) => body.expand.is_some() && !def.is_transfer(),
        _ => false,
    });
    for def in kernels {
        let mut options = lacking(Costs::NONE, &[def.name]);
        options.fallback = false;
        let mut expanded = 0;
        for seed in 0..60 {
            let program = Arc::new(generate_calls(&mut Source::from_seed(seed), def));
            let verified = Arc::new(verify(program).verified.unwrap());
            let Ok(plan) = tried(&verified, &options) else {
                continue;
            };
            let table = coverage::table(&plan, None);
            expanded += table["runs"]["expansion"].as_u64().unwrap_or(0);
            let inputs = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
            let shown = text::print(verified.program());
            let expected = expected(&verified, &inputs);
            assert_eq!(run(&plan, &inputs), expected, "{seed}\n{shown}\n{plan}");
        }
        assert!(expanded > 1, "{} is expanded {expanded} times", def.name);
    }
}

fn tried(verified: &Arc<Verified>, options: &Options) -> Result<Arc<Plan>, PlanError> {
    plan(Arc::clone(verified), options).map(Arc::new)
}
