//! Single ops: rejected arguments, and agreement with plain integers.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_csrc as _;
use cloakwork_ir::{DType, HostTensor, Shape, ShapeItem, View};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{ALL, Code, find};
use cloakwork_run::eager::{EagerArg, EagerError, Tensor, call};

fn tensor(dims: &[u64], words: &[i64]) -> Tensor {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let view = View::contiguous(Shape::new(dims).unwrap());
    Tensor::from_host(
        &HostTensor::new(DType::I64, view, bytes.into()).unwrap(),
        best_isa(),
    )
    .unwrap()
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
        let item = ShapeItem::Slice {
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

/// A ring of degree 4 with moduli 97 and 193, and the operands of a key switch of one polynomial.
struct Switch {
    a: Tensor,
    key: Tensor,
    tables: [Tensor; 5],
    expected: [i64; 16],
}

impl Switch {
    fn new() -> Self {
        let key: Vec<i64> = (0..4i64)
            .flat_map(|m| [0, 5].map(|p| 11 * m + p))
            .flat_map(|first| [1, 4, 7, 10].map(|j| first + j))
            .flat_map(|word| [word, word + 2])
            .collect();
        Self {
            a: tensor(&[1, 4, 1, 2], &[80, 137, 23, 144, 69, 42, 29, 35]),
            key: tensor(&[4, 2, 4, 2], &key),
            tables: [
                tensor(&[2], &[97, 193]),
                tensor(&[2, 4], &[1, 22, 64, 50, 1, 112, 43, 184]),
                tensor(&[2, 4], &[1, 75, 47, 33, 1, 81, 9, 150]),
                tensor(&[2], &[73, 145]),
                tensor(&[4], &[0, 2, 1, 3]),
            ],
            expected: [
                0, 190, 44, 169, 64, 124, 53, 92, 64, 184, 73, 162, 87, 88, 54, 77,
            ],
        }
    }

    fn run(&self, out: EagerArg) -> Result<Vec<i64>, Code> {
        let [q, psi, psi_inv, n_inv, perm] = &self.tables;
        let args = [
            of(&self.a),
            of(&self.key),
            of(q),
            EagerArg::None,
            of(psi),
            of(psi_inv),
            of(n_inv),
            of(perm),
            EagerArg::Int(4),
            EagerArg::Int(4),
            out,
        ];
        run("key_switch", &args)
    }
}

#[test]
fn a_composite_op_returns_all_of_its_result_also_where_it_is_given() {
    let switch = Switch::new();
    assert_eq!(switch.run(EagerArg::None), Ok(switch.expected.to_vec()));
    let out = tensor(&[1, 4, 2, 2], &[7; 16]);
    assert_eq!(switch.run(of(&out)), Ok(switch.expected.to_vec()));
    assert_eq!(out.to_host().unwrap().words(), switch.expected);
}

#[test]
fn a_composite_op_refuses_a_result_that_overlaps_an_operand() {
    let switch = Switch::new();
    let entries = [Some(4), Some(2), None, Some(2)].map(|size| match size {
        None => ShapeItem::Int(0),
        stop => ShapeItem::Slice {
            start: Some(0),
            stop,
            step: Some(1),
        },
    });
    let layout = |op, args: Vec<EagerArg>| call(find(op).unwrap(), args, 1, best_isa()).unwrap();
    let entries = EagerArg::Shape(entries.to_vec());
    let first_digits = layout("get_slice", vec![of(&switch.key), entries]);
    let out = layout("unsqueeze", vec![of(&first_digits), EagerArg::Int(0)]);
    let before = switch.key.to_host().unwrap().words();
    assert_eq!(switch.run(of(&out)), Err(Code::Aliasing));
    assert_eq!(switch.key.to_host().unwrap().words(), before);
}

#[test]
fn indices_are_read_through_any_view() {
    let a = tensor(&[2, 3], &[10, 11, 12, 20, 21, 22]);
    let layout = |op, args: Vec<EagerArg>| call(find(op).unwrap(), args, 1, best_isa()).unwrap();
    let column = tensor(&[2, 1], &[1, -2]);
    let repeated = layout(
        "expand",
        vec![of(&column), EagerArg::Int(1), EagerArg::Int(3)],
    );
    let args = [of(&a), of(&repeated), EagerArg::Int(0)];
    assert_eq!(
        run("take_along_axis", &args),
        Ok(vec![20, 21, 22, 10, 11, 12])
    );
    let indices = tensor(&[3, 2], &[0, 0, 1, 0, 0, 1]);
    let moved = layout(
        "moveaxis",
        vec![of(&indices), EagerArg::Int(0), EagerArg::Int(1)],
    );
    let args = [of(&a), of(&moved), EagerArg::Int(0)];
    assert_eq!(
        run("take_along_axis", &args),
        Ok(vec![10, 21, 12, 10, 11, 22])
    );
}
