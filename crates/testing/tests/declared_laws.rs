//! The laws that declarations claim, checked on the kernels: the loop names no op, only names of
//! parameters. The ring is the integers modulo 17, with 2 as an eighth root of unity.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{DType, HostTensor, Shape, View};
use cloakwork_kernels::{Isa, available_isas};
use cloakwork_ops::{ALL, Law, OpDef, find};
use cloakwork_run::eager::{EagerArg, Tensor, call};
use cloakwork_testing::Source;

const Q: i64 = 17;
const SHAPE: [u64; 4] = [3, 4, 2, 1];
const ROUNDS: u64 = 20;

fn tensor(dims: &[u64], words: &[i64]) -> EagerArg {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let view = View::contiguous(Shape::new(dims).unwrap());
    let host = HostTensor::new(DType::I64, view, bytes.into()).unwrap();
    EagerArg::Tensor(Tensor::from_host(&host, cloakwork_kernels::best_isa()).unwrap())
}

/// A value for each parameter of this name; `None` for hints, flags and results.
fn fixed(name: &str) -> EagerArg {
    match name {
        "q" => tensor(&[1], &[Q]),
        "perm" => tensor(&[4], &[0, 2, 1, 3]),
        "psi" => tensor(&[1, 4], &[1, 4, 2, 8]),
        "psi_inv" => tensor(&[1, 4], &[1, 13, 9, 15]),
        "n_inv" => tensor(&[1], &[13]),
        "c" => tensor(&[1], &[5]),
        "index" => tensor(&[2], &[1, 0]),
        _ => EagerArg::None,
    }
}

fn run(def: &'static OpDef, isa: Isa, a: &[i64], b: &[i64]) -> Vec<i64> {
    let value = |param: &cloakwork_ops::Param| match param.name {
        "a" => tensor(&SHAPE, a),
        "b" => tensor(&SHAPE, b),
        // A sum needs an axis; a transform has a default.
        "axis" if param.default.is_none() => EagerArg::Int(0),
        name => fixed(name),
    };
    let args = def.params.iter().map(value).collect();
    let result = call(def, args, 1, isa).unwrap_or_else(|error| panic!("{}: {error}", def.name));
    result.to_host().unwrap().words()
}

fn sum(a: &[i64], b: &[i64]) -> Vec<i64> {
    a.iter().zip(b).map(|(a, b)| (a + b) % Q).collect()
}

fn holds(law: Law, def: &'static OpDef, isa: Isa, [a, b, c]: [&[i64]; 3]) -> bool {
    let apply = |a: &[i64]| run(def, isa, a, c);
    match law {
        Law::Commutes => run(def, isa, a, b) == run(def, isa, b, a),
        Law::Involution => apply(&apply(a)) == a,
        Law::Linear => apply(&sum(a, b)) == sum(&apply(a), &apply(b)),
        Law::InverseOf(other) => apply(&run(find(other).unwrap(), isa, a, c)) == a,
        _ => unreachable!("not algebraic"),
    }
}

fn claims() -> impl Iterator<Item = (&'static OpDef, Law)> {
    ALL.iter()
        .flat_map(|def| def.laws.iter().map(move |law| (*def, *law)))
        .filter(|(_, law)| law.is_algebraic())
}

fn residues(source: &mut Source) -> Vec<i64> {
    let count = SHAPE.iter().product::<u64>();
    (0..count)
        .map(|_| source.below(Q as usize) as i64)
        .collect()
}

#[test]
fn every_law_that_is_claimed_holds_with_every_instruction_set() {
    assert!(claims().count() >= 8);
    for seed in 0..ROUNDS {
        let mut source = Source::from_seed(seed);
        let [a, b, c] = [(); 3].map(|()| residues(&mut source));
        for (def, law) in claims() {
            for isa in available_isas() {
                assert!(
                    holds(law, def, isa, [&a, &b, &c]),
                    "{} {law:?} {isa}",
                    def.name
                );
            }
        }
    }
}

#[test]
fn a_law_that_does_not_hold_is_noticed() {
    let mut source = Source::from_seed(1);
    let [a, b, c] = [(); 3].map(|()| residues(&mut source));
    let isa = Isa::PORTABLE;
    let words: [&[i64]; 3] = [&a, &b, &c];
    assert!(!holds(Law::Linear, find("modsum").unwrap(), isa, words));
    assert!(!holds(Law::Involution, find("ntt").unwrap(), isa, words));
    assert!(!holds(
        Law::InverseOf("ntt"),
        find("modneg").unwrap(),
        isa,
        words
    ));
}
