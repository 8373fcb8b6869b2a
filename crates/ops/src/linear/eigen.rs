//! Eigenvalues and eigenvectors of square matrices. Where an iteration does not end, or a matrix
//! holds an infinity or a NaN, its whole result is NaN.

use super::matrices::{self, PACKED, SQUARE, VALUES, area, declare};
use crate::{Args, OpError};
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
    matrices::operations
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
    matrices::operations
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
    matrices::operations
);

declare!(
    EIGVALS,
    "eigvals",
    "The eigenvalues of `a`; complex.",
    &[SQUARE, VALUES],
    &["a", "out"],
    |args| values(args, complex),
    |args| matrices::launch_packed("eigvals", args, &[]),
    matrices::operations
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
