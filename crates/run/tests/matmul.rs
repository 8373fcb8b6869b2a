//! `matmul` with each of its tilings and operand layouts, against sums of plain integers.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_csrc as _;
use cloakwork_ir::{DType, HostTensor, Shape, View};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{Code, find};
use cloakwork_run::eager::{EagerArg, EagerError, Tensor, call};

/// i64 elements that rarely repeat.
fn tensor(dims: &[u64], seed: u64) -> Tensor {
    let shape = Shape::new(dims).unwrap();
    let word = |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let bytes: Vec<u8> = (0..shape.elements())
        .flat_map(|i| word(i).to_le_bytes())
        .collect();
    let view = View::contiguous(shape);
    Tensor::from_host(
        &HostTensor::new(DType::I64, view, bytes.into()).unwrap(),
        best_isa(),
    )
    .unwrap()
}

/// The same storage with the last two axes exchanged.
fn transposed(tensor: &Tensor) -> Tensor {
    let view = tensor.view().moveaxis(-1, -2).unwrap();
    tensor.view_as(view).unwrap()
}

fn multiply(a: &Tensor, b: &Tensor, out: Option<&Tensor>) -> Result<Tensor, EagerError> {
    let out = out.map_or(EagerArg::None, |out| EagerArg::Tensor(out.clone()));
    let args = vec![
        EagerArg::Tensor(a.clone()),
        EagerArg::Tensor(b.clone()),
        out,
    ];
    call(find("matmul").unwrap(), args, 2, best_isa())
}

/// The contents of the product, and those by its definition.
fn check(a: &Tensor, b: &Tensor, out: Option<&Tensor>) {
    let result = multiply(a, b, out).unwrap();
    let shape = result.view().shape.clone();
    let dims = shape.dims();
    let ([batch @ .., m, n], k) = (dims, a.view().shape.dims()[a.view().rank() - 1]) else {
        panic!("no matrix")
    };
    let wide = |tensor: &Tensor, last: [u64; 2]| {
        let target = Shape::new(&[batch, &last].concat()).unwrap();
        let view = tensor.view().broadcast_to(&target).unwrap();
        tensor.view_as(view).unwrap().to_host().unwrap().words()
    };
    let (left, right) = (wide(a, [*m, k]), wide(b, [k, *n]));
    let [m, n, k] = [*m, *n, k].map(|size| size as usize);
    let mut expected = vec![0i64; shape.elements() as usize];
    for (place, element) in expected.iter_mut().enumerate() {
        let (batch, row, column) = (place / (m * n), place / n % m, place % n);
        let row = &left[(batch * m + row) * k..][..k];
        let column = right.iter().skip(batch * k * n + column).step_by(n);
        let products = row.iter().zip(column).map(|(x, y)| x.wrapping_mul(*y));
        *element = products.fold(0, i64::wrapping_add);
    }
    let got = result.to_host().unwrap().words();
    let wrong = got.iter().zip(&expected).position(|(x, y)| x != y);
    let shapes = (a.view(), b.view(), result.view());
    assert_eq!(wrong, None, "{shapes:?}");
}

#[test]
fn small_and_large_products_of_every_orientation() {
    for [m, n, k] in [
        [1, 1, 1],
        [3, 4, 5],
        [70, 50, 90],
        [131, 520, 530],
        [300, 7, 700],
    ] {
        for choice in 0..8 {
            let side = |bit: u32, [rows, columns]: [u64; 2], seed| match choice >> bit & 1 {
                0 => tensor(&[rows, columns], seed),
                _ => transposed(&tensor(&[columns, rows], seed)),
            };
            let out = side(2, [m, n], 3);
            check(&side(0, [m, k], 1), &side(1, [k, n], 2), Some(&out));
        }
    }
}

#[test]
fn products_with_vectors() {
    for [m, n, k] in [[1, 9, 5], [1, 500, 70], [200, 1, 30], [1, 1, 90], [1, 5, 0]] {
        let (a, b) = (tensor(&[m, k], 1), tensor(&[k, n], 2));
        check(&a, &b, None);
        check(&transposed(&tensor(&[k, m], 1)), &b, None);
        check(&a, &transposed(&tensor(&[n, k], 2)), None);
    }
}

#[test]
fn batches_broadcast_and_fold() {
    check(&tensor(&[4, 2, 3, 5], 1), &tensor(&[5, 6], 2), None);
    check(&tensor(&[4, 1, 3, 5], 1), &tensor(&[2, 5, 6], 2), None);
    check(&tensor(&[3, 5], 1), &tensor(&[4, 2, 5, 6], 2), None);
    check(&tensor(&[2, 3, 1, 5], 1), &tensor(&[3, 5, 1], 2), None);
    check(&tensor(&[2, 0, 3, 5], 1), &tensor(&[5, 6], 2), None);
    check(
        &transposed(&tensor(&[3, 5, 40], 1)),
        &tensor(&[5, 6], 2),
        None,
    );
    // Each operand is packed once.
    check(
        &tensor(&[140, 300], 1),
        &transposed(&tensor(&[2, 230, 300], 2)),
        None,
    );
    check(
        &tensor(&[2, 1, 140, 300], 1),
        &transposed(&tensor(&[1, 2, 230, 300], 2)),
        None,
    );
}

#[test]
fn empty_sizes_give_zeros_or_nothing() {
    check(&tensor(&[3, 0], 1), &tensor(&[0, 4], 2), None);
    check(&tensor(&[0, 3], 1), &tensor(&[3, 4], 2), None);
    check(&tensor(&[3, 4], 1), &tensor(&[4, 0], 2), None);
}

#[test]
fn what_does_not_fit_is_named() {
    let code = |a: &[u64], b: &[u64]| match multiply(&tensor(a, 1), &tensor(b, 2), None) {
        Err(EagerError::Call { error, .. }) => error.code,
        _ => panic!("no finding"),
    };
    assert_eq!(code(&[3, 4], &[3, 4]), Code::Shape);
    assert_eq!(code(&[3], &[3, 4]), Code::Shape);
    assert_eq!(code(&[2, 3, 4], &[3, 4, 5]), Code::Shape);
    let a = tensor(&[3, 3], 1);
    let own = multiply(&a, &a, Some(&a));
    assert!(matches!(own, Err(EagerError::Call { error, .. }) if error.code == Code::Aliasing));
}
