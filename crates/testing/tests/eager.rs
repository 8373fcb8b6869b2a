//! Eager calls, both first calls and repeated calls with other contents, give the results of the
//! planned program: for every op.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{HostId, HostSlot, Program, text};
use cloakwork_kernels::best_isa;
use cloakwork_ops::ALL;
use cloakwork_plan::{Options, plan};
use cloakwork_run::eager::{Tensor, replay};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_testing::{Inputs, Source, generate, generate_calls, inputs};
use cloakwork_verify::verify;
use std::collections::HashMap;
use std::sync::Arc;

const PROGRAMS: u64 = if cfg!(debug_assertions) { 40 } else { 120 };
const OF_AN_OP: u64 = 4;

/// The results of the planned program; `None` if a run rejects computed contents.
fn planned(program: &Arc<Program>, inputs: &Inputs) -> Option<Vec<Vec<i64>>> {
    let verified = Arc::new(verify(Arc::clone(program)).verified.unwrap());
    let plan = plan(verified, &Options::new(best_isa(), 1)).unwrap();
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    match executor.run(inputs, &RunOptions::default(), &mut |_| true) {
        Ok(outcome) => Some(outcome.outputs.iter().map(|o| o.tensor.words()).collect()),
        Err(RunError::Contents { .. } | RunError::Assertion { .. }) => None,
        Err(other) => panic!("{other}\n{}", text::print(program)),
    }
}

/// The results call by call, on tensors with no other reference.
fn called(program: &Program, inputs: &Inputs) -> Vec<Option<Vec<i64>>> {
    let mut given = HashMap::new();
    for (id, slot) in (0..).map(HostId).zip(&program.hosts) {
        let host = match slot {
            HostSlot::Data(tensor) => Some(tensor),
            HostSlot::Input { .. } => inputs.get(&id),
            HostSlot::Output { .. } => None,
        };
        if let Some(host) = host {
            given.insert(id, Tensor::from_host(host, best_isa()).unwrap());
        }
    }
    let results = replay(program, &given, 1, best_isa()).into_iter();
    let words = |tensor: Tensor| tensor.to_host().unwrap().words();
    results.map(|result| result.map(words)).collect()
}

/// The number of successful runs among three; the third has the contents of the first.
fn check(program: Program) -> usize {
    let program = Arc::new(program);
    let one = inputs(&program, |i| (i as i64 * 7) % 23 - 5);
    let other = inputs(&program, |i| (i as i64 * 5) % 17 + 1);
    let runs = [&one, &other, &one].map(|inputs| {
        let got = called(&program, inputs);
        let Some(expected) = planned(&program, inputs) else {
            return 0;
        };
        let expected: Vec<_> = expected.into_iter().map(Some).collect();
        assert_eq!(got, expected, "{}", text::print(&program));
        1
    });
    runs.iter().sum()
}

#[test]
fn calls_of_every_op_give_the_same_when_they_come_again() {
    let mut compared = 0;
    for def in ALL.iter().filter(|def| !def.calls_back()) {
        for number in 0..OF_AN_OP {
            compared += check(generate_calls(&mut Source::from_seed(number), def));
        }
    }
    assert!(
        compared > ALL.len() * OF_AN_OP as usize,
        "few programs ran: {compared}"
    );
}

#[test]
fn random_programs_call_by_call_give_the_same_when_they_come_again() {
    let programs = 0..PROGRAMS;
    let compared: usize = programs
        .map(|n| check(generate(&mut Source::from_seed(n))))
        .sum();
    assert!(compared > PROGRAMS as usize, "few programs ran: {compared}");
}
