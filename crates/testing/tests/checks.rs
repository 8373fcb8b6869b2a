//! Contents that only a run knows are refused in the same words on the host, whatever the threads,
//! and on a device; of several failed checks the first in the program's order is reported.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_devices::{Capabilities, Costs, Drivers};
use cloakwork_ir::{Device, HostId, HostSlot, HostTensor, Type, View, text, write_word};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{FunctionCall, Options, Plan, Step, plan};
use cloakwork_run::{Executor, Functions, RunError, RunOptions};
use cloakwork_testing::Inputs;
use cloakwork_verify::{Verified, verify};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Inputs by name: their words, repeated as often as needed.
type Words<'a> = &'a [(&'a str, &'a [i64])];

/// A program whose last check fails on these inputs, and what it says.
struct Case {
    source: &'static str,
    wrong: Words<'static>,
    says: &'static str,
}

const MODULI: &str = r#"
%a = host_to_device input "a" i64[6]
%m = host_to_device input "m" i64[6]
%q = empty [6], i64
%q = copy %m, %q
%o = empty [6], i64
%o = _modmul_ttt %a, %a, %q, %o
device_to_host %o -> output "o"
"#;

const DIVISORS: &str = r#"
%a = host_to_device input "a" i32[6]
%m = host_to_device input "m" i32[6]
%q = empty [6], i32
%q = copy %m, %q
%o = empty [6], i32
%o = _mod_tt %a, %q, %o
device_to_host %o -> output "o"
"#;

const FACTORS: &str = r#"
%a = host_to_device input "a" i64[2, 2, 2]
%m = host_to_device input "m" i64[2]
%q = empty [2], i64
%q = copy %m, %q
%o = empty [2, 2, 2], i8
%o = g_decomp_full_q %a, %q, none, 2, 8, none, none, %o
device_to_host %o -> output "o"
"#;

const PERMUTED: &str = r#"
%a = host_to_device input "a" i64[2, 3]
%m = host_to_device input "m" i64[2, 3]
%p = empty [2, 3], i64
%p = copy %m, %p
%o = empty [2, 3], i64
%o = permute %a, %p, %o, 0, 1
device_to_host %o -> output "o"
"#;

const TAKEN: &str = r#"
%a = host_to_device input "a" i64[4]
%m = host_to_device input "m" i64[6]
%i = empty [6], i64
%i = copy %m, %i
%o = empty [6], i64
%o = take_along_axis %a, %i, 0, %o
device_to_host %o -> output "o"
"#;

const SPARSE: &str = r#"
%v = host_to_device input "v" babybear[3]
%x = host_to_device input "v" babybear[3]
%m = host_to_device input "starts" i64[4]
%s = empty [4], i64
%s = copy %m, %s
%n = host_to_device input "columns" i64[3]
%k = empty [3], i64
%k = copy %n, %k
%o = empty [3], babybear
%o = sparse_matvec %s, %k, %v, %x, %o
device_to_host %o -> output "o"
"#;

const LOOKED_UP: &str = r#"
%a = host_to_device input "a" babybear[4]
%m = host_to_device input "m" i64[4]
%r = empty [4], i64
%r = copy %m, %r
%o = empty [4], babybear
%o = permute_table %a, %r, %o
device_to_host %o -> output "o"
"#;

const CANONICAL: &str = r#"
%m = host_to_device input "m" u64[3, 4]
%w = empty [3, 4], u64
%w = copy %m, %w
%o = empty [3], bn254.fr
%o = from_canonical %w, bn254.fr, %o
device_to_host %o -> output "o"
"#;

const POINTS: &str = r#"
%m = host_to_device input "m" u64[3, 8]
%w = empty [3, 8], u64
%w = copy %m, %w
%o = empty [3], bn254.g1
%o = from_canonical %w, bn254.g1, %o
device_to_host %o -> output "o"
"#;

const RECIPROCAL: &str = r#"
%m = host_to_device input "m" i64[5]
%x = empty [5], babybear
%x = astype %m, babybear, %x
%o = empty [5], babybear
%o = batch_invert %x, 1, %o
device_to_host %o -> output "o"
"#;

const INTERPOLATED: &str = r#"
%m = host_to_device input "m" i64[5]
%x = empty [5], bn254.fr
%x = astype %m, bn254.fr, %x
%o = empty [5], bn254.fr
%o = interpolate %x, %x, %o
device_to_host %o -> output "o"
"#;

const ABSORBED: &str = r#"
%m = host_to_device input "m" u64[2, 8]
%p = empty [2], bn254.g1
%p = from_canonical %m, bn254.g1, %p
%n = host_to_device input "t" u8[416]
%t = empty [416], u8
%t = copy %n, %t
%t = absorb %t, %p, %t
device_to_host %t -> output "t"
"#;

const ASSERTED: &str = r#"
%m = host_to_device input "m" bool[5]
%b = empty [5], bool
%b = copy %m, %b
%o = empty [5], bool
%o = assert_true %b, %o
device_to_host %o -> output "o"
"#;

const GENERATOR: [i64; 8] = [1, 0, 0, 0, 2, 0, 0, 0];

const CASES: &[Case] = &[
    Case {
        source: MODULI,
        wrong: &[("m", &[1, 5, 7, 9, 11, 1 << 62])],
        says: "expected a modulus from 2 to 2^62 - 1, got 1",
    },
    Case {
        source: MODULI,
        wrong: &[("m", &[2, 5, 7, 9, 11, 1 << 62])],
        says: "expected a modulus from 2 to 2^62 - 1, got 4611686018427387904",
    },
    Case {
        source: DIVISORS,
        wrong: &[("m", &[-5, 1, 2, 3, 4, 0])],
        says: "expected a divisor other than 0, got 0",
    },
    Case {
        source: FACTORS,
        wrong: &[("m", &[6, 9])],
        says: "expected coprime moduli, got 6 and 9, which share 3",
    },
    Case {
        source: PERMUTED,
        wrong: &[("m", &[2, 0, 1, 0, 1, 1])],
        says: "expected a permutation of the numbers below 3, got 1 twice",
    },
    Case {
        source: PERMUTED,
        wrong: &[("m", &[-1, 0, 1, 3, 1, 1])],
        says: "expected a permutation of the numbers below 3, got -1",
    },
    Case {
        source: TAKEN,
        wrong: &[("m", &[3, -4, 0, 1, 4, -5])],
        says: "expected indices from -4 to 3, got 4",
    },
    Case {
        source: SPARSE,
        wrong: &[("starts", &[1, 0, 2, 3]), ("columns", &[0, 1, 2])],
        says: "expected ascending numbers from 0 to 3, got 1 first",
    },
    Case {
        source: SPARSE,
        wrong: &[("starts", &[0, 2, 1, 4]), ("columns", &[0, 1, 2])],
        says: "expected ascending numbers from 0 to 3, got 4 last",
    },
    Case {
        source: SPARSE,
        wrong: &[("starts", &[0, 2, 1, 3]), ("columns", &[0, 1, 9])],
        says: "expected ascending numbers from 0 to 3, got a smaller number after element 1",
    },
    Case {
        source: SPARSE,
        wrong: &[("starts", &[0, 2, 2, 3]), ("columns", &[0, 1, 3])],
        says: "expected indices from 0 to 2, got 3",
    },
    Case {
        source: LOOKED_UP,
        wrong: &[("m", &[4, -3, -2, 0])],
        says: "got another value in row 1 of the input",
    },
    Case {
        source: LOOKED_UP,
        wrong: &[("m", &[0, 3, 3, 4])],
        says: "expected rows below 4, the size of the table, got 4",
    },
    Case {
        source: CANONICAL,
        wrong: &[("m", &[7, 0, 0, 0, 7, 0, 0, 1, 0, 0, 0, -1])],
        says: "got element 2, which is not below the prime",
    },
    Case {
        source: POINTS,
        wrong: &[(
            "m",
            &[
                1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
            ],
        )],
        says: "got element 2, which is not on the curve",
    },
    Case {
        source: RECIPROCAL,
        wrong: &[("m", &[1, 2, 3, 0, 0])],
        says: "expected elements other than 0, got 0 in element 3",
    },
    Case {
        source: INTERPOLATED,
        wrong: &[("m", &[1, 2, 3, 2, 1])],
        says: "expected distinct elements, got elements 1 and 3 equal",
    },
    Case {
        source: ABSORBED,
        wrong: &[("m", &[0]), ("t", &[0])],
        says: "got infinity, at row-major place 0",
    },
    Case {
        source: ABSORBED,
        wrong: &[("m", &GENERATOR), ("t", &[100, 0, 0, 0, 0, 0, 0, 0])],
        says: "before this call, got 100",
    },
    Case {
        source: ASSERTED,
        wrong: &[("m", &[1, 1, 1, 1, 0])],
        says: "expected true everywhere, got false in element 4",
    },
];

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    let verified = found.verified;
    Arc::new(verified.unwrap_or_else(|| panic!("{findings:?}\n{source}")))
}

fn given(verified: &Verified, words: Words) -> Inputs {
    let slots = (0u32..).zip(&verified.program().hosts);
    let named = slots.filter_map(|(index, slot)| {
        let HostSlot::Input { name, ty, .. } = slot else {
            return None;
        };
        let found = words.iter().find(|(own, _)| **own == **name);
        let words = found.map_or(&[1, 2, 3][..], |(_, words)| words);
        let mut bytes = vec![0; ty.size_bytes() as usize];
        let part = ty.dtype.component().size_bytes();
        for (word, bytes) in words.iter().cycle().zip(bytes.chunks_mut(part)) {
            write_word(ty.dtype, *word, bytes);
        }
        let view = View::contiguous(ty.shape.clone());
        let tensor = HostTensor::new(ty.dtype, view, bytes.into());
        Some((HostId(index), tensor.unwrap()))
    });
    named.collect()
}

fn planned(verified: &Arc<Verified>, device: Device, threads: usize) -> Arc<Plan> {
    let options = Options {
        device,
        grain_ns: 0,
        ..Options::new(best_isa(), threads)
    };
    let planned = plan(Arc::clone(verified), &options);
    Arc::new(planned.unwrap_or_else(|error| panic!("{error}")))
}

/// The error of a run, its text, and what was handed out before.
fn failed(executor: &mut Executor, given: &Inputs, threads: usize) -> (String, Vec<Vec<i64>>) {
    let options = RunOptions {
        threads,
        split_ns: 1,
        schedule_seed: (threads > 1).then_some(threads as u64),
        ..RunOptions::default()
    };
    match executor.run(given, &options, &mut |_| true) {
        Err(error @ (RunError::Contents { .. } | RunError::Assertion { .. })) => {
            let before = executor.take_outputs_before_failure();
            let words = before.iter().map(|output| output.tensor.words()).collect();
            (error.to_string(), words)
        }
        other => panic!("{other:?}\n{}", executor.plan()),
    }
}

#[test]
fn every_rule_refuses_in_the_same_words_on_any_threads_and_on_a_device() {
    for case in CASES {
        let verified = verified(case.source);
        let wrong = given(&verified, case.wrong);
        let mut said = None;
        for (device, threads) in [
            (Device::Cpu, 1),
            (Device::Cpu, 2),
            (Device::Cpu, 3),
            (Device::Sim(0), 1),
        ] {
            let plan = planned(&verified, device, threads);
            let on_device = |check: u32| plan.steps[plan.step_of_check(check).unwrap()].queue > 0;
            let last = plan.checks.len().checked_sub(1);
            let last = last.unwrap_or_else(|| panic!("no check: {plan}")) as u32;
            assert_eq!(on_device(last), device == Device::Sim(0), "{plan}");
            let mut executor = Executor::new(plan).unwrap();
            // A run that failed leaves nothing behind.
            for _ in 0..2 {
                let (words, _) = failed(&mut executor, &wrong, threads);
                assert!(words.contains(case.says), "{words}, not {}", case.says);
                assert_eq!(*said.get_or_insert(words.clone()), words, "{device}");
            }
        }
    }
}

/// Two checks that fail: of moduli, which the host checks where they are inputs, and of indices,
/// which a device checks. Each run hands out a result before both.
fn two(moduli_first: bool) -> String {
    let moduli = "%o = empty [6], i64\n%o = _modmul_ttt %a, %a, %m, %o\n";
    let indices = "%p = empty [6], i64\n%p = take_along_axis %a, %i, 0, %p\n";
    let (first, second) = match moduli_first {
        true => (moduli, indices),
        false => (indices, moduli),
    };
    format!(
        r#"
%a = host_to_device input "a" i64[6]
%m = host_to_device input "m" i64[6]
%i = empty [6], i64
%i = _modsum_ttc %a, %a, 1000003, %i
device_to_host %i -> output "i"
{first}{second}device_to_host %o -> output "o"
device_to_host %p -> output "p"
"#
    )
}

#[test]
fn of_failed_checks_of_the_host_and_of_a_device_the_first_is_reported() {
    for moduli_first in [true, false] {
        let verified = verified(&two(moduli_first));
        let words: Words = &[("a", &[1, 2, 3, 4, 5, 6]), ("m", &[3, 5, 7, 9, 11, 1])];
        let wrong = given(&verified, words);
        let here = planned(&verified, Device::Cpu, 1);
        let expected = failed(&mut Executor::new(here).unwrap(), &wrong, 1);
        let says = if moduli_first {
            "_modmul_ttt"
        } else {
            "take_along_axis"
        };
        assert!(expected.0.contains(says), "{expected:?}");
        assert_eq!(expected.1, [[2, 4, 6, 8, 10, 12]]);
        let plan = planned(&verified, Device::Sim(0), 1);
        let on_device = |check: u32| plan.steps[plan.step_of_check(check).unwrap()].queue > 0;
        assert_eq!([on_device(0), on_device(1)], [!moduli_first, moduli_first]);
        let mut executor = Executor::new(plan).unwrap();
        for _ in 0..20 {
            assert_eq!(failed(&mut executor, &wrong, 1), expected);
        }
    }
}

#[test]
fn launches_on_the_host_wait_for_the_checks_of_a_device() {
    let verified = verified(TAKEN);
    let wrong = given(&verified, &[("m", &[0, 1, 2, 3, 0, 1 << 40])]);
    let here = planned(&verified, Device::Cpu, 1);
    let expected = failed(&mut Executor::new(here).unwrap(), &wrong, 1);
    // The indices are there, and the op's own kernel is not.
    let drivers = Drivers::default();
    let (sim, _) = drivers.of(Device::Sim(0));
    let lacks = BTreeSet::from(["gather".to_owned()]);
    let varied = sim.varied(Costs::NONE, Capabilities::NONE, lacks).unwrap();
    let options = Options {
        device: Device::Sim(0),
        drivers: drivers.with_sim(Box::leak(Box::new(varied))),
        ..Options::new(best_isa(), 1)
    };
    let source = TAKEN.replace("copy %m, %i", "_modsum_ttc %m, %m, 1152921504606846976, %i");
    let computed = self::verified(&source);
    let plan = Arc::new(plan(Arc::clone(&computed), &options).unwrap());
    let check = plan.step_of_check(0).unwrap();
    let is_gather = |step: &Step| step.row().is_some_and(|row| row.kernel == "gather");
    let gather = plan.steps.iter().position(is_gather).unwrap();
    assert_eq!(
        (plan.steps[check].queue > 0, plan.steps[gather].queue),
        (true, 0),
        "{plan}"
    );
    let waits = plan
        .waits
        .iter()
        .filter(|wait| wait.before as usize <= gather);
    let mut waited = waits.map(|wait| plan.events[wait.event as usize] as usize);
    assert!(waited.any(|step| step >= check && plan.steps[step].queue == plan.steps[check].queue));
    let mut executor = Executor::new(plan).unwrap();
    let halves = given(&computed, &[("m", &[0, 0, 1, 1, 0, 1 << 39])]);
    for _ in 0..20 {
        let got = failed(&mut executor, &halves, 1);
        assert_eq!(got.0, expected.0);
    }
}

#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Functions for Counted {
    fn name(&self, _: u32) -> String {
        "counted".into()
    }

    fn call(
        &self,
        _: &FunctionCall,
        _: Vec<HostTensor>,
        expected: &Type,
    ) -> Result<HostTensor, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let bytes = vec![0; expected.size_bytes() as usize];
        let view = View::contiguous(expected.shape.clone());
        HostTensor::new(expected.dtype, view, bytes.into()).map_err(|error| error.to_string())
    }
}

#[test]
fn no_function_is_called_behind_a_check_that_fails() {
    let source = TAKEN.replace(
        "device_to_host",
        "%f = empty [2], i64\n\
         %f = call_function none, none, none, none, none, none, none, none, 0, 0, 0, [2], i64, %f\n\
         device_to_host %f -> output \"f\"\n\
         device_to_host",
    );
    let verified = verified(&source);
    for (word, calls) in [(3, 1), (4, 0)] {
        let inputs = given(&verified, &[("m", &[word])]);
        for device in [Device::Cpu, Device::Sim(0)] {
            let counted = Arc::new(Counted::default());
            let options = RunOptions {
                functions: Some(Arc::clone(&counted) as Arc<dyn Functions>),
                ..RunOptions::default()
            };
            let mut executor = Executor::new(planned(&verified, device, 1)).unwrap();
            let ran = executor.run(&inputs, &options, &mut |_| true);
            assert_eq!(ran.is_ok(), calls == 1, "{ran:?}");
            assert_eq!(counted.0.load(Ordering::Relaxed), calls, "{device}");
        }
    }
}
