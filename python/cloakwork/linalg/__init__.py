"""Linear algebra of matrices, and of stacks of them along the axes before the last two.

The array API standard's extension.  What cannot be computed, such as the inverse of a singular
matrix, is a LinAlgError; a matrix that is not finite gives NaN.
"""

from cloakwork.array_api.linear import matmul, matrix_transpose, tensordot, vecdot
from cloakwork.errors import LinAlgError
from cloakwork.linalg.chains import multi_dot
from cloakwork.linalg.factors import (
    EighResult,
    EigResult,
    QRResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from cloakwork.linalg.norms import matrix_norm, matrix_rank, vector_norm
from cloakwork.linalg.parts import cross, diagonal, outer, trace
from cloakwork.linalg.solutions import (
    SlogdetResult,
    det,
    inv,
    matrix_power,
    pinv,
    slogdet,
    solve,
)
from cloakwork.linalg.systems import LstsqResult, cond, lstsq, norm

__all__ = [
    "EigResult",
    "EighResult",
    "LinAlgError",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
