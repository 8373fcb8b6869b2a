//! Eigenvalues and eigenvectors of square matrices. Where an iteration does not end, or a matrix
//! holds an infinity or a NaN, its whole result is NaN.

use super::matrices::{self, PACKED, SQUARE, VALUES, area, declare};
use crate::reference::complex::{C, multiply};
use crate::reference::matrices::{Case, Matrix, judge};
use crate::{Args, OpError, Reference};
use cloakwork_ir::{DType, Type};

declare!(
    EIGH,
    "eigh_packed",
    "The eigenvalues of a self-adjoint `a`, the least first, and the n x n matrix of orthonormal \
     eigenvectors, its columns, packed. The lower triangle alone is read.",
    &[SQUARE, PACKED],
    &["a", "out"],
    |args| with_vectors(args, |dtype| dtype),
    |args| matrices::launch_packed("eigh", args, &[]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_eigh))
);

declare!(
    EIGVALSH,
    "eigvalsh",
    "The eigenvalues of a self-adjoint `a`, the least first; real. The lower triangle alone is \
     read.",
    &[SQUARE, VALUES],
    &["a", "out"],
    |args| values(args, DType::component),
    |args| matrices::launch_packed("eigvalsh", args, &[]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_eigvalsh))
);

declare!(
    EIG,
    "eig_packed",
    "The eigenvalues of `a` and the n x n matrix of eigenvectors, its columns, packed; complex. \
     Vectors have norm 1, and a largest component that is real and positive.",
    &[SQUARE, PACKED],
    &["a", "out"],
    |args| with_vectors(args, complex),
    |args| matrices::launch_packed("eig", args, &[]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_eig))
);

declare!(
    EIGVALS,
    "eigvals",
    "The eigenvalues of `a`; complex.",
    &[SQUARE, VALUES],
    &["a", "out"],
    |args| values(args, complex),
    |args| matrices::launch_packed("eigvals", args, &[]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_eigvals))
);

/// The complex type of a type's precision.
pub(super) const fn complex(dtype: DType) -> DType {
    match dtype {
        DType::F32 | DType::C64 => DType::C64,
        _ => DType::C128,
    }
}

fn with_vectors(args: &Args, gives: fn(DType) -> DType) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    let n = matrices::square("a", a)?;
    matrices::packed(args, gives(a.dtype), n.saturating_add(area(n, n)))
}

fn values(args: &Args, gives: fn(DType) -> DType) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    let n = matrices::square("a", a)?;
    matrices::packed(args, gives(a.dtype), n)
}

/// `a V = V L`, V has orthonormal columns, L ascends.
fn right_eigh(_: &Args, case: &Case) -> Result<(), String> {
    let n = case.a.rows;
    let (values, rest) = case.got.split_at(n);
    let (vectors, _) = Matrix::take(n, n, rest);
    ascending(values)?;
    case.orthonormal("eigenvectors", &vectors)?;
    let whole = case.a.from_lower();
    residual(case, &whole, values, &vectors)
}

/// The values that Jacobi's rotations find.
fn right_eigvalsh(_: &Args, case: &Case) -> Result<(), String> {
    ascending(case.got)?;
    let whole = case.a.from_lower();
    let pairs = whole.self_adjoint_eigenvalues().into_iter().zip(case.got);
    let error = pairs
        .map(|(want, got)| (want - got.0).abs())
        .fold(0.0, f64::max);
    case.bound("eigenvalues", error, whole.norm())
}

/// `a V = V L`; each vector has norm 1, and a largest component that is real and positive.
fn right_eig(args: &Args, case: &Case) -> Result<(), String> {
    let n = case.a.rows;
    if case.is_nothing() {
        return Err("eigenvalues, which every finite matrix has".to_owned());
    }
    let (values, rest) = case.got.split_at(n);
    let (vectors, _) = Matrix::take(n, n, rest);
    for j in 0..n {
        let column: Vec<C> = (0..n).map(|i| vectors.at(i, j)).collect();
        let column = Matrix::take(n, 1, &column).0;
        case.bound("vectors of norm 1", (column.norm() - 1.0).abs(), 1.0)?;
        let most = column
            .elements
            .iter()
            .map(|z| z.0.hypot(z.1))
            .fold(0.0, f64::max);
        // Of several components that are nearly the largest, one.
        let turned = |z: &C| z.0 >= most * (1.0 - 1e-3) && z.1.abs() <= 32.0 * case.unit;
        if !column.elements.iter().any(turned) {
            return Err(format!("a real positive largest component of vector {j}"));
        }
    }
    residual(case, &case.a, values, &vectors)?;
    power_sums(args, case, values)
}

/// The values whose powers have the sums that the matrix' powers have as traces.
fn right_eigvals(args: &Args, case: &Case) -> Result<(), String> {
    power_sums(args, case, case.got)
}

fn ascending(values: &[C]) -> Result<(), String> {
    match values.windows(2).all(|pair| pair[0].0 <= pair[1].0) {
        true => Ok(()),
        false => Err("eigenvalues, the least first".to_owned()),
    }
}

fn residual(case: &Case, a: &Matrix, values: &[C], vectors: &Matrix) -> Result<(), String> {
    let n = values.len();
    let scaled = Matrix::new(n, n, |i, j| multiply(vectors.at(i, j), values[j]));
    let error = a.times(vectors).minus(&scaled).norm();
    case.bound("a V = V L", error, a.norm())
}

/// Sums of powers determine the values (Newton), and move little where the matrix moves little, as
/// the values themselves may not.
fn power_sums(_: &Args, case: &Case, values: &[C]) -> Result<(), String> {
    let (n, norm) = (case.a.rows, case.a.norm());
    if norm == 0.0 {
        let all_zero = values.iter().all(|value| *value == C(0.0, 0.0));
        return if all_zero {
            Ok(())
        } else {
            Err("eigenvalues 0".to_owned())
        };
    }
    let unit = Matrix::new(n, n, |i, j| {
        C(case.a.at(i, j).0 / norm, case.a.at(i, j).1 / norm)
    });
    let scaled: Vec<C> = values.iter().map(|z| C(z.0 / norm, z.1 / norm)).collect();
    let (mut power, mut powers) = (unit.clone(), scaled.clone());
    for k in 1..=n {
        let add = |a: C, b: C| C(a.0 + b.0, a.1 + b.1);
        let trace = (0..n).map(|i| power.at(i, i)).fold(C(0.0, 0.0), add);
        let sum = powers.iter().copied().fold(C(0.0, 0.0), add);
        let error = (trace.0 - sum.0).hypot(trace.1 - sum.1);
        case.bound(&format!("powers {k} of the eigenvalues"), error, k as f64)?;
        power = power.times(&unit);
        powers = powers
            .iter()
            .zip(&scaled)
            .map(|(a, b)| multiply(*a, *b))
            .collect();
    }
    Ok(())
}
