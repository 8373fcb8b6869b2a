//! Linear equations and determinants.

use super::matrices::{self, PACKED, SQUARE, declare};
use crate::op::Param;
use crate::reference::complex::{C, multiply};
use crate::reference::matrices::{Case, Matrix, judge};
use crate::{Args, Launches, OpError, Reference, geometry, rules};
use cloakwork_ir::{Shape, Type};
use smallvec::smallvec;

declare!(
    SOLVE,
    "solve",
    "The X of `a X = b`, by LU with row pivots; NaN for a singular `a`. Batches broadcast.",
    &[
        SQUARE,
        Param::tensor("b", "the dtype of `a`, `[.., n, r]`"),
        Param::out("the common batch and `[n, r]`"),
    ],
    &["a", "b", "out"],
    |args| {
        let (batch, [n, r]) = system(args)?;
        let shape = geometry::extended("b", batch.dims(), &[n, r])?;
        Ok(Type::new(args.tensor("a")?.dtype, shape))
    },
    launch_solve,
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_solution))
);

declare!(
    INV,
    "inv",
    "The inverse of each matrix; NaN for a singular one.",
    &[SQUARE, Param::out("the shape of `a`")],
    &["a", "out"],
    |args| {
        let a = args.tensor("a")?;
        matrices::square("a", a)?;
        Ok(a.ty())
    },
    launch_inv,
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_inverse))
);

declare!(
    SLOGDET,
    "slogdet_packed",
    "The sign of the determinant, of magnitude 1, and the logarithm of its magnitude, packed; 0 \
     and -inf for a singular matrix.",
    &[SQUARE, PACKED],
    &["a", "out"],
    |args| {
        let a = args.tensor("a")?;
        matrices::square("a", a)?;
        matrices::packed(args, a.dtype, 2)
    },
    |args| matrices::launch_packed("determinant", args, &[]),
    matrices::operations,
    Reference::Judge(|args, contents, got| judge(args, contents, got, right_determinant))
);

/// The common batch, and rows and columns of the solution.
fn system(args: &Args) -> Result<(Shape, [u64; 2]), OpError> {
    let (a, b) = (args.tensor("a")?, args.tensor("b")?);
    let n = matrices::square("a", a)?;
    rules::same_dtype(args, "b", a.dtype)?;
    let [rows, columns] = matrices::sizes("b", b)?;
    if rows != n {
        let expected = format!("matrices of {n} rows");
        return Err(OpError::shape("b", expected, b.shape()));
    }
    let batch = matrices::common_batch(matrices::batch("a", a)?, matrices::batch("b", b)?)?;
    Ok((batch, [n, columns]))
}

/// Axes i, k, j of `sum_j a[i, j] x[j, k] = b[i, k]`.
fn launch_solve(args: &Args) -> Result<Launches, OpError> {
    let (batch, [n, r]) = system(args)?;
    let whole = |name, own: [u64; 2]| {
        let shape = geometry::extended(name, batch.dims(), &own)?;
        rules::broadcast(name, args.tensor(name)?.view, &shape)
    };
    let operands = smallvec![
        matrices::operand(args, "out", &[None, Some(1), Some(0)])?,
        matrices::strided(args, "a", &whole("a", [n, n])?, &[Some(0), None, Some(1)])?,
        matrices::strided(args, "b", &whole("b", [n, r])?, &[Some(0), Some(1), None])?,
    ];
    Ok(matrices::launch(
        "solve",
        (batch.dims(), &[n, r, n]),
        operands,
        &[],
    ))
}

fn launch_inv(args: &Args) -> Result<Launches, OpError> {
    let a = args.tensor("a")?;
    let n = matrices::square("a", a)?;
    let operands = smallvec![
        matrices::operand(args, "out", &[None, Some(1), Some(0)])?,
        matrices::operand(args, "a", &[Some(0), None, Some(1)])?,
    ];
    let sizes = (matrices::batch("a", a)?, &[n, n, n][..]);
    Ok(matrices::launch("inverse", sizes, operands, &[]))
}

/// Whether elimination finds the matrix clearly invertible.
fn is_regular(case: &Case) -> bool {
    let eliminated = case.a.eliminated();
    eliminated.is_some_and(|(_, inverse)| {
        let condition = case.a.norm() * inverse.norm();
        condition * case.unit < 1e-3
    })
}

/// `a X = b`, backwards: within a bound by the norms of a, X and b.
fn solves(case: &Case, b: &Matrix) -> Result<(), String> {
    let (x, _) = Matrix::take(b.rows, b.columns, case.got);
    if !x.is_finite() {
        return match is_regular(case) {
            true => Err("a finite solution: the matrix is regular".to_owned()),
            false => Ok(()),
        };
    }
    let error = case.a.times(&x).minus(b).norm();
    case.bound("a X = b", error, case.a.norm() * x.norm() + b.norm())
}

fn right_solution(_: &Args, case: &Case) -> Result<(), String> {
    solves(case, &case.b)
}

fn right_inverse(_: &Args, case: &Case) -> Result<(), String> {
    solves(case, &Matrix::identity(case.a.rows))
}

/// The product of the pivots, where the matrix is clearly regular.
fn right_determinant(_: &Args, case: &Case) -> Result<(), String> {
    let [sign, log] = *case.got else {
        return Ok(());
    };
    if !is_regular(case) {
        return Ok(());
    }
    let Some((pivots, inverse)) = case.a.eliminated() else {
        return Ok(());
    };
    let (mut expected, mut expected_log) = (C(1.0, 0.0), 0.0);
    for pivot in pivots {
        let size = pivot.0.hypot(pivot.1);
        expected = multiply(expected, C(pivot.0 / size, pivot.1 / size));
        expected_log += size.ln();
    }
    let condition = case.a.norm() * inverse.norm() + f64::abs(expected_log);
    let turned = (sign.0 - expected.0).hypot(sign.1 - expected.1);
    case.bound("the determinant's sign", turned, condition)?;
    case.bound("its logarithm", f64::abs(log.0 - expected_log), condition)
}
