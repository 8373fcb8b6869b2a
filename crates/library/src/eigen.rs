//! Eigenvalues and eigenvectors.

use crate::Matrix;
use crate::factor::{Dense, finite};
use crate::matrix::pack;
use faer::traits::ext::ComplexFieldExt;
use faer::{ColRef, Side};
use num_complex::Complex;

pub(crate) fn self_adjoint<T: Dense>(a: &Matrix<T>) -> Option<Vec<T>> {
    if a.rows() == 0 {
        return Some(vec![]); // The library counts n - 1.
    }
    let a = real_diagonal(a);
    let factors = finite(&a)?.self_adjoint_eigen(Side::Lower).ok()?;
    let mut packed: Vec<T> = factors.S().column_vector().iter().copied().collect();
    pack(&mut packed, factors.U());
    Some(packed)
}

pub(crate) fn self_adjoint_values<T: Dense>(a: &Matrix<T>) -> Option<Vec<f64>> {
    if a.rows() == 0 {
        return Some(vec![]);
    }
    let a = real_diagonal(a);
    finite(&a)?.self_adjoint_eigenvalues(Side::Lower).ok()
}

/// A self-adjoint matrix has a real diagonal: imaginary parts there are not
/// read, as what is above the diagonal is not. The library would read them.
fn real_diagonal<T: Dense>(a: &Matrix<T>) -> Matrix<T> {
    let at = |i: usize, j: usize| a.elements()[j * a.rows() + i];
    Matrix::new(a.rows(), a.columns(), |i, j| {
        let is_finite = at(i, j).is_finite();
        if i == j && is_finite {
            T::from_f64(at(i, j).real())
        } else {
            at(i, j)
        }
    })
}

pub(crate) fn general<T: Dense>(a: &Matrix<T>) -> Option<Vec<Complex<f64>>> {
    let factors = finite(a)?.eigen().ok()?;
    let mut packed: Vec<_> = factors.S().column_vector().iter().copied().collect();
    let mut vectors = factors.U().to_owned();
    for vector in vectors.col_iter_mut() {
        let scale = normalizing(vector.as_ref());
        vector.iter_mut().for_each(|component| *component *= scale);
    }
    pack(&mut packed, vectors.as_ref());
    Some(packed)
}

/// The factor that gives a vector norm 1 and makes its largest component real and positive. An
/// eigenvector is free in just this factor, so that without a choice results would not compare.
fn normalizing(vector: ColRef<'_, Complex<f64>>) -> Complex<f64> {
    let mut largest = Complex::new(0.0, 0.0);
    for &component in vector.iter() {
        if component.norm_sqr() > largest.norm_sqr() {
            largest = component;
        }
    }
    largest.conj() / (largest.norm() * vector.norm_l2())
}

pub(crate) fn general_values<T: Dense>(a: &Matrix<T>) -> Option<Vec<Complex<f64>>> {
    finite(a)?.eigenvalues().ok()
}
