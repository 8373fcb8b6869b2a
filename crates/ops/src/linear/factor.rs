//! Factorisations of matrices. Where one does not exist, the whole matrix's result is NaN.

use super::matrices::{self, ANY, PACKED, SQUARE, area, declare};
use crate::op::{Param, ParamKind};
use crate::{Args, Launch, OpError};
use cloakwork_ir::Type;
use smallvec::{SmallVec, smallvec};

const UPPER: Param = Param::new("upper", ParamKind::Bool, "whether the factor is upper").or(0);
const COMPLETE: Param = Param::new("complete", ParamKind::Bool, "whether Q is square").or(0);
const FULL: Param = Param::new("full", ParamKind::Bool, "whether U and V are square").or(0);

declare!(
    CHOLESKY,
    "cholesky",
    "The lower L with a positive diagonal of `a = L Lᴴ`, or with `upper` the upper R of \
     `a = Rᴴ R`; NaN unless `a` is positive definite. The factor's triangle of `a` alone is read.",
    &[
        SQUARE,
        UPPER,
        Param::new("out", ParamKind::Out, "the shape of `a`")
    ],
    &["a", "upper", "out"],
    |args| {
        let a = args.tensor("a")?;
        matrices::square("a", a)?;
        Ok(Type::new(a.dtype, a.shape().clone()))
    },
    launch_cholesky,
    matrices::operations
);

fn launch_cholesky(args: &Args) -> Result<SmallVec<[Launch; 1]>, OpError> {
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
    matrices::operations
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
    matrices::operations
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
    matrices::operations
);
