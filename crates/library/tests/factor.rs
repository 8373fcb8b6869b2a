//! Factors multiply to what was factored and have the form that they must have.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{C, Element, Matrix, Plain, SIZES, Scalar};

/// Positive definite: `b bᴴ` and a diagonal that keeps it away from singular.
fn positive<T: Element>(n: usize) -> Plain {
    let b = Plain::random::<T>(n, n, 3);
    let mut a = b.times(&b.adjoint());
    for i in 0..n {
        a.elements[i * n + i] += 1.0;
    }
    a
}

fn check_cholesky<T: Element>() {
    for n in SIZES {
        let a = positive::<T>(n);
        // What the other triangle holds does not matter.
        let half = |lower: bool| {
            let kept = move |i, j| if lower { i >= j } else { i <= j };
            let other = C::new(7.5, 0.0);
            let element = |i, j| T::of(if kept(i, j) { a.at(i, j) } else { other });
            Matrix::new(n, n, element)
        };
        let l = Plain::new(n, n, &T::cholesky(&half(true), false).unwrap());
        let r = Plain::new(n, n, &T::cholesky(&half(false), true).unwrap());
        l.times(&l.adjoint()).assert_near(&a, "L Lᴴ");
        r.adjoint().times(&r).assert_near(&a, "Rᴴ R");
        for i in 0..n {
            for j in i + 1..n {
                assert_eq!((l.at(i, j), r.at(j, i)), (C::default(), C::default()));
            }
            assert!(l.at(i, i).re > 0.0 && l.at(i, i).im == 0.0);
        }
    }
}

#[test]
fn cholesky_factors_multiply_to_the_matrix() {
    check_cholesky::<f64>();
    check_cholesky::<C>();
}

#[test]
fn cholesky_refuses_what_is_not_positive_definite() {
    let indefinite = Matrix::new(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
    assert_eq!(f64::cholesky(&indefinite, false), None);
    assert_eq!(f64::cholesky(&Matrix::new(1, 1, |_, _| 0.0), true), None);
    assert_eq!(f64::cholesky(&Matrix::new(3, 3, |_, _| -1.0), false), None);
}

fn check_solve<T: Element>() {
    for n in SIZES {
        for columns in [0, 1, 4, 31] {
            let a = Plain::random::<T>(n, n, 5);
            let b = Plain::random::<T>(n, columns, 6);
            let x = Plain::new(n, columns, &T::solve(&a.matrix(), &b.matrix()).unwrap());
            a.times(&x).assert_near(&b, "a x");
        }
    }
}

#[test]
fn solutions_solve() {
    check_solve::<f64>();
    check_solve::<C>();
}

#[test]
fn a_singular_system_has_no_solution_and_determinant_zero() {
    for n in [1, 2, 3, 16, 40] {
        let ones = Matrix::new(n, n, |_, _| if n == 1 { 0.0 } else { 1.0 });
        let b = Matrix::new(n, 2, |i, _| i as f64);
        assert_eq!(f64::solve(&ones, &b), None, "{n}");
        assert_eq!(
            f64::determinant(&ones),
            Some(vec![0.0, f64::NEG_INFINITY]),
            "{n}"
        );
    }
    // A column of zeros in any place, in whatever block it falls.
    for zero in [0, 1, 20, 39] {
        let a = Plain::random::<C>(40, 40, 8);
        let a = Matrix::new(
            40,
            40,
            |i, j| if j == zero { C::default() } else { a.at(i, j) },
        );
        let determinant = C::determinant(&a).unwrap();
        assert_eq!(
            determinant,
            [C::default(), C::new(f64::NEG_INFINITY, 0.0)],
            "{zero}"
        );
        assert_eq!(
            C::solve(&a, &Matrix::new(40, 1, |_, _| C::default())),
            None,
            "{zero}"
        );
    }
}

/// By the sum over all permutations, for the sizes where that is feasible.
fn leibniz(a: &Plain) -> C {
    if a.rows == 0 {
        return C::new(1.0, 0.0);
    }
    let minor = |column: usize| {
        let kept = (1..a.rows).flat_map(|i| (0..a.columns).map(move |j| (i, j)));
        let elements: Vec<C> = kept
            .filter(|&(_, j)| j != column)
            .map(|(i, j)| a.at(i, j))
            .collect();
        Plain::new(a.rows - 1, a.columns - 1, &elements)
    };
    (0..a.columns)
        .map(|j| a.at(0, j) * leibniz(&minor(j)) * if j % 2 == 0 { 1.0 } else { -1.0 })
        .sum()
}

fn check_determinant<T: Element>() {
    for n in 0..7 {
        for seed in 0..8 {
            let a = Plain::random::<T>(n, n, seed);
            let packed = T::determinant(&a.matrix()).unwrap();
            let [sign, log] = [packed[0].wide(), packed[1].wide()];
            assert!((sign.norm() - 1.0).abs() < 1e-14 && log.im == 0.0);
            let expected = leibniz(&a);
            assert!(
                (sign * log.re.exp() - expected).norm() < 1e-13,
                "{n} {seed}"
            );
        }
    }
}

#[test]
fn determinants_are_those_of_leibniz() {
    check_determinant::<f64>();
    check_determinant::<C>();
    let rotated = Matrix::new(3, 3, |i, j| if j == (i + 1) % 3 { 2.0 } else { 0.0 });
    assert_eq!(f64::determinant(&rotated).unwrap(), [1.0, 3.0 * 2f64.ln()]);
    let swapped = Matrix::new(2, 2, |i, j| if i == j { 0.0 } else { 1.0 });
    assert_eq!(f64::determinant(&swapped).unwrap(), [-1.0, 0.0]);
}

#[test]
fn determinants_neither_overflow_nor_vanish() {
    for magnitude in [1e300, 1e-300] {
        let diagonal = Matrix::new(4, 4, |i, j| if i == j { -magnitude } else { 0.0 });
        let packed = f64::determinant(&diagonal).unwrap();
        assert!((packed[0] - 1.0).abs() < 1e-12, "{packed:?}");
        assert!((packed[1] / (4.0 * f64::ln(magnitude)) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a_subnormal_pivot_has_a_sign() {
    let diagonal = |i| if i == 2 { -1e-310 } else { 1.0 };
    let a = Matrix::new(3, 3, |i, j| if i == j { diagonal(i) } else { 0.0 });
    let packed = f64::determinant(&a).unwrap();
    assert!((packed[0] + 1.0).abs() < 1e-12, "{packed:?}");
    assert!((packed[1] - f64::ln(1e-310)).abs() < 1e-9);
}

fn check_qr<T: Element>() {
    for m in SIZES {
        for n in [0, 1, 3, 17, 40] {
            for complete in [false, true] {
                let a = Plain::random::<T>(m, n, 9);
                let k = if complete { m } else { m.min(n) };
                let packed = T::qr(&a.matrix(), complete).unwrap();
                let (q, r) = packed.split_at(m * k);
                let (q, r) = (Plain::new(m, k, q), Plain::new(k, n, r));
                q.assert_orthonormal_columns("Q");
                q.times(&r).assert_near(&a, "Q R");
                for i in 0..k {
                    assert!((0..n.min(i)).all(|j| r.at(i, j) == C::default()));
                }
            }
        }
    }
}

#[test]
fn qr_factors_multiply_to_the_matrix() {
    check_qr::<f64>();
    check_qr::<C>();
}

fn check_svd<T: Element>() {
    for m in SIZES {
        for n in [0, 1, 3, 17, 40] {
            for full in [false, true] {
                let a = Plain::random::<T>(m, n, 11);
                let k = m.min(n);
                let (left, right) = if full { (m, n) } else { (k, k) };
                let packed = T::svd(&a.matrix(), full).unwrap();
                let (u, rest) = packed.split_at(m * left);
                let (s, vh) = rest.split_at(k);
                let s: Vec<C> = s.iter().map(|s| s.wide()).collect();
                let (u, vh) = (Plain::new(m, left, u), Plain::new(right, n, vh));
                u.assert_orthonormal_columns("U");
                vh.adjoint().assert_orthonormal_columns("V");
                let middle = Plain::diagonal(left, right, &s);
                u.times(&middle).times(&vh).assert_near(&a, "U S Vᴴ");
                assert!(s.iter().all(|s| s.re >= 0.0 && s.im == 0.0));
                assert!(s.is_sorted_by(|a, b| a.re >= b.re));
                let alone = T::singular_values(&a.matrix()).unwrap();
                let alone = Plain::new(k, 1, &alone);
                alone.assert_near(&Plain::new(k, 1, &s), "singular values");
            }
        }
    }
}

#[test]
fn singular_value_factors_multiply_to_the_matrix() {
    check_svd::<f64>();
    check_svd::<C>();
}

#[test]
fn singular_values_of_a_matrix_of_rank_one() {
    let ones = Matrix::new(4, 9, |_, _| 1.0);
    let values = f64::singular_values(&ones).unwrap();
    assert!((values[0] - 6.0).abs() < 1e-13 && values[1..].iter().all(|&v| v < 1e-13));
}

fn check_not_finite<T: Element>() {
    for bad in [f64::NAN, f64::INFINITY] {
        let a = Matrix::new(3, 3, |i, j| {
            T::of(C::new(if i == j { 2.0 } else { 0.0 }, 0.0))
        });
        let with = |at| {
            Matrix::new(3, 3, |i, j| {
                T::of(C::new(if (i, j) == at { bad } else { 1.0 }, 0.0))
            })
        };
        let bad = with((1, 1));
        assert_eq!(T::cholesky(&bad, false), None);
        assert_eq!(T::solve(&bad, &a), None);
        assert_eq!(T::determinant(&bad), None);
        assert_eq!(T::qr(&bad, false), None);
        assert_eq!(T::svd(&bad, true), None);
        assert_eq!(T::singular_values(&bad), None);
        assert_eq!(T::self_adjoint_eigen(&bad), None);
        assert_eq!(T::self_adjoint_eigenvalues(&bad), None);
        assert_eq!(T::eigen(&bad), None);
        assert_eq!(T::eigenvalues(&bad), None);
        // A right-hand side may be what it is: its other columns are solved.
        let x = T::solve(&a, &with((0, 2))).unwrap();
        let columns = |j: usize| {
            (0..3)
                .map(|i: usize| x[3 * i + j].wide())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            [columns(0), columns(1)],
            [vec![C::new(0.5, 0.0); 3], vec![C::new(0.5, 0.0); 3]]
        );
        assert!(!columns(2)[0].re.is_finite());
    }
}

#[test]
fn a_matrix_with_an_infinity_or_a_nan_has_no_factors() {
    check_not_finite::<f64>();
    check_not_finite::<C>();
}
