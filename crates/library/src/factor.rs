//! Triangular, orthogonal and singular value factorisations.

use crate::Matrix;
use crate::matrix::pack;
use faer::linalg::solvers::Solve;
use faer::traits::ComplexField;
use faer::traits::ext::ComplexFieldExt;
use faer::{MatRef, Side};

/// `f64` and `Complex<f64>`, as the library sees them.
pub(crate) trait Dense: ComplexField<Real = f64> + Copy {}

impl<T: ComplexField<Real = f64> + Copy> Dense for T {}

/// Whether a factorisation may be tried: the libraries define nothing for infinities and NaNs.
pub(crate) fn finite<T: Dense>(a: &Matrix<T>) -> Option<MatRef<'_, T>> {
    a.elements().iter().all(T::is_finite).then(|| a.view())
}

pub(crate) fn cholesky<T: Dense>(a: &Matrix<T>, upper: bool) -> Option<Vec<T>> {
    let side = if upper { Side::Upper } else { Side::Lower };
    let mut factor = finite(a)?.llt(side).ok()?.L().to_owned();
    for i in 0..a.rows() {
        // The library leaves rounding errors in the imaginary parts.
        factor[(i, i)] = T::from_f64(factor[(i, i)].real());
    }
    let mut packed = Vec::with_capacity(a.elements().len());
    if upper {
        pack(&mut packed, factor.adjoint().to_owned().as_ref());
    } else {
        pack(&mut packed, factor.as_ref());
    }
    Some(packed)
}

pub(crate) fn solve<T: Dense>(a: &Matrix<T>, b: &Matrix<T>) -> Option<Vec<T>> {
    let factors = finite(a)?.partial_piv_lu();
    let pivots = factors.U();
    if (0..a.rows()).any(|i| pivots[(i, i)] == T::zero()) {
        return None;
    }
    let mut packed = Vec::with_capacity(b.elements().len());
    pack(&mut packed, factors.solve(b.view()).as_ref());
    Some(packed)
}

pub(crate) fn determinant<T: Dense>(a: &Matrix<T>) -> Option<Vec<T>> {
    let factors = finite(a)?.partial_piv_lu();
    let odd = is_odd(factors.P().arrays().0);
    let mut sign = T::from_f64(if odd { -1.0 } else { 1.0 });
    let mut log_magnitude = 0.0;
    for i in 0..a.rows() {
        let pivot = factors.U()[(i, i)];
        let magnitude = pivot.abs();
        if magnitude == 0.0 {
            let log = T::from_f64(f64::NEG_INFINITY);
            return Some(vec![T::zero(), log]);
        }
        sign *= phase(pivot, magnitude);
        log_magnitude += magnitude.ln();
    }
    Some(vec![sign, T::from_f64(log_magnitude)])
}

/// `pivot / magnitude`. The reciprocal of a subnormal magnitude may be infinite.
fn phase<T: Dense>(pivot: T, magnitude: f64) -> T {
    let lift = if magnitude.is_subnormal() {
        2f64.powi(60)
    } else {
        1.0
    };
    pivot * T::from_f64(lift) * T::from_f64((magnitude * lift).recip())
}

/// Whether an odd number of exchanges makes the permutation: each cycle takes its length less one.
fn is_odd(permutation: &[usize]) -> bool {
    let mut seen = vec![false; permutation.len()];
    let mut odd = false;
    for start in 0..permutation.len() {
        let mut at = start;
        while !seen[at] {
            seen[at] = true;
            at = permutation[at];
            odd ^= at != start;
        }
    }
    odd
}

pub(crate) fn qr<T: Dense>(a: &Matrix<T>, complete: bool) -> Option<Vec<T>> {
    let factors = finite(a)?.qr();
    let mut packed = Vec::new();
    let q = if complete {
        factors.compute_Q()
    } else {
        factors.compute_thin_Q()
    };
    pack(&mut packed, q.as_ref());
    pack(&mut packed, factors.thin_R());
    // What R has below its first min(m, n) rows.
    packed.resize(q.ncols() * (a.rows() + a.columns()), T::zero());
    Some(packed)
}

pub(crate) fn svd<T: Dense>(a: &Matrix<T>, full: bool) -> Option<Vec<T>> {
    let matrix = finite(a)?;
    let factors = if full {
        matrix.svd()
    } else {
        matrix.thin_svd()
    };
    let factors = factors.ok()?;
    let mut packed = Vec::new();
    pack(&mut packed, factors.U());
    packed.extend(factors.S().column_vector().iter().copied());
    pack(&mut packed, factors.V().adjoint().to_owned().as_ref());
    Some(packed)
}

pub(crate) fn singular_values<T: Dense>(a: &Matrix<T>) -> Option<Vec<f64>> {
    finite(a)?.singular_values().ok()
}
