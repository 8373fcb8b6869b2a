//! The two types of element that factorisations run in, and their operations.

use crate::{Matrix, eigen, factor};
use num_complex::Complex;

/// `f64` or `Complex<f64>`. Functions give `None` where there is no result: a matrix that holds an
/// infinity or a NaN, one that is not what the function demands, or an iteration that did not end.
/// Matrices in results are row-major; several are packed one after the other.
pub trait Scalar: Copy + Send + Sync + 'static {
    /// L of `a = L Lᴴ` by the lower triangle of a positive definite `a`, or with `upper` the R of
    /// `a = Rᴴ R` by its upper triangle.
    fn cholesky(a: &Matrix<Self>, upper: bool) -> Option<Vec<Self>>;

    /// X of `a X = b` by elimination with row pivots. None for a singular `a`.
    fn solve(a: &Matrix<Self>, b: &Matrix<Self>) -> Option<Vec<Self>>;

    /// `[sign, ln |det a|]` with a sign of magnitude 1, or `[0, -inf]`.
    fn determinant(a: &Matrix<Self>) -> Option<Vec<Self>>;

    /// Q (m x k) and R (k x n): k is min(m, n), or m if `complete`.
    fn qr(a: &Matrix<Self>, complete: bool) -> Option<Vec<Self>>;

    /// U (m x k), the k = min(m, n) singular values, largest first, and Vᴴ (k x n); if `full`, U is
    /// m x m and Vᴴ n x n.
    fn svd(a: &Matrix<Self>, full: bool) -> Option<Vec<Self>>;

    /// The singular values alone.
    fn singular_values(a: &Matrix<Self>) -> Option<Vec<f64>>;

    /// The n eigenvalues, least first, and the matrix whose columns are orthonormal eigenvectors,
    /// of a self-adjoint `a` by its lower triangle.
    fn self_adjoint_eigen(a: &Matrix<Self>) -> Option<Vec<Self>>;

    /// The eigenvalues alone.
    fn self_adjoint_eigenvalues(a: &Matrix<Self>) -> Option<Vec<f64>>;

    /// The n eigenvalues, and the matrix whose columns are eigenvectors of norm 1 with a largest
    /// component that is real and positive.
    fn eigen(a: &Matrix<Self>) -> Option<Vec<Complex<f64>>>;

    /// The eigenvalues alone.
    fn eigenvalues(a: &Matrix<Self>) -> Option<Vec<Complex<f64>>>;
}

/// The same for both types, compiled here for each.
macro_rules! implement {
    ($scalar:ty) => {
        impl Scalar for $scalar {
            fn cholesky(a: &Matrix<Self>, upper: bool) -> Option<Vec<Self>> {
                factor::cholesky(a, upper)
            }

            fn solve(a: &Matrix<Self>, b: &Matrix<Self>) -> Option<Vec<Self>> {
                factor::solve(a, b)
            }

            fn determinant(a: &Matrix<Self>) -> Option<Vec<Self>> {
                factor::determinant(a)
            }

            fn qr(a: &Matrix<Self>, complete: bool) -> Option<Vec<Self>> {
                factor::qr(a, complete)
            }

            fn svd(a: &Matrix<Self>, full: bool) -> Option<Vec<Self>> {
                factor::svd(a, full)
            }

            fn singular_values(a: &Matrix<Self>) -> Option<Vec<f64>> {
                factor::singular_values(a)
            }

            fn self_adjoint_eigen(a: &Matrix<Self>) -> Option<Vec<Self>> {
                eigen::self_adjoint(a)
            }

            fn self_adjoint_eigenvalues(a: &Matrix<Self>) -> Option<Vec<f64>> {
                eigen::self_adjoint_values(a)
            }

            fn eigen(a: &Matrix<Self>) -> Option<Vec<Complex<f64>>> {
                eigen::general(a)
            }

            fn eigenvalues(a: &Matrix<Self>) -> Option<Vec<Complex<f64>>> {
                eigen::general_values(a)
            }
        }
    };
}

implement!(f64);
implement!(Complex<f64>);
