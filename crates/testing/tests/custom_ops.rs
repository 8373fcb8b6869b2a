//! Ops that vendors declare: what is refused, and calls that run by their expansions.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_devices::{Capabilities, Costs, Drivers};
use cloakwork_ir::{Device, text};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{Body, find};
use cloakwork_plan::{Options, PlanError, plan};
use cloakwork_run::{Executor, RunOptions, bisect, coverage};
use cloakwork_testing::inputs;
use cloakwork_verify::{Verified, declare, verify};
use std::collections::BTreeSet;
use std::sync::Arc;

const FILE: &str = include_str!("../../../tests/devices/fused.toml");

fn verified(source: &str) -> Arc<Verified> {
    let found = verify(Arc::new(text::parse(source).unwrap()));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

fn errors(source: &str) -> Vec<String> {
    let found = verify(Arc::new(text::parse(source).unwrap()));
    found.errors().map(ToString::to_string).collect()
}

fn words(verified: &Arc<Verified>, options: &Options) -> Vec<Vec<i64>> {
    let plan = Arc::new(plan(Arc::clone(verified), options).unwrap_or_else(|e| panic!("{e}")));
    let mut executor = Executor::new(plan).unwrap();
    let given = inputs(verified.program(), |i| i as i64 * 1_234_567 - 5_000_000);
    let options = RunOptions::default();
    let outcome = executor.run(&given, &options, &mut |_| true).unwrap();
    outcome.outputs.iter().map(|o| o.tensor.words()).collect()
}

const PROGRAM: &str = r#"
%a = host_to_device input "a" i64[3, 5]
%q = host_to_device i64[1] {1000003}
%b = empty [3, 5], i64
%b = square_step %a, %q, 7, %b
%b = square_step %b, 97, 3, %b
device_to_host %b -> output "b"
"#;

const BY_HAND: &str = r#"
%a = host_to_device input "a" i64[3, 5]
%q = host_to_device i64[1] {1000003}
%b = empty [3, 5], i64
%b = modmul %a, %a, %q, %b
%b = modsum %b, 7, %q, %b
%b = modmul %b, %b, 97, %b
%b = modsum %b, 3, 97, %b
device_to_host %b -> output "b"
"#;

#[test]
fn a_declared_op_verifies_and_runs_by_its_expansion_where_no_kernel_is() {
    let known = declare(FILE, "fused.toml").unwrap();
    let names: Vec<&str> = known.iter().map(|def| def.name).collect();
    assert_eq!(names, ["square_step", "cube", "row_sums"]);
    assert!(matches!(find("cube").unwrap().body, Body::Kernel(_)));
    let (by_name, by_hand) = (verified(PROGRAM), verified(BY_HAND));
    let options = Options::new(best_isa(), 2);
    let expected = words(&by_hand, &options);
    assert_eq!(words(&by_name, &options), expected);
    let made = plan(Arc::clone(&by_name), &options).unwrap();
    let table = coverage::table(&made, None);
    assert_eq!(table["runs"]["expansion"], 2, "{table}");
    // On a device that has it neither, and lacks a part of it, too.
    let drivers = Drivers::default();
    let (sim, _) = drivers.of(Device::Sim(0));
    for lacks in ["none", "modsum"] {
        let lacks = BTreeSet::from([lacks.to_owned()]);
        let sim = sim.varied(Costs::NONE, Capabilities::NONE, lacks).unwrap();
        let there = Options {
            device: Device::Sim(0),
            drivers: drivers.with_sim(Box::leak(Box::new(sim))),
            ..Options::new(best_isa(), 2)
        };
        assert_eq!(words(&by_name, &there), expected);
    }
    let plan = Arc::new(plan(Arc::clone(&by_name), &Options::new(best_isa(), 1)).unwrap());
    let given = inputs(by_name.program(), |i| i as i64);
    let mut executor = Executor::new(plan).unwrap();
    assert_eq!(
        bisect(&mut executor, &given, &mut |_| true).unwrap().wrong,
        None
    );
    // The text form carries it by name.
    let printed = text::print(by_name.program());
    assert!(printed.contains("square_step %a, %q, 7, %b"), "{printed}");
    assert_eq!(words(&verified(&printed), &options), expected);
}

#[test]
fn calls_are_held_to_the_declared_signature() {
    declare(FILE, "fused.toml").unwrap();
    let call = |line: &str| {
        errors(&format!(
            "%a = host_to_device input \"a\" i64[3, 5]\n%b = host_to_device input \"b\" i64[4]\n\
             %f = host_to_device input \"f\" f64[3]\n%o = empty [3], i64\n%w = empty [3, 5], i64\n\
             {line}\n"
        ))
    };
    let told = |line: &str, expected: &str| {
        let found = call(line);
        assert!(
            found.iter().any(|error| error.contains(expected)),
            "{line}: {found:?}"
        );
    };
    told("%o = row_sums %a, %b, %o", "size 5, k, of an axis of [k]");
    told("%o = row_sums %a, %f, %o", "expected i64, got f64");
    told("%o = row_sums %b, %b, %o", "the axes [n, k]");
    told("%w = square_step %a, 1, 1, %w", "modul");
    told("%w = square_step %a, 97, 1001, %w", "1000");
    told("%w = square_step %a, 97, %w", "expected 4 arguments, got 3");
    told("%w = cube %w, 97, %w", "none of the elements of `out`");
    assert_eq!(call("%w = square_step %w, 97, 0, %w"), Vec::<String>::new());
}

#[test]
fn an_op_without_an_expansion_is_refused_elsewhere_by_name() {
    declare(FILE, "fused.toml").unwrap();
    let source = r#"
%a = host_to_device input "a" i64[3, 5]
%b = host_to_device input "b" i64[5]
%o = empty [3], i64
%o = row_sums %a, %b, %o
device_to_host %o -> output "o"
"#;
    for device in [Device::Cpu, Device::Sim(0)] {
        let options = Options {
            device,
            ..Options::new(best_isa(), 1)
        };
        let refused = plan(verified(source), &options).unwrap_err();
        assert!(
            matches!(refused, PlanError::OnlyOnItsDevice { step: 3, .. }),
            "{refused}"
        );
        let text = refused.to_string();
        assert!(
            text.contains("`row_sums`, which fused.toml declares"),
            "{text}"
        );
    }
}

/// A declaration with one place changed.
fn refused(from: &str, to: &str) -> String {
    let good = r#"[[op]]
name = "tried"
operands = [
  { name = "a", dtypes = ["i64"] },
]
result = { dtype = "a" }
expansion = "%out = modmul %a, %a, 7, %out"
"#;
    assert!(good.contains(from), "{from}");
    let text = good.replacen(from, to, 1);
    declare(&text, "tried.toml").unwrap_err().to_string()
}

/// A changed place of the declaration, and the error that follows.
const CASES: [(&str, &str, &str); 17] = [
    ("[[op]]", "[[op]", "line 1: expected TOML"),
    (
        "[[op]]",
        "[[ops]]",
        "line 1: expected one of the keys op, got ops",
    ),
    (
        "tried",
        "Tried",
        "line 2: expected a name of lower-case letters",
    ),
    (
        "tried",
        "modmul",
        "line 2: expected a name that no op has, got modmul",
    ),
    (
        "tried",
        "_modmul_ttt",
        "line 2: expected a name of lower-case letters",
    ),
    (
        "dtypes",
        "types",
        "line 4: expected one of the keys name, dtypes, like",
    ),
    (
        "[\"i64\"]",
        "[\"i65\"]",
        "line 4: expected a list of dtypes, got \"i65\"",
    ),
    (
        "dtypes = [\"i64\"]",
        "like = \"b\"",
        "line 4: expected an operand that stands before",
    ),
    (
        "name = \"a\",",
        "name = \"out\",",
        "line 4: expected a name for each parameter",
    ),
    (
        "dtype = \"a\"",
        "dtype = \"b\"",
        "line 6: expected the name of an operand or of a dtype",
    ),
    ("{ dtype = \"a\" }", "3", "expected the key result, a table"),
    ("%a, %a, 7", "%a, %a 7", "line 7: expected"),
    (
        "modmul",
        "modmull",
        "line 7: expected steps that give the result",
    ),
    (
        "%a, 7",
        "%b, 7",
        "line 7: expected steps that give the result",
    ),
    (
        "modmul %a, %a, 7, %out",
        "empty [3], i64",
        "line 7: expected steps that give",
    ),
    (
        "result = {",
        "in_place = 1\nresult = {",
        "line 6: expected true or false as in_place",
    ),
    (
        "\"a\" }\n",
        "\"a\", shape = [\"n\"] }\n",
        "line 6: expected axes of operands",
    ),
];

#[test]
fn a_bad_declaration_names_its_line_and_what_could_stand_there() {
    for (from, to, expected) in CASES {
        let told = refused(from, to);
        assert!(told.starts_with("tried.toml, "), "{told}");
        assert!(told.contains(expected), "{from} -> {to}: {told}");
        assert!(find("tried").is_none(), "{told}");
    }
}

#[test]
fn a_name_is_declared_once_and_the_same_file_may_be_read_again() {
    let text = "[[op]]\nname = \"only_once\"\noperands = [{ name = \"a\", dtypes = [\"i64\"] }]\n\
                result = { dtype = \"a\" }\n";
    let first = declare(text, "one.toml").unwrap();
    let again = declare(text, "copy.toml").unwrap();
    assert!(std::ptr::eq(first[0], again[0]));
    let other = format!("# another\n{text}");
    let told = declare(&other, "two.toml").unwrap_err().to_string();
    let expected = "two.toml, line 3: expected a name that no op has, got only_once, which \
                    one.toml declares";
    assert_eq!(told, expected);
    let twice = declare(&text.replace("only_once", "twin").repeat(2), "three.toml").unwrap_err();
    assert_eq!((twice.line, twice.got.as_str()), (6, "twin again"));
}
