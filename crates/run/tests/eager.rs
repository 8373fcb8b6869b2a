//! One op at a time: what is refused, and that it agrees with plain integers.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{DType, HostTensor, Shape, View};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{ALL, Code, find};
use cloakwork_run::eager::{EagerArg, EagerError, Tensor, call};

fn tensor(dims: &[u64], words: &[i64]) -> Tensor {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let view = View::contiguous(Shape::new(dims).unwrap());
    Tensor::from_host(&HostTensor::new(DType::I64, view, bytes.into()).unwrap()).unwrap()
}

fn run(op: &str, args: &[EagerArg]) -> Result<Vec<i64>, Code> {
    match call(find(op).unwrap(), args.to_vec(), 2, best_isa()) {
        Ok(result) => Ok(result.to_host().unwrap().words()),
        Err(EagerError::Call { error, .. }) => Err(error.code),
        Err(other) => panic!("{other}"),
    }
}

fn of(tensor: &Tensor) -> EagerArg {
    EagerArg::Tensor(tensor.clone())
}

#[test]
fn results_are_those_of_plain_integers() {
    let a = tensor(&[2, 2], &[16, 256, -3, 5]);
    let q = tensor(&[2], &[17, 257]);
    assert_eq!(
        run("modmul", &[of(&a), of(&a), of(&q)]),
        Ok(vec![1, 1, 9, 25])
    );
    assert_eq!(
        run("modsum", &[of(&a), EagerArg::Int(1), EagerArg::Int(7)]),
        Ok(vec![3, 5, -2, 6])
    );
}

#[test]
fn a_modulus_is_checked_whether_integer_or_tensor() {
    let a = tensor(&[2], &[1, 2]);
    for bad in [0, 1, -5, i64::MAX] {
        let as_tensor = of(&tensor(&[1], &[bad]));
        assert_eq!(
            run("modmul", &[of(&a), of(&a), EagerArg::Int(bad)]),
            Err(Code::Modulus)
        );
        assert_eq!(
            run("modmul", &[of(&a), of(&a), as_tensor]),
            Err(Code::Modulus)
        );
    }
}

#[test]
fn a_result_may_be_an_operand_but_not_overlap_one() {
    let a = tensor(&[4], &[1, 2, 3, 4]);
    let part = |start, stop| {
        let item = cloakwork_ir::ShapeItem::Slice {
            start: Some(start),
            stop: Some(stop),
            step: Some(1),
        };
        call(
            find("get_slice").unwrap(),
            vec![of(&a), EagerArg::Shape(vec![item])],
            1,
            best_isa(),
        )
    };
    let (low, high) = (part(0, 3).unwrap(), part(1, 4).unwrap());
    let q = EagerArg::Int(100);
    assert_eq!(
        run("modsum", &[of(&low), of(&low), q.clone(), of(&high)]),
        Err(Code::Aliasing)
    );
    assert_eq!(
        run("modsum", &[of(&low), of(&low), q, of(&low)]),
        Ok(vec![2, 4, 6])
    );
    assert_eq!(a.to_host().unwrap().words(), [2, 4, 6, 4]);
}

#[test]
fn composite_ops_check_before_they_expand() {
    let a = tensor(&[2, 2], &[1, 2, 3, 4]);
    let repeated = run(
        "repeat_interleave",
        &[of(&a), EagerArg::Int(2), EagerArg::Int(1)],
    );
    assert_eq!(repeated, Ok(vec![1, 1, 2, 2, 3, 3, 4, 4]));
    let axis = run(
        "repeat_interleave",
        &[of(&a), EagerArg::Int(2), EagerArg::Int(7)],
    );
    assert_eq!(axis, Err(Code::Axis));
}

#[test]
fn nothing_that_is_left_out_crashes() {
    for def in ALL {
        for count in 0..=def.params.len() {
            let args = vec![EagerArg::Int(-1); count];
            assert!(
                call(def, args, 1, best_isa()).is_err(),
                "{} with {count} times -1",
                def.name
            );
        }
    }
}
