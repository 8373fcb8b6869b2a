//! Nanoseconds a step that passes take: over a program in which they find nothing, and over one
//! whose every other step repeats the one before.
#![allow(clippy::unwrap_used, missing_docs)]

use cloakwork_ir::{Arg, Builder, DType, HostSlot, Program, Shape, Type};
use cloakwork_passes::{Draft, Extent, PASSES, optimize};
use cloakwork_verify::verify;
use std::sync::Arc;
use std::time::Instant;

/// Sums into tensors in turn; each step, or each second, computes what none did before.
fn program(steps: usize, repeats: bool) -> Program {
    let mut builder = Builder::new();
    let ty = Type::new(DType::I64, Shape::new(&[2]).unwrap());
    let mut input = |name: &str| {
        let (name, ty) = (name.to_owned(), ty.clone());
        builder.upload(HostSlot::Input { name, ty })
    };
    let (a, q) = (input("a"), input("q"));
    let mut last = a;
    for step in 0..steps {
        let out = builder.empty(DType::I64, &ty.shape);
        let args = [a, last, q, out].map(|name| Arg::Device(name, None));
        builder.call_into("_modsum_ttt", args, out);
        if !repeats || step % 2 == 1 {
            last = out;
        }
    }
    let name = "out".to_owned();
    builder.download(last, HostSlot::Output { name });
    builder.program
}

/// A program of ten steps, many times.
fn small() {
    let program = Arc::new(program(4, false));
    let rounds = 20_000;
    let start = Instant::now();
    for _ in 0..rounds {
        verify(Arc::clone(&program)).verified.unwrap();
    }
    let verified_ns = start.elapsed().as_nanos() / rounds;
    let verified = Arc::new(verify(program).verified.unwrap());
    let start = Instant::now();
    for _ in 0..rounds {
        optimize(&verified, Extent::WherePaid).unwrap();
    }
    let passed_ns = start.elapsed().as_nanos() / rounds;
    let count = verified.program().steps.len();
    println!("{count} steps: verify {verified_ns} ns, all passes {passed_ns} ns a program");
}

fn main() {
    small();
    let given = std::env::args().nth(1);
    let steps: usize = given.map_or(1_000_000, |n| n.parse().unwrap());
    for repeats in [false, true] {
        let program = Arc::new(program(steps, repeats));
        let count = program.steps.len();
        let per = |start: Instant| start.elapsed().as_nanos() as f64 / count as f64;
        println!("{count} steps, every other one a repetition: {repeats}");
        let start = Instant::now();
        let verified = Arc::new(verify(program).verified.unwrap());
        println!("verify      {:7.1} ns a step", per(start));
        for pass in PASSES {
            let start = Instant::now();
            let mut draft = Draft::new(&verified);
            pass.run(&mut draft);
            println!("{:24}{:7.1} ns a step", pass.name, per(start));
        }
        let start = Instant::now();
        let made = optimize(&verified, Extent::WherePaid).unwrap();
        let left = made.map_or(count, |made| made.program().steps.len());
        println!(
            "all         {:7.1} ns a step, {left} steps left",
            per(start)
        );
    }
}
