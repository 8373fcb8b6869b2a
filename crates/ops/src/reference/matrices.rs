//! Dense matrices of complex numbers in binary64, and the tests of a factorisation: small
//! residuals against the norms of the matrix (Higham, "Accuracy and Stability of Numerical
//! Algorithms"), orthonormal columns, order. Bounds are some tens of units times the size.

use super::complex::{self, C};
use super::number::{decode, epsilon, largest};
use super::{Contents, Verdict};
use crate::{Args, OpError, linear};
use cloakwork_ir::DType;

/// Rows and columns, row-major.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// The elements.
    pub elements: Vec<C>,
}

impl Matrix {
    /// From a function of row and column.
    #[must_use]
    pub fn new(rows: usize, columns: usize, element: impl Fn(usize, usize) -> C) -> Self {
        let element = &element;
        let elements = (0..rows).flat_map(|i| (0..columns).map(move |j| element(i, j)));
        Self {
            rows,
            columns,
            elements: elements.collect(),
        }
    }

    /// Taken from a list, and the rest of the list.
    #[must_use]
    pub fn take(rows: usize, columns: usize, list: &[C]) -> (Self, &[C]) {
        let (own, rest) = list.split_at(rows * columns);
        let elements = own.to_vec();
        let own = Self {
            rows,
            columns,
            elements,
        };
        (own, rest)
    }

    /// The identity.
    #[must_use]
    pub fn identity(n: usize) -> Self {
        Self::new(n, n, |i, j| C(if i == j { 1.0 } else { 0.0 }, 0.0))
    }

    /// The element at a row and a column.
    #[must_use]
    pub fn at(&self, i: usize, j: usize) -> C {
        self.elements[i * self.columns + j]
    }

    /// The conjugate of the transpose.
    #[must_use]
    pub fn adjoint(&self) -> Self {
        Self::new(self.columns, self.rows, |i, j| {
            let C(re, im) = self.at(j, i);
            C(re, -im)
        })
    }

    /// Some of the columns, in the order given.
    #[must_use]
    pub fn with_columns(&self, columns: &[usize]) -> Self {
        Self::new(self.rows, columns.len(), |i, j| self.at(i, columns[j]))
    }

    /// `self * other`.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        Self::new(self.rows, other.columns, |i, j| {
            let terms = (0..self.columns).map(|k| complex::multiply(self.at(i, k), other.at(k, j)));
            terms.fold(C(0.0, 0.0), |a, b| C(a.0 + b.0, a.1 + b.1))
        })
    }

    /// `self - other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        Self::new(self.rows, self.columns, |i, j| {
            let (a, b) = (self.at(i, j), other.at(i, j));
            C(a.0 - b.0, a.1 - b.1)
        })
    }

    /// The self-adjoint matrix of the lower triangle.
    #[must_use]
    pub fn from_lower(&self) -> Self {
        let own = |i: usize, j: usize| self.at(i, j);
        Self::new(self.rows, self.rows, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Greater => own(i, j),
            std::cmp::Ordering::Equal => C(own(i, i).0, 0.0),
            std::cmp::Ordering::Less => C(own(j, i).0, -own(j, i).1),
        })
    }

    /// The root of the sum of squares.
    #[must_use]
    pub fn norm(&self) -> f64 {
        let size = |z: &C| z.0.abs().max(z.1.abs());
        let largest = self.elements.iter().map(size).fold(0.0, f64::max);
        if largest == 0.0 || !largest.is_finite() {
            return largest;
        }
        let square = |z: &C| (z.0 / largest).powi(2) + (z.1 / largest).powi(2);
        largest * self.elements.iter().map(square).sum::<f64>().sqrt()
    }

    /// Whether all parts are finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.elements
            .iter()
            .all(|z| z.0.is_finite() && z.1.is_finite())
    }

    /// The same as real numbers: `[[re, -im], [im, re]]`, whose singular values and eigenvalues
    /// are these, each twice.
    fn as_real(&self) -> Vec<Vec<f64>> {
        let sign = |i: usize, j: usize| {
            let C(re, im) = self.at(i % self.rows, j % self.columns);
            match (i < self.rows, j < self.columns) {
                (true, true) | (false, false) => re,
                (true, false) => -im,
                (false, true) => im,
            }
        };
        let row = |i| (0..2 * self.columns).map(|j| sign(i, j)).collect();
        (0..2 * self.rows).map(row).collect()
    }

    /// Eigenvalues of a self-adjoint matrix, the least first: Jacobi's rotations until nothing is
    /// left beside the diagonal.
    #[must_use]
    pub fn self_adjoint_eigenvalues(&self) -> Vec<f64> {
        let mut a = self.as_real();
        let n = a.len();
        for _ in 0..64 {
            for p in 0..n {
                for q in p + 1..n {
                    rotate_pair(&mut a, p, q);
                }
            }
        }
        let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
        values.sort_by(f64::total_cmp);
        values.into_iter().step_by(2).collect()
    }

    /// Singular values, the largest first: columns are rotated until they are orthogonal, when
    /// their norms are the values (Hestenes, 1958).
    #[must_use]
    pub fn singular_values(&self) -> Vec<f64> {
        let tall = if self.rows < self.columns {
            self.adjoint()
        } else {
            self.clone()
        };
        let mut columns = tall.adjoint().as_real();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        for _ in 0..64 {
            for p in 0..columns.len() {
                for q in p + 1..columns.len() {
                    let (a, b) = (columns[p].clone(), columns[q].clone());
                    let Some((c, s)) = rotation(dot(&a, &a), dot(&b, &b), dot(&a, &b)) else {
                        continue;
                    };
                    for (i, (x, y)) in a.iter().zip(&b).enumerate() {
                        columns[p][i] = c * x - s * y;
                        columns[q][i] = s * x + c * y;
                    }
                }
            }
        }
        let mut values: Vec<f64> = columns
            .iter()
            .map(|column| dot(column, column).sqrt())
            .collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values.into_iter().step_by(2).collect()
    }

    /// The pivots of elimination with exchange of rows, with the signs of exchanges, and the
    /// inverse; `None` where a pivot is 0.
    #[must_use]
    pub fn eliminated(&self) -> Option<(Vec<C>, Self)> {
        let n = self.rows;
        let (mut a, mut inverse) = (self.clone(), Self::identity(n));
        let mut pivots = vec![];
        for k in 0..n {
            let size = |i: &usize| a.at(*i, k).0.hypot(a.at(*i, k).1);
            let best = (k..n).max_by(|i, j| size(i).total_cmp(&size(j)))?;
            let pivot = a.at(best, k);
            if size(&best) == 0.0 {
                return None;
            }
            let sign = if best == k { 1.0 } else { -1.0 };
            pivots.push(C(sign * pivot.0, sign * pivot.1));
            for matrix in [&mut a, &mut inverse] {
                for j in 0..n {
                    matrix.elements.swap(k * n + j, best * n + j);
                    matrix.elements[k * n + j] = complex::divide(matrix.at(k, j), pivot);
                }
            }
            for i in (0..n).filter(|&i| i != k) {
                let factor = a.at(i, k);
                for matrix in [&mut a, &mut inverse] {
                    for j in 0..n {
                        let (own, step) =
                            (matrix.at(i, j), complex::multiply(factor, matrix.at(k, j)));
                        matrix.elements[i * n + j] = C(own.0 - step.0, own.1 - step.1);
                    }
                }
            }
        }
        Some((pivots, inverse))
    }
}

/// Cosine and sine of the rotation that makes 0 of `off` between `first` and `second`.
fn rotation(first: f64, second: f64, off: f64) -> Option<(f64, f64)> {
    if off == 0.0 || off.abs() <= 1e-18 * (first * second).abs().sqrt() {
        return None;
    }
    Some(quarter(first, second, off))
}

/// By at most a quarter of a turn.
fn quarter(first: f64, second: f64, off: f64) -> (f64, f64) {
    let tau = (second - first) / (2.0 * off);
    let t = if tau == 0.0 { 1.0 } else { tau.signum() } / (tau.abs() + tau.hypot(1.0));
    let c = t.hypot(1.0).recip();
    (c, t * c)
}

fn rotate_pair(a: &mut [Vec<f64>], p: usize, q: usize) {
    let off = a[p][q];
    if off == 0.0 {
        return;
    }
    let (c, s) = quarter(a[p][p], a[q][q], off);
    for row in a.iter_mut() {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    let [first, second] = [p, q].map(|row| a[row].clone());
    for (k, (x, y)) in first.into_iter().zip(second).enumerate() {
        (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
    }
}

/// One matrix and its result, to be judged.
pub struct Case<'a> {
    /// The matrix.
    pub a: Matrix,
    /// The second operand's matrix, or an empty one.
    pub b: Matrix,
    /// The result.
    pub got: &'a [C],
    /// The unit that bounds are multiples of: the dtype's, times the size.
    pub unit: f64,
}

impl Case<'_> {
    /// Whether the whole result is NaN.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        !self.got.is_empty() && self.got.iter().all(|z| z.0.is_nan())
    }

    /// `error <= 32 unit scale`, or the reason why not.
    ///
    /// # Errors
    /// It is not.
    pub fn bound(&self, what: &str, error: f64, scale: f64) -> Result<(), String> {
        let most = 32.0 * self.unit * scale;
        if error <= most {
            return Ok(());
        }
        Err(format!("{what} within {most:e}, not {error:e}"))
    }

    /// The columns are orthonormal.
    ///
    /// # Errors
    /// They are not.
    pub fn orthonormal(&self, what: &str, columns: &Matrix) -> Result<(), String> {
        let gram = columns.adjoint().times(columns);
        let error = gram.minus(&Matrix::identity(columns.columns)).norm();
        self.bound(&format!("{what} with orthonormal columns"), error, 1.0)
    }

    /// The product is the matrix.
    ///
    /// # Errors
    /// It is not.
    pub fn product(&self, what: &str, product: &Matrix, of: &Matrix) -> Result<(), String> {
        self.bound(what, product.minus(of).norm(), of.norm())
    }
}

/// Judges the result of each matrix of a batch. Matrices that are not finite have no result; those
/// near the ends of the range are not judged.
///
/// # Errors
/// No such operands.
pub fn judge(
    args: &Args,
    contents: &dyn Contents,
    got: &[i64],
    right: fn(&Args, &Case) -> Result<(), String>,
) -> Result<Verdict, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let [rows, columns] = linear::sizes("a", a)?.map(|size| size as usize);
    if rows.max(columns) > 128 {
        return Ok(Verdict::TooLarge);
    }
    let list = |dtype: DType, words: &[i64]| -> Vec<C> {
        let elements = words.chunks(dtype.components());
        let number = elements.map(|element| decode(dtype, element));
        number.map(|z| C(z.real(), z.imaginary())).collect()
    };
    let batch = linear::batch_of_results(args)?;
    let count = batch.elements() as usize;
    let got = list(out.dtype, got);
    let each = got.len().checked_div(count).unwrap_or(0);
    let mut operands = vec![linear::matrices_of(args, contents, "a", &batch)?];
    if args.def.param("b").is_some() {
        operands.push(linear::matrices_of(args, contents, "b", &batch)?);
    }
    for at in 0..count {
        let matrix = |place: usize| operands.get(place).map(|all| all[at].clone());
        let case = Case {
            a: matrix(0).unwrap_or_else(|| Matrix::identity(0)),
            b: matrix(1).unwrap_or_else(|| Matrix::identity(0)),
            got: &got[at * each..(at + 1) * each],
            unit: epsilon(a.dtype) * rows.max(columns).max(1) as f64,
        };
        if let Err(expected) = judge_one(args, &case, a.dtype, right) {
            let at = (at * each) as u64;
            return Ok(Verdict::Wrong { at, expected });
        }
    }
    Ok(Verdict::Right)
}

fn judge_one(
    args: &Args,
    case: &Case,
    dtype: DType,
    right: fn(&Args, &Case) -> Result<(), String>,
) -> Result<(), String> {
    if !case.a.is_finite() {
        // Where one triangle alone is read, the other may hold anything.
        let triangle = matches!(args.def.name, "cholesky" | "eigh_packed" | "eigvalsh");
        let nothing = case.is_nothing() || case.got.is_empty();
        return match nothing || triangle {
            true => Ok(()),
            false => Err("nothing but NaN, of a matrix that is not finite".to_owned()),
        };
    }
    if !case.b.is_finite() {
        // Each right side has its own solution: what is not finite in one leaves the others alone,
        // and what it does to its own depends on the order of elimination.
        let finite: Vec<usize> = (0..case.b.columns)
            .filter(|&j| case.b.with_columns(&[j]).is_finite())
            .collect();
        let (got, _) = Matrix::take(case.a.columns, case.b.columns, case.got);
        let rest = Case {
            a: case.a.clone(),
            b: case.b.with_columns(&finite),
            got: &got.with_columns(&finite).elements,
            unit: case.unit,
        };
        return judge_one(args, &rest, dtype, right);
    }
    let most = largest(dtype).powf(0.4);
    let judged = |norm: f64| norm == 0.0 || (most.recip()..most).contains(&norm);
    if !judged(case.a.norm()) || !judged(case.b.norm()) {
        return Ok(());
    }
    right(args, case)
}
