//! Blocks that kernels prepare from computed operands are prepared once, until a step writes the
//! operands; results equal those of preparation before each launch.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cloakwork_ir::{Device, text};
use cloakwork_kernels::{Isa, best_isa};
use cloakwork_plan::{Options, Plan, Work, plan};
use cloakwork_run::{Executor, RunOptions, bisect};
use cloakwork_testing::{Inputs, Source, inputs};
use cloakwork_verify::{Verified, verify};
use std::sync::Arc;

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(
        found
            .verified
            .unwrap_or_else(|| panic!("{findings:?}\n{source}")),
    )
}

fn planned(verified: &Arc<Verified>, options: &Options) -> Arc<Plan> {
    Arc::new(plan(Arc::clone(verified), options).unwrap_or_else(|error| panic!("{error}")))
}

/// A budget above all needs: under a budget, each launch has its own blocks.
fn apart(options: &Options) -> Options {
    Options {
        memory_budget_bytes: Some(1 << 40),
        ..options.clone()
    }
}

fn prepares(plan: &Plan) -> usize {
    let works = plan.steps.iter().map(|step| step.work);
    works
        .filter(|work| matches!(work, Work::Prepare { .. }))
        .count()
}

/// The number of preparing steps if `steps` stand between two products by the same moduli.
fn between(steps: &str) -> usize {
    let source = format!(
        "%a = host_to_device input \"a\" i64[4, 2]\n\
         %two = host_to_device i64[2] {{2, 2}}\n\
         %h = host_to_device input \"q\" i64[2]\n\
         %q = empty [2], i64\n%q = add %h, %two, %q\n\
         %r = empty [2], i64\n%r = add %h, %two, %r\n\
         %x = empty [4, 2], i64\n%x = _modmul_ttt %a, %a, %q, %x\n\
         {steps}\n\
         %y = empty [4, 2], i64\n%y = _modmul_ttt %x, %a, %q, %y\n\
         device_to_host %y, none -> output \"y\"\n"
    );
    prepares(&planned(
        &verified(&source),
        &Options::new(Isa::PORTABLE, 1),
    ))
}

#[test]
fn two_launches_over_the_same_moduli_share_what_is_prepared_from_them() {
    assert_eq!(between(""), 1);
    assert_eq!(between("%r = add %r, %two, %r"), 1, "others were written");
    let other_shape = "%b = host_to_device input \"b\" i64[3, 2]\n\
                       %z = empty [3, 2], i64\n%z = _modmul_ttt %b, %b, %q, %z";
    assert_eq!(between(other_shape), 2, "one for each iteration space");
}

#[test]
fn a_write_to_the_moduli_makes_them_be_prepared_again() {
    assert_eq!(between("%q = add %q, %two, %q"), 2);
    let part = "%v = get_slice %q, [1:2:1]\n%one = host_to_device i64[1] {1}\n\
                %v = add %v, %one, %v";
    assert_eq!(between(part), 2);
}

#[test]
fn inputs_are_prepared_again_after_a_function_of_the_caller() {
    let source = |between: &str| {
        format!(
            "%a = host_to_device input \"a\" i64[4, 2]\n\
             %q = host_to_device input \"q\" i64[2]\n\
             %x = empty [4, 2], i64\n%x = _modmul_ttt %a, %a, %q, %x\n\
             {between}\
             %y = empty [4, 2], i64\n%y = _modmul_ttt %x, %a, %q, %y\n\
             device_to_host %y, none -> output \"y\"\n"
        )
    };
    let call = "%o = empty [3], u64\n%o = call_function %a, none, none, none, none, none, none, \
                none, 0, 1, 0, [3], u64, %o\n";
    let count = |between: &str| {
        let verified = verified(&source(between));
        prepares(&planned(&verified, &Options::new(Isa::PORTABLE, 1)))
    };
    assert_eq!((count(""), count(call)), (1, 2));
}

#[test]
fn under_a_budget_each_launch_prepares_for_itself() {
    let mut source = "%a = host_to_device input \"a\" i64[4, 2]\n\
                      %q = host_to_device input \"q\" i64[2]\n"
        .to_owned();
    for _ in 0..5 {
        source += "%x = empty [4, 2], i64\n%x = _modmul_ttt %a, %a, %q, %x\n";
    }
    let verified = verified(&source);
    let options = Options::new(best_isa(), 1);
    assert_eq!(prepares(&planned(&verified, &options)), 1);
    assert_eq!(prepares(&planned(&verified, &apart(&options))), 5);
}

const START: &str = "%i = host_to_device input \"a\" i64[4, 2]
%j = host_to_device input \"b\" i64[4, 2]
%t0 = empty [4, 2], i64
%t0 = add %i, %j, %t0
%t1 = empty [4, 2], i64
%t1 = multiply %i, %j, %t1
%s = host_to_device input \"c\" i64[1, 4, 1, 2]
%h = host_to_device input \"q\" i64[2]
%psi = host_to_device input \"psi\" i64[2, 4]
%perm = host_to_device i64[4] {0, 2, 1, 3}
%two = host_to_device i64[2] {2, 4}
%one = host_to_device i64[1] {1}
%p = empty [2], i64
%p = add %h, %two, %p
%q = empty [2], i64
%q = add %p, %two, %q
";

/// A program of products, sums and transforms by moduli that it changes at times.
fn random(source: &mut Source) -> String {
    let mut text = START.to_owned();
    for line in 0..30 {
        let q = ["%p", "%q", "%h"][source.below(3)];
        let [a, b, to] = [(); 3].map(|()| format!("%t{}", source.below(2)));
        let shown = format!("device_to_host %o{line}, none -> output \"o{line}\"\n");
        text += &match source.below(10) {
            0..4 => format!("{to} = _modmul_ttt {a}, {b}, {q}, {to}\n"),
            4 | 5 => format!(
                "%o{line} = empty [4, 2], i64\n\
                 %o{line} = _modmul_ttt {a}, {b}, {q}, %o{line}\n{shown}"
            ),
            6 | 7 => format!(
                "%o{line} = empty [1, 4, 1, 2], i64\n\
                 %o{line} = ntt %s, -3, %perm, none, {q}, none, none, %psi, %o{line}, 0, 0\n{shown}"
            ),
            8 => "%q = add %q, %two, %q\n".to_owned(),
            _ => "%v = get_slice %p, [1:2:1]\n%v = add %v, %one, %v\nfree %v\n".to_owned(),
        };
    }
    text + "device_to_host %t0, none -> output \"t0\"\ndevice_to_host %t1, none -> output \"t1\"\n"
}

fn outputs(executor: &mut Executor, inputs: &Inputs, seed: Option<u64>) -> Vec<Vec<i64>> {
    let options = RunOptions {
        threads: 3,
        split_ns: 1,
        schedule_seed: seed,
        ..RunOptions::default()
    };
    let outcome = executor.run(inputs, &options, &mut |_| true).unwrap();
    outcome.outputs.iter().map(|o| o.tensor.words()).collect()
}

#[test]
fn random_programs_give_the_same_bytes_whether_blocks_are_shared_or_not() {
    let (mut shared, mut alone) = (0, 0);
    for seed in 0..60 {
        let text = random(&mut Source::from_seed(seed));
        let verified = verified(&text);
        let inputs = inputs(verified.program(), |i| 17 + 6 * (i as i64 % 5));
        let options = Options {
            grain_ns: 0,
            ..Options::new(best_isa(), 3)
        };
        let plain = planned(&verified, &apart(&options));
        alone += prepares(&plain);
        let mut executor = Executor::new(plain).unwrap();
        let expected = outputs(&mut executor, &inputs, None);
        for device in [Device::Cpu, Device::Sim(0)] {
            let options = Options {
                device,
                ..options.clone()
            };
            let plan = planned(&verified, &options);
            shared += prepares(&plan);
            let mut executor = Executor::new(plan).unwrap();
            for order in [None, Some(seed)] {
                let got = outputs(&mut executor, &inputs, order);
                assert_eq!(got, expected, "seed {seed} {device}\n{text}");
            }
        }
        if seed % 6 == 0 {
            let mut executor = Executor::new(planned(&verified, &options)).unwrap();
            let found = bisect(&mut executor, &inputs, &mut |_| true).unwrap();
            assert_eq!(found.wrong.map(|wrong| wrong.to_string()), None, "{text}");
        }
    }
    assert!(
        shared < 2 * alone * 4 / 5,
        "{shared} steps on two devices, {alone} on one"
    );
}
