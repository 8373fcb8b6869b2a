//! Verifies, plans and runs a program of tiny steps, in nanoseconds for each step, and a small
//! program once, in microseconds.
#![allow(clippy::unwrap_used, missing_docs)]

use cloakwork_csrc as _;
use cloakwork_ir::{Arg, Builder, DType, HostSlot, HostTensor, Program, Shape, Type};
use cloakwork_plan::{Options, plan};
use cloakwork_run::{Executor, RunOptions};
use cloakwork_verify::{Verified, verify, with_frees};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Alternating sums and products, each of the previous result.
fn sums_and_products(steps: usize) -> Program {
    let mut builder = Builder::new();
    let shape = Shape::new(&[4]).unwrap();
    let ty = Type::new(DType::I64, shape.clone());
    let name = "a".to_owned();
    let a = builder.upload(HostSlot::Input { name, ty });
    let mut last = a;
    for step in 0..steps {
        let out = builder.empty(DType::I64, &shape);
        let args = [last, a, out].map(|name| Arg::Device(name, None));
        builder.call_into(["add", "multiply"][step % 2], args, out);
        last = out;
    }
    builder.download(last, HostSlot::Output { name: "out".into() });
    with_frees(builder.program)
}

/// The time before the first run of a small program, with passes and without.
fn first_run(steps: usize) {
    let program = Arc::new(sums_and_products(steps));
    let rounds = 5_000;
    let mut verify_us = 0.0;
    let mut plan_us = [0.0; 2];
    for round in 0..2 * rounds {
        let optimize = round % 2 == 1;
        let options = Options {
            optimize,
            ..Options::new(cloakwork_kernels::best_isa(), 1)
        };
        let start = Instant::now();
        let verified = Arc::new(verify(Arc::clone(&program)).verified.unwrap());
        verify_us += start.elapsed().as_nanos() as f64 / 1e3;
        let start = Instant::now();
        plan(verified, &options).unwrap();
        plan_us[usize::from(optimize)] += start.elapsed().as_nanos() as f64 / 1e3;
    }
    let (verify_us, plan_us) = (verify_us / 2.0, plan_us.map(|us| us / f64::from(rounds)));
    println!(
        "{steps:4} steps: verify {:6.1} us, plan {:6.1} us, with passes {:6.1} us",
        verify_us / f64::from(rounds),
        plan_us[0],
        plan_us[1]
    );
}

fn main() {
    first_run(10);
    first_run(20);
    let steps: usize = std::env::args()
        .nth(1)
        .map_or(1_000_000, |n| n.parse().unwrap());
    let mut builder = Builder::new();
    let shape = Shape::new(&[2]).unwrap();
    let words = |a: i64, b: i64| [a.to_le_bytes(), b.to_le_bytes()].concat();
    let tensor = |bytes| HostTensor::from_vec(DType::I64, shape.clone(), bytes).unwrap();
    let a = builder.upload(HostSlot::Data(tensor(words(3, 5))));
    let q = builder.upload(HostSlot::Data(tensor(words(17, 257))));
    let out = builder.empty(DType::I64, &shape);
    for _ in 0..steps {
        let args = [a, a, q, out].map(|name| Arg::Device(name, None));
        builder.call_into("_modsum_ttt", args, out);
    }
    builder.download(out, HostSlot::Output { name: "out".into() });
    let program = Arc::new(builder.program);

    let per = |start: Instant| start.elapsed().as_nanos() as f64 / steps as f64;
    let start = Instant::now();
    let verified = Arc::new(verify(program).verified.unwrap());
    println!("verify  {:7.1} ns a step", per(start));
    run_in_order(&verified, steps);
    run_as_tasks(&verified, steps);
}

fn run_in_order(verified: &Arc<Verified>, steps: usize) {
    let per = |start: Instant| start.elapsed().as_nanos() as f64 / steps as f64;
    let options = Options::new(cloakwork_kernels::best_isa(), 1);
    let start = Instant::now();
    let plan = Arc::new(plan(Arc::clone(verified), &options).unwrap());
    println!("plan    {:7.1} ns a step", per(start));
    println!("{}", plan.memory);
    let start = Instant::now();
    let mut executor = Executor::new(plan).unwrap();
    println!("ready   {:7.1} ns a step", per(start));
    for profile in [false, true, false, true] {
        let options = RunOptions {
            profile,
            ..RunOptions::default()
        };
        let start = Instant::now();
        let outcome = executor
            .run(&HashMap::new(), &options, &mut |_| true)
            .unwrap();
        println!(
            "run     {:7.1} ns a step, {:.1} with resolving addresses (profile: {profile})",
            outcome.wall_ns as f64 / steps as f64,
            per(start)
        );
    }
}

/// Runs the program with each step as its own task, on one thread and on two.
fn run_as_tasks(verified: &Arc<Verified>, steps: usize) {
    for grain_ns in [0, 5_000] {
        let options = Options {
            grain_ns,
            ..Options::new(cloakwork_kernels::best_isa(), 2)
        };
        let start = Instant::now();
        let plan = Arc::new(plan(Arc::clone(verified), &options).unwrap());
        let planned = start.elapsed().as_nanos() as f64 / steps as f64;
        let tasks = plan.graph.as_ref().unwrap().tasks().len();
        println!("plan    {planned:7.1} ns a step with {tasks} tasks");
        let mut executor = Executor::new(plan).unwrap();
        for threads in [1, 2, 1, 2] {
            let options = RunOptions {
                threads,
                schedule_seed: Some(1),
                ..RunOptions::default()
            };
            let outcome = executor
                .run(&HashMap::new(), &options, &mut |_| true)
                .unwrap();
            let wall_ns = outcome.wall_ns as f64;
            println!(
                "tasks   {:7.1} ns a task, {:.1} a step, on {threads} threads",
                wall_ns / tasks as f64,
                wall_ns / steps as f64,
            );
        }
    }
}
