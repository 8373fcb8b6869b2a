//! Small programs through verifier, planner and executor, compared with the interpreter: with every
//! instruction set of this processor, both layouts, one to three threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use cloakwork_csrc as _;
use cloakwork_ir::{Bytes, DType, HostId, HostTensor, Program, Shape, View, text};
use cloakwork_kernels::available_isas;
use cloakwork_plan::{Options, PlanError, plan};
use cloakwork_run::{Executor, RunError, RunOptions, bisect};
use cloakwork_verify::verify;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

fn program(source: &str) -> Arc<Program> {
    Arc::new(text::parse(source).unwrap_or_else(|error| panic!("{error}")))
}

fn verified(source: &str) -> Arc<cloakwork_verify::Verified> {
    let verification = verify(program(source));
    let findings: Vec<String> = verification.errors().map(ToString::to_string).collect();
    Arc::new(
        verification
            .verified
            .unwrap_or_else(|| panic!("{findings:?}")),
    )
}

/// Runs under every configuration; all results must equal the references and the expected values.
fn check(source: &str) {
    let verified = verified(source);
    for isa in available_isas() {
        for limb_major in [false, true] {
            for threads in [1, 2, 3] {
                let options = Options {
                    limb_major,
                    ..Options::new(isa, threads)
                };
                let plan = Arc::new(plan(Arc::clone(&verified), &options).expect("a plan"));
                let mut executor = Executor::new(Arc::clone(&plan)).expect("memory");
                let run = RunOptions {
                    threads,
                    verify: true,
                    profile: true,
                    split_ns: 1,
                    ..RunOptions::default()
                };
                let outcome = executor
                    .run(&HashMap::new(), &run, &mut |_| true)
                    .expect("a run");
                let context = format!("{isa} limb_major={limb_major} threads={threads}\n{plan}");
                assert!(
                    outcome.mismatches.is_empty(),
                    "{}\n{context}",
                    outcome.mismatches[0]
                );
                let wrong = bisect(&mut executor, &HashMap::new(), &mut |_| true).expect("a run");
                assert_eq!(wrong.wrong.map(|w| w.to_string()), None, "{context}");
            }
        }
    }
}

#[test]
fn a_product_of_residues_with_moduli_on_the_last_axis() {
    check(
        "%a = host_to_device i64[2, 3, 2] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
         %q = host_to_device i64[2] {17, 257}
         %o = empty [2, 3, 2], i64
         %o = _modmul_ttt %a, %a, %q, %o
         device_to_host %o -> i64[2, 3, 2] {1, 4, 9, 16, 8, 36, 15, 64, 13, 100, 2, 144}",
    );
}

#[test]
fn both_sides_of_a_change_of_base_lie_limb_major_and_the_weights_between_do_not() {
    let source = "%a = host_to_device i64[3, 2] {1, 2, 3, 4, 5, 6}
         %q = host_to_device i64[2] {5, 7}
         %half = host_to_device i64[2] {2, 3}
         %hat = host_to_device i64[2, 3] {1, 2, 3, 4, 5, 6}
         %p = host_to_device i64[3] {11, 13, 17}
         %o = empty [3, 3], i64
         %o = base_convert %a, %q, none, %half, %hat, %p, %o
         device_to_host %o -> i64[3, 3] {9, 12, 15, 8, 7, 10, 7, 8, 11}";
    check(source);
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let plan = plan(verified(source), &options).unwrap();
    assert_eq!(plan.limb_major_storages, 2, "{plan}");
}

#[test]
fn writes_through_views_reach_the_base_and_a_freed_base_stays_alive() {
    check(
        "%a = host_to_device i64[2] {3, 5}
         %o = empty [2, 2], i64
         %v = get_slice %o, [1, 0:2:1]
         %v = _modsum_ttc %a, %a, 7, %v
         %m = moveaxis %o, 0, 1
         free %o
         device_to_host %m -> i64[2, 2] {0, 6, 0, 3}",
    );
}

#[test]
fn a_transform_runs_in_place_and_back() {
    check(
        "%a = host_to_device i64[1, 4, 1, 1] {1, 2, 3, 4}
         %perm = host_to_device i64[4] {0, 2, 1, 3}
         %q = host_to_device i64[1] {17}
         %psi = host_to_device i64[1, 4] {1, 4, 2, 8}
         %inv = host_to_device i64[1, 4] {1, 13, 9, 15}
         %n = host_to_device i64[1] {13}
         %b = empty [1, 4, 1, 1], i64
         %b = ntt %a, -3, %perm, none, %q, none, none, %psi, %b, 0, 0
         %b = intt %b, %perm, none, %q, none, none, %inv, %n, %b, 0
         device_to_host %b -> i64[1, 4, 1, 1] {1, 2, 3, 4}",
    );
}

#[test]
fn a_reshape_without_a_view_copies_the_elements_in_order() {
    check(
        "%a = host_to_device i64[2, 3] {0, 1, 2, 3, 4, 5}
         %t = moveaxis %a, 0, 1
         %r = reshape %t, [6]
         device_to_host %r -> i64[6] {0, 3, 1, 4, 2, 5}",
    );
}

#[test]
fn zero_sized_tensors_run() {
    check(
        "%a = host_to_device i64[0, 2] {}
         %q = host_to_device i64[2] {17, 257}
         %o = empty [0, 2], i64
         %o = _modmul_ttt %a, %a, %q, %o
         %s = empty [2], i64
         %s = axis_modsum %a, 0, %q, %s
         device_to_host %s -> i64[2] {0, 0}",
    );
}

#[test]
fn a_mismatch_names_step_segment_element_and_writer() {
    let verified = verified(
        "segment \"compute\" {
           %a = host_to_device i64[2, 2] {1, 2, 3, 4}
           %o = empty [2, 2], i64
           %o = _modsum_ttc %a, %a, 100, %o
           device_to_host %o -> i64[2, 2] {2, 4, 7, 8}
         }",
    );
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let plan = Arc::new(plan(verified, &options).unwrap());
    let mut executor = Executor::new(plan).unwrap();
    let run = RunOptions {
        verify: true,
        ..RunOptions::default()
    };
    let outcome = executor.run(&HashMap::new(), &run, &mut |_| true).unwrap();
    assert_eq!(
        outcome.mismatches[0].to_string(),
        "step 4: device_to_host %o in segment \"compute\": 1 of 4 elements differ, \
         first at [1, 0]: expected 7, got 6; last written by _modsum_ttc in step 3"
    );
    let held = bisect(&mut executor, &HashMap::new(), &mut |_| true).unwrap();
    assert_eq!(held.wrong, None);
    assert!(held.by_reference > 0);
}

#[test]
fn bisection_says_what_is_too_large_for_its_reference() {
    let held = |size: u64| {
        let verified = verified(&format!(
            "%a = zeros [{size}, {size}], f64
             %o = empty [{size}], f64
             %o = eigvalsh %a, %o
             device_to_host %o -> output \"o\""
        ));
        let options = Options::new(available_isas()[0], 1);
        let plan = Arc::new(plan(verified, &options).unwrap());
        let mut executor = Executor::new(plan).unwrap();
        bisect(&mut executor, &HashMap::new(), &mut |_| true).unwrap()
    };
    let (small, large) = (held(8), held(130));
    assert_eq!((small.wrong.as_ref(), large.wrong.as_ref()), (None, None));
    assert!(small.by_portable_kernel.is_empty());
    assert_eq!(large.by_portable_kernel.get("eigvalsh"), Some(&1));
    let said = large.compared();
    let expected = "1 result compared only with portable kernels, as they are too large for the \
                    references: eigvalsh";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn a_program_above_its_budget_is_refused_with_peak_and_budget() {
    let verified = verified(
        "%o = zeros [1000, 1000], i64
         device_to_host %o -> output \"o\"",
    );
    let options = Options {
        memory_budget_bytes: Some(1 << 20),
        ..Options::new(cloakwork_kernels::best_isa(), 1)
    };
    let error = plan(verified, &options).unwrap_err();
    assert!(matches!(error, PlanError::Budget { .. }), "{error}");
    assert!(error.to_string().contains("budget is 1.0 MiB"), "{error}");
}

#[test]
fn moduli_that_a_program_computes_are_checked_before_they_divide() {
    let verified = verified(
        "%a = host_to_device i64[2] {3, 5}
         %q = empty [2], i64
         %q = _modsum_ttc %a, %a, 6, %q
         %o = empty [2], i64
         %o = _modmul_ttt %a, %a, %q, %o
         device_to_host %o -> output \"o\"",
    );
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let plan = Arc::new(plan(verified, &options).unwrap());
    let mut executor = Executor::new(plan).unwrap();
    let outcome = executor.run(&HashMap::new(), &RunOptions::default(), &mut |_| true);
    match outcome {
        Err(RunError::Contents { step: 4, error, .. }) => assert_eq!(error.got, "0"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_stops_when_its_caller_says_so() {
    let mut source = String::from("%a = host_to_device i64[2] {3, 5}\n%o = empty [2], i64\n");
    for _ in 0..20_000 {
        source.push_str("%o = _modsum_ttc %a, %a, 7, %o\n");
    }
    source.push_str("device_to_host %o -> output \"o\"\n");
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let plan = Arc::new(plan(verified(&source), &options).unwrap());
    let mut executor = Executor::new(plan).unwrap();
    let mut asked = 0;
    let run = RunOptions {
        tick: Duration::ZERO,
        ..RunOptions::default()
    };
    let outcome = executor.run(&HashMap::new(), &run, &mut |progress| {
        asked += 1;
        assert!(progress.done < progress.total);
        asked < 3
    });
    assert_eq!(asked, 3);
    assert!(
        matches!(outcome, Err(RunError::Interrupted { step: 1_000.. })),
        "{outcome:?}"
    );
}

#[test]
fn storages_that_cannot_be_limb_major_keep_the_natural_layout_in_all_their_views() {
    check(
        "%a = host_to_device i64[2, 2, 2] {1, 2, 3, 4, 5, 6, 7, 8}
         %q = host_to_device i64[2] {17, 97}
         %o = empty [2, 2, 2], i64
         %s = get_slice %o, [0:1:1, 0:2:1, 0:2:1]
         %t = get_slice %a, [1:2:1, 0:2:1, 0:2:1]
         %s = _modmul_ttt %t, %t, %q, %s
         %g = reshape %o, [8]
         %h = reshape %a, [8]
         device_to_host %g, none -> i64[8] {8, 36, 15, 64, 0, 0, 0, 0}
         device_to_host %h, none -> i64[8] {1, 2, 3, 4, 5, 6, 7, 8}",
    );
}

/// The outcome of a run of a program.
fn run(source: &str) -> Result<(), RunError> {
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let plan = Arc::new(plan(verified(source), &options).unwrap());
    let mut executor = Executor::new(plan).unwrap();
    let outcome = executor.run(&HashMap::new(), &RunOptions::default(), &mut |_| true);
    outcome.map(drop)
}

#[test]
fn moduli_of_a_result_without_elements_are_checked_as_they_were_computed() {
    let computed = |first: i64, rest: &str| {
        format!(
            "%a = host_to_device i64[2] {{{first}, 5}}
             %q = empty [2], i64
             %q = _modsum_ttc %a, %a, 1000, %q
             {rest}
             %e = empty [0, 2], i64
             %e = _modmul_ttt %e, %e, %q, %e"
        )
    };
    // The zeros would reuse the memory of %q if %q were dead.
    let zeros = "%y = empty [2], i64
                 set_const_val %y, 0";
    let download = "\ndevice_to_host %y, none -> i64[2] {0, 0}";
    check(&(computed(3, zeros) + download));
    let wrong = run(&computed(0, ""));
    assert!(
        matches!(&wrong, Err(RunError::Contents { error, .. }) if error.got == "0"),
        "{wrong:?}"
    );
}

#[test]
fn contents_that_a_view_repeats_are_looked_at_once() {
    let repeated = |words: &str| {
        format!(
            "%q = host_to_device i64[1] {{{words}}}
             %q = expand %q, 0, 1099511627776
             %e = empty [0, 1099511627776], i64
             %e = _modmul_ttt %e, %e, %q, %e"
        )
    };
    assert_eq!(run(&repeated("5")), Ok(()));
    assert!(verify(program(&repeated("1"))).verified.is_none());
    let computed = |word: i64| {
        format!(
            "%q = host_to_device i64[1] {{{word}}}
             %q = _modsum_ttc %q, %q, 1000, %q
             %q = expand %q, 0, 1099511627776
             %e = empty [0, 1099511627776], i64
             %e = _modmul_ttt %e, %e, %q, %e"
        )
    };
    assert_eq!(run(&computed(5)), Ok(()));
    assert!(matches!(run(&computed(0)), Err(RunError::Contents { .. })));
    let permuted = |dims: &str, words: &str, axis: u8, sizes: &str| {
        format!(
            "%p = host_to_device i64[{dims}] {{{words}}}
             %p = expand %p, {axis}, 1099511627776
             %a = empty [{sizes}, 0], i8
             %e = empty [{sizes}, 0], i8
             %e = permute %a, %p, %e, 0, 1"
        )
    };
    let rows = permuted("1, 2", "1, 0", 0, "1099511627776, 2");
    assert_eq!(run(&rows), Ok(()));
    let columns = permuted("1, 1", "0", 1, "1, 1099511627776");
    assert!(verify(program(&columns)).verified.is_none());
}

/// Bytes that the caller may write at any time.
struct Shared(Box<[AtomicU8]>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: an atomic byte has the layout of a byte; the test writes only between steps.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len()) }
    }
}

#[test]
fn indices_that_the_caller_overwrites_during_a_run_stay_what_they_were() {
    let mut source = String::from(
        "%a = host_to_device i64[2] {3, 5}
         %i = host_to_device input \"i\" i64[2]
         %o = empty [2], i64
         %o = take_along_axis %a, %i, 0, %o
",
    );
    for _ in 0..10_000 {
        source.push_str("%o = _modsum_ttc %o, %o, 7, %o\n");
    }
    source.push_str("%o = take_along_axis %a, %i, 0, %o\ndevice_to_host %o -> output \"o\"\n");
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let verified = verified(&source);
    let shared = Arc::new(Shared((0..16).map(|_| AtomicU8::new(0)).collect()));
    let view = View::contiguous(Shape::new(&[2]).unwrap());
    let given = HostTensor::new(DType::I64, view, Bytes::new(shared.clone())).unwrap();
    let mut executor = Executor::new(Arc::new(plan(verified, &options).unwrap())).unwrap();
    let run = RunOptions {
        tick: Duration::ZERO,
        ..RunOptions::default()
    };
    let outcome = executor.run(&HashMap::from([(HostId(1), given)]), &run, &mut |_| {
        shared
            .0
            .iter()
            .for_each(|byte| byte.store(1, Ordering::Relaxed));
        true
    });
    assert_eq!(outcome.unwrap().outputs[0].tensor.words(), [3, 3]);
}

#[test]
fn a_zeroized_executor_runs_again_as_before() {
    let verified = verified(
        "%a = host_to_device i64[2] {3, 5}
         %o = empty [2], i64
         %o = _modsum_ttc %a, %a, 100, %o
         %o = _modsum_ttc %o, %a, 100, %o
         device_to_host %o -> i64[2] {9, 15}",
    );
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let mut executor = Executor::new(Arc::new(plan(verified, &options).unwrap())).unwrap();
    for _ in 0..2 {
        let run = RunOptions {
            verify: true,
            ..RunOptions::default()
        };
        let outcome = executor.run(&HashMap::new(), &run, &mut |_| true).unwrap();
        assert_eq!(outcome.mismatches, []);
        executor.zeroize();
    }
}

#[test]
fn an_expected_value_of_another_type_differs_when_verified_and_only_then() {
    let verified = verified(
        "%a = host_to_device i64[2] {3, 5}
         device_to_host %a -> i64[1] {3}",
    );
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let mut executor = Executor::new(Arc::new(plan(verified, &options).unwrap())).unwrap();
    let mut mismatches = |verify| {
        let run = RunOptions {
            verify,
            ..RunOptions::default()
        };
        executor
            .run(&HashMap::new(), &run, &mut |_| true)
            .unwrap()
            .mismatches
    };
    assert_eq!(mismatches(false), []);
    assert_eq!(
        mismatches(true)[0].to_string(),
        "step 1: device_to_host %a: another shape or dtype: expected i64[1], got i64[2]"
    );
}
