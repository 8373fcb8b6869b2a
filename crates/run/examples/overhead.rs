//! Nanoseconds a step of verifying, planning and running a program of tiny steps.
#![allow(clippy::unwrap_used, missing_docs)]

use cloakwork_ir::{Arg, Builder, DType, HostSlot, HostTensor, Shape};
use cloakwork_plan::{Options, plan};
use cloakwork_run::{Executor, RunOptions};
use cloakwork_verify::{Verified, verify};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

fn main() {
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

/// The same with every step a task of its own, scheduled on one thread and on two.
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
