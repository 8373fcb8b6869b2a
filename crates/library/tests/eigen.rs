//! Eigenvalues and eigenvectors do what they are called for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{C, Element, Matrix, Plain, SIZES, Scalar};

fn check_self_adjoint<T: Element>() {
    for n in SIZES {
        let b = Plain::random::<T>(n, n, 1);
        let bh = b.adjoint();
        let sum: Vec<C> = b
            .elements
            .iter()
            .zip(&bh.elements)
            .map(|(a, b)| a + b)
            .collect();
        let a = Plain::new(n, n, &sum);
        // The upper triangle is not read.
        let element = |i: usize, j: usize| if i >= j { a.at(i, j) } else { C::new(9.0, 0.0) };
        let lower = Matrix::new(n, n, |i, j| T::of(element(i, j)));
        let packed = T::self_adjoint_eigen(&lower).unwrap();
        let (values, vectors) = packed.split_at(n);
        let values: Vec<C> = values.iter().map(|v| v.wide()).collect();
        let vectors = Plain::new(n, n, vectors);
        vectors.assert_orthonormal_columns("V");
        let diagonal = Plain::diagonal(n, n, &values);
        a.times(&vectors)
            .assert_near(&vectors.times(&diagonal), "a V = V w");
        assert!(values.iter().all(|v| v.im == 0.0));
        assert!(values.is_sorted_by(|a, b| a.re <= b.re));
        let alone = T::self_adjoint_eigenvalues(&lower).unwrap();
        Plain::new(n, 1, &alone).assert_near(&Plain::new(n, 1, &values), "values");
    }
}

#[test]
fn self_adjoint_matrices_become_diagonal() {
    check_self_adjoint::<f64>();
    check_self_adjoint::<C>();
}

fn check_general<T: Element>() {
    for n in SIZES {
        let a = Plain::random::<T>(n, n, 2);
        let packed = T::eigen(&a.matrix()).unwrap();
        let (values, vectors) = packed.split_at(n);
        let vectors = Plain::new(n, n, vectors);
        let diagonal = Plain::diagonal(n, n, values);
        a.times(&vectors)
            .assert_near(&vectors.times(&diagonal), "a V = V w");
        for j in 0..n {
            let column: Vec<C> = (0..n).map(|i| vectors.at(i, j)).collect();
            let norm: f64 = column.iter().map(|c| c.norm_sqr()).sum();
            assert!((norm - 1.0).abs() < 1e-12);
            let largest = column.iter().map(|c| c.norm()).fold(0.0, f64::max);
            let real = |c: &C| (c.re - largest).abs() < 1e-12 && c.im.abs() < 1e-12;
            assert!(column.iter().any(real), "{column:?}");
        }
        let trace: C = (0..n).map(|i| a.at(i, i)).sum();
        assert!((values.iter().sum::<C>() - trace).norm() < 1e-11);
        let alone = T::eigenvalues(&a.matrix()).unwrap();
        for value in values {
            let near = alone
                .iter()
                .map(|v| (v - value).norm())
                .fold(f64::INFINITY, f64::min);
            assert!(near < 1e-10, "{value} is {near} away");
        }
        assert_eq!(alone.len(), n);
    }
}

#[test]
fn eigenvectors_are_stretched_by_their_eigenvalues() {
    check_general::<f64>();
    check_general::<C>();
}

#[test]
fn a_rotation_has_eigenvalues_i_and_minus_i() {
    let rotation = Matrix::new(2, 2, |i, j| match (i, j) {
        (0, 1) => -1.0,
        (1, 0) => 1.0,
        _ => 0.0,
    });
    let mut values = f64::eigenvalues(&rotation).unwrap();
    values.sort_by(|a, b| a.im.total_cmp(&b.im));
    assert!((values[0] - C::new(0.0, -1.0)).norm() < 1e-15);
    assert!((values[1] - C::new(0.0, 1.0)).norm() < 1e-15);
}

#[test]
fn a_matrix_with_too_few_eigenvectors_has_those_that_it_has() {
    let shear = Matrix::new(2, 2, |i, j| if i <= j { 1.0 } else { 0.0 });
    let packed = f64::eigen(&shear).unwrap();
    assert!(
        packed.iter().all(|c| c.re.is_finite() && c.im == 0.0),
        "{packed:?}"
    );
    assert_eq!(packed[..2], [C::new(1.0, 0.0); 2]);
}
