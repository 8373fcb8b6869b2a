//! Factorisations of matrices. Where one does not exist, the whole matrix's result is NaN.

use super::matrices::{self, ANY, PACKED, SQUARE, area, declare};
use crate::op::Param;
use crate::reference::complex::C;
use crate::reference::matrices::{Case, Matrix, judge};
use crate::{Args, Launches, OpError, Reference};
use smallvec::smallvec;

const UPPER: Param = Param::flag("upper", "whether the factor is upper").or(0);
const COMPLETE: Param = Param::flag("complete", "whether Q is square").or(0);
const FULL: Param = Param::flag("full", "whether U and V are square").or(0);

declare!(
    CHOLESKY,
    "cholesky",
    "The lower L with a positive diagonal of `a = L Lᴴ`, or with `upper` the upper R of \
     `a = Rᴴ R`; NaN unless `a` is positive definite. The factor's triangle of `a` alone is read.",
    &[SQUARE, UPPER, Param::out("the shape of `a`")],
    &["a", "upper", "out"],
    |args| {
        let a = args.tensor("a")?;
        matrices::square("a", a)?;
        Ok(a.ty())
    },
    launch_cholesky,
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_cholesky))
);

fn launch_cholesky(args: &Args) -> Result<Launches, OpError> {
    let a = args.tensor("a")?;
    let n = matrices::square("a", a)?;
    let operands = smallvec![
        matrices::operand(args, "out", &[Some(0), Some(1)])?,
        matrices::operand(args, "a", &[Some(0), Some(1)])?,
    ];
    let sizes = (matrices::batch("a", a)?, &[n, n][..]);
    let upper = args.int("upper")?;
    Ok(matrices::launch("cholesky", sizes, operands, &[upper]))
}

declare!(
    QR,
    "qr_packed",
    "Q and R of `a = Q R`, packed: Q m x k with orthonormal columns, R k x n upper triangular. \
     k = min(m, n), or m if `complete`.",
    &[ANY, COMPLETE, PACKED],
    &["a", "complete", "out"],
    |args| {
        let a = args.tensor("a")?;
        let [m, n] = matrices::sizes("a", a)?;
        let k = if args.flag("complete")? { m } else { m.min(n) };
        matrices::packed(args, a.dtype, area(m, k).saturating_add(area(k, n)))
    },
    |args| matrices::launch_packed("qr", args, &[args.int("complete")?]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_qr))
);

declare!(
    SVD,
    "svd_packed",
    "U, the singular values and Vᴴ of `a = U S Vᴴ`, packed: with k = min(m, n), U m x k, k values, \
     the largest first, Vᴴ k x n; if `full`, U m x m and Vᴴ n x n.",
    &[ANY, FULL, PACKED],
    &["a", "full", "out"],
    |args| {
        let a = args.tensor("a")?;
        let [m, n] = matrices::sizes("a", a)?;
        let k = m.min(n);
        let (u, v) = match args.flag("full")? {
            true => (area(m, m), area(n, n)),
            false => (area(m, k), area(k, n)),
        };
        matrices::packed(args, a.dtype, u.saturating_add(k).saturating_add(v))
    },
    |args| matrices::launch_packed("svd", args, &[args.int("full")?]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_svd))
);

declare!(
    SVDVALS,
    "svdvals",
    "The min(m, n) singular values of each matrix, the largest first; real.",
    &[ANY, matrices::VALUES],
    &["a", "out"],
    |args| {
        let a = args.tensor("a")?;
        let [m, n] = matrices::sizes("a", a)?;
        matrices::packed(args, a.dtype.component(), m.min(n))
    },
    |args| matrices::launch_packed("svdvals", args, &[]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_singular_values))
);

/// The factor has its triangle, a diagonal above 0, and the product is `a`. Where it is nothing,
/// elimination finds a pivot that is not clearly above 0.
fn right_cholesky(args: &Args, case: &Case) -> Result<(), String> {
    let n = case.a.rows;
    let upper = args.flag("upper").unwrap_or(false);
    let lower = if upper {
        case.a.adjoint()
    } else {
        case.a.clone()
    };
    let whole = lower.from_lower();
    if case.is_nothing() {
        let least = whole
            .self_adjoint_eigenvalues()
            .first()
            .copied()
            .unwrap_or(0.0);
        return match least > 1e3 * case.unit * whole.norm() {
            true => Err("a factor: the matrix is positive definite".to_owned()),
            false => Ok(()),
        };
    }
    let (got, _) = Matrix::take(n, n, case.got);
    let factor = if upper { got.adjoint() } else { got };
    let strictly_upper = |at: &usize| at % n.max(1) > at / n.max(1);
    let zero = |at: usize| factor.elements[at] == C(0.0, 0.0);
    if !(0..n * n).filter(strictly_upper).all(zero) {
        return Err("zeros in the other triangle".to_owned());
    }
    if !(0..n).all(|i| factor.at(i, i).0 > 0.0) {
        return Err("a diagonal above 0".to_owned());
    }
    case.product("a product of `a`", &factor.times(&factor.adjoint()), &whole)
}

/// `a = Q R`, Q has orthonormal columns, R nothing below its diagonal.
fn right_qr(args: &Args, case: &Case) -> Result<(), String> {
    let (m, n) = (case.a.rows, case.a.columns);
    let complete = args.flag("complete").unwrap_or(false);
    let k = if complete { m } else { m.min(n) };
    let (q, rest) = Matrix::take(m, k, case.got);
    let (r, _) = Matrix::take(k, n, rest);
    let below = |at: &usize| at % n.max(1) < at / n.max(1);
    if !(0..k * n)
        .filter(below)
        .all(|at| r.elements[at] == C(0.0, 0.0))
    {
        return Err("zeros below the diagonal of R".to_owned());
    }
    case.orthonormal("Q", &q)?;
    case.product("Q R = a", &q.times(&r), &case.a)
}

/// `a = U S Vᴴ`, U and V have orthonormal columns, S descends and is not below 0.
fn right_svd(args: &Args, case: &Case) -> Result<(), String> {
    let (m, n) = (case.a.rows, case.a.columns);
    let k = m.min(n);
    let (of_u, of_v) = match args.flag("full").unwrap_or(false) {
        true => (m, n),
        false => (k, k),
    };
    let (u, rest) = Matrix::take(m, of_u, case.got);
    let (values, rest) = rest.split_at(k);
    let (v, _) = Matrix::take(of_v, n, rest);
    descending(values)?;
    case.orthonormal("U", &u)?;
    case.orthonormal("V", &v.adjoint())?;
    let scaled = Matrix::new(m, k, |i, j| {
        C(u.at(i, j).0 * values[j].0, u.at(i, j).1 * values[j].0)
    });
    let rows = Matrix::new(k, n, |i, j| v.at(i, j));
    case.product("U S Vᴴ = a", &scaled.times(&rows), &case.a)
}

/// The values that rotations of columns find.
fn right_singular_values(_: &Args, case: &Case) -> Result<(), String> {
    descending(case.got)?;
    let pairs = case.a.singular_values().into_iter().zip(case.got);
    let error = pairs
        .map(|(want, got)| (want - got.0).abs())
        .fold(0.0, f64::max);
    case.bound("singular values", error, case.a.norm())
}

fn descending(values: &[C]) -> Result<(), String> {
    let sorted = values.windows(2).all(|pair| pair[0].0 >= pair[1].0);
    match sorted && values.iter().all(|value| value.0 >= 0.0) {
        true => Ok(()),
        false => Err("singular values of at least 0, the largest first".to_owned()),
    }
}
