//! Fused steps give the same results as the same steps one after another.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use cloakwork_csrc as _;
use cloakwork_ir::text;
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, plan};
use cloakwork_run::{Executor, RunOptions};
use cloakwork_verify::verify;
use std::collections::HashMap;
use std::sync::Arc;

fn planned(source: &str, fuse: bool, threads: usize) -> Plan {
    let program = Arc::new(text::parse(source).unwrap_or_else(|error| panic!("{error}")));
    let found = verify(program);
    let verified = found
        .verified
        .unwrap_or_else(|| panic!("{:?}", found.findings));
    let options = Options {
        fuse,
        ..Options::new(best_isa(), threads)
    };
    plan(Arc::new(verified), &options).unwrap()
}

fn outputs(plan: Plan) -> Vec<Vec<i64>> {
    let run = RunOptions {
        threads: plan.options.threads,
        split_ns: 1,
        ..RunOptions::default()
    };
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    let outcome = executor.run(&HashMap::new(), &run, &mut |_| true).unwrap();
    outcome.outputs.iter().map(|o| o.tensor.words()).collect()
}

/// Runs a program both ways, on one thread and on three; returns the fused plan and the results.
fn check(source: &str) -> (Plan, Vec<Vec<i64>>) {
    let expected = outputs(planned(source, false, 1));
    for threads in [1, 3] {
        let fused = planned(source, true, threads);
        let text = fused.to_string();
        assert_eq!(outputs(fused), expected, "{text}");
    }
    (planned(source, true, 1), expected)
}

/// The steps of each fusion.
fn fused_steps(plan: &Plan) -> Vec<u32> {
    plan.fusions
        .iter()
        .map(|fusion| fusion.end - fusion.first)
        .collect()
}

#[test]
fn a_chain_runs_in_one_pass_and_needs_no_memory_between() {
    let (plan, results) = check(
        "%a = host_to_device i64[5000] iota
         %b = empty [5000], i64
         %b = multiply %a, %a, %b
         %c = empty [5000], i64
         %c = add %b, %a, %c
         device_to_host %c -> output \"c\"",
    );
    assert_eq!(fused_steps(&plan), [2]);
    assert_eq!(plan.memory.arena_bytes, 0);
    assert_eq!(results[0][4999], 4999 * 4999 + 4999);
}

#[test]
fn a_result_that_is_handed_out_and_then_written_again_keeps_what_it_was() {
    let (plan, results) = check(
        "%a = host_to_device i64[3000] iota
         %b = empty [3000], i64
         %b = add %a, %a, %b
         device_to_host %b -> output \"before\"
         %b = multiply %b, %a, %b
         device_to_host %b -> output \"after\"
         device_to_host %b -> output \"again\"",
    );
    assert_eq!(fused_steps(&plan), [4]);
    assert_eq!(results[0][2999], 2 * 2999);
    assert_eq!(results[1][2999], 2 * 2999 * 2999);
    assert_eq!(results[1], results[2]);
}

#[test]
fn single_elements_and_flags_pass_between_steps_of_any_width() {
    let (plan, results) = check(
        "%a = host_to_device i8[3000] fill 3
         %one = host_to_device i8[] {1}
         %b = empty [3000], i8
         %b = subtract %a, %one, %b
         %flag = empty [3000], bool
         %flag = less %b, %a, %flag
         %c = empty [3000], i8
         %c = where %a, %b, %flag, %c
         device_to_host %c -> output \"c\"",
    );
    assert_eq!(fused_steps(&plan), [3]);
    assert!(results[0].iter().all(|&word| word == 3));
}

#[test]
fn elements_that_are_met_in_another_order_end_a_fusion() {
    let (plan, results) = check(
        "%a = host_to_device i64[3000] iota
         %b = empty [3000], i64
         %b = add %a, %a, %b
         %back = slice %b, [2999:-1:-1]
         %c = empty [3000], i64
         %c = add %a, %back, %c
         %d = empty [3000], i64
         %d = add %c, %c, %d
         device_to_host %d -> output \"d\"",
    );
    assert!(fused_steps(&plan).iter().all(|&steps| steps < 4), "{plan}");
    assert!(
        results[0]
            .iter()
            .zip(0..)
            .all(|(&word, i)| word == 2 * (i + 2 * (2999 - i)))
    );
}

#[test]
fn a_shifted_view_of_what_is_written_ends_a_fusion() {
    let (_, results) = check(
        "%a = host_to_device i64[3001] iota
         %w = zeros [3001], i64
         %low = slice %w, [0:3000:1]
         %high = slice %w, [1:3001:1]
         %x = slice %a, [0:3000:1]
         %low = add %x, %x, %low
         %y = empty [3000], i64
         %y = add %high, %x, %y
         %high = add %x, %y, %high
         device_to_host %w -> output \"w\"",
    );
    assert_eq!(results[0][0], 0);
    assert_eq!(results[0][3000], 2999 + 2999);
}

/// Residues `[2, 600, 3]` are stored limb-major, so that one modulus covers a line of 600.
#[test]
fn a_chain_of_modular_steps_goes_limb_by_limb() {
    let (plan, results) = check(
        "%a = host_to_device i64[2, 600, 3] iota
         %b = host_to_device i64[600, 3] iota
         %q = host_to_device i64[3] {97, 12289, 1125899906826241}
         %x = empty [2, 600, 3], i64
         %x = modmul %a, %b, %q, %x
         %y = empty [2, 600, 3], i64
         %y = modsum %x, %a, %q, %y
         %z = empty [2, 600, 3], i64
         %z = modneg %y, %q, %z
         %z = modmuladd %z, %x, 5, %q, %z
         %z = mod %z, 1000, %z
         device_to_host %z -> output \"z\"",
    );
    assert_eq!(fused_steps(&plan).iter().max(), Some(&5), "{plan}");
    let moduli = [97, 12289, 1_125_899_906_826_241];
    for (flat, &word) in (0i64..).zip(&results[0]) {
        let q = moduli[(flat % 3) as usize];
        let product = flat * (flat % 1800) % q;
        let negative = (q - (product + flat) % q) % q;
        let sum = (i128::from(negative) * i128::from(product) % i128::from(q)) as i64 + 5;
        assert_eq!(word, sum % q % 1000, "{flat}");
    }
}

#[test]
fn rows_that_repeat_are_fused_and_short_rows_are_not() {
    let source = |rows: u32, length: u32| {
        format!(
            "%a = host_to_device i64[{rows}, {length}] iota
             %b = host_to_device i64[{length}] iota
             %c = host_to_device i64[{rows}, 1] iota
             %x = empty [{rows}, {length}], i64
             %x = add %a, %b, %x
             %y = empty [{rows}, {length}], i64
             %y = multiply %x, %c, %y
             %y = add %y, %x, %y
             device_to_host %y -> output \"y\""
        )
    };
    let (plan, results) = check(&source(5, 3000));
    assert_eq!(fused_steps(&plan), [3], "{plan}");
    assert_eq!(results[0][3000 + 7], (3007 + 7) + (3007 + 7));
    let (plan, _) = check(&source(3000, 5));
    assert!(fused_steps(&plan).is_empty(), "{plan}");
}

/// Constants of computed operands are derived during the run, and no step of a fusion can wait for
/// them.
#[test]
fn moduli_that_a_program_computes_are_not_fused() {
    let (plan, _) = check(
        "%a = host_to_device i64[3000] iota
         %q = host_to_device i64[1] {16}
         %one = host_to_device i64[1] {1}
         %m = empty [1], i64
         %m = add %q, %one, %m
         %x = empty [3000], i64
         %x = modmul %a, %a, %m, %x
         %x = modsum %x, %a, %m, %x
         device_to_host %x -> output \"x\"",
    );
    assert!(fused_steps(&plan).is_empty(), "{plan}");
}
