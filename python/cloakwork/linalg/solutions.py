"""Solutions of linear equations, inverses and determinants."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import cast, tensor_of, weak_operand, whole
from cloakwork.array_api.creation import eye
from cloakwork.array_api.datatypes import finfo, result_type
from cloakwork.array_api.elementwise.parts import conj, real
from cloakwork.array_api.linear import matmul, matrix_transpose
from cloakwork.array_api.searching import where
from cloakwork.array_api.statistical import max as largest
from cloakwork.errors import ParamError
from cloakwork.lazy import public
from cloakwork.linalg.checks import computed, matrices, squares
from cloakwork.linalg.factors import svd
from cloakwork.tensors.arrays import of_array, operand

_SINGULAR = "a matrix is singular"


@public("cloakwork.linalg")
class SlogdetResult(NamedTuple):
    """See `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


def solve(x1: Tensor | ArrayLike, x2: Tensor | ArrayLike, /) -> Tensor:
    """The X with `x1 @ X = x2`, for `x1` `[.., m, m]` and `x2` `[.., m, k]`, or one column `[m]`.

    Other axes broadcast.  LinAlgError where a matrix of `x1` is singular.

    >>> import cloakwork as cw
    >>> cw.linalg.solve(cw.asarray([[2.0, 0.0], [0.0, 4.0]]), cw.asarray([2.0, 2.0]))
    Tensor([1. , 0.5], dtype=f64)
    """
    x1, x2 = squares(operand(x1, "x1"), "x1"), operand(x2, "x2")
    is_column = x2.ndim == 1
    x2 = matrices(x2[:, None] if is_column else x2, "x2")
    if x1.shape[-1] != x2.shape[-2]:
        raise ParamError("x2", f"shape {x2.shape}", f"{x1.shape[-1]} rows, as x1 has")
    dtype = result_type(x1, x2)
    x1, x2 = cast(x1, dtype), cast(x2, dtype)
    found = computed(ops.solve(x1, x2), (-2, -1), _SINGULAR, x1, x2)
    return found[..., 0] if is_column else found


@of_array
def inv(x: Tensor, /) -> Tensor:
    """The inverse of each matrix of `[.., m, m]`; LinAlgError where one is singular.

    >>> import cloakwork as cw
    >>> cw.linalg.inv(cw.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Tensor([[0.5 , 0.  ],
            [0.  , 0.25]], dtype=f64)
    """
    x = squares(x)
    return computed(ops.inv(x), (-2, -1), _SINGULAR, x)


@of_array
def slogdet(x: Tensor, /) -> SlogdetResult:
    """The sign of each determinant, 0 if it is 0, and the logarithm of its magnitude.

    For complex matrices the sign is a number of magnitude 1.

    >>> import cloakwork as cw
    >>> cw.linalg.slogdet(cw.asarray([[-1.0, 0.0], [0.0, 1.0]]))
    SlogdetResult(sign=Tensor(-1., dtype=f64), logabsdet=Tensor(0., dtype=f64))
    """
    packed = ops.slogdet_packed(squares(x))
    return SlogdetResult(packed[..., 0], real(packed[..., 1]))


@of_array
def det(x: Tensor, /) -> Tensor:
    """The determinant of each matrix of `[.., m, m]`; see `slogdet` for large ones.

    >>> import cloakwork as cw
    >>> cw.linalg.det(cw.asarray([[-1.0, 0.0], [0.0, 1.0]]))
    Tensor(-1., dtype=f64)
    """
    packed = ops.slogdet_packed(squares(x))
    return packed[..., 0] * ops.exp(packed[..., 1])


@of_array
def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Each matrix of `[.., m, m]` to an integer power: the inverse's for negative ones.

    Integers stay of their dtype and wrap, but for negative powers: these are float64.

    >>> import cloakwork as cw
    >>> cw.linalg.matrix_power(cw.asarray([[1.0, 1.0], [0.0, 1.0]]), 5)
    Tensor([[1., 5.],
            [0., 1.]], dtype=f64)
    """
    n, floats = whole(n, "n"), squares(x)
    x = x if n >= 0 and x.dtype.kind in "iu" else floats
    if n < 0:
        return matrix_power(inv(x), -n)
    if n < 2:
        one = ops.broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)
        return ops.copy(x if n else one)
    half = matrix_power(x, n // 2)
    square = matmul(half, half)
    return matmul(square, x) if n % 2 else square


@of_array
def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverse of each matrix of `[.., m, n]`: `[.., n, m]`.

    Singular values up to `rtol` times the largest count as 0; `max(m, n)` times the dtype's eps
    unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.linalg.pinv(cw.asarray([[2.0], [0.0]])) + 0.0
    Tensor([[0.5, 0. ]], dtype=f64)
    """
    u, s, vh = svd(matrices(x), full_matrices=False)
    inverse = where(s > cutoff(s, x.shape, rtol), ops.reciprocal(s), 0.0)
    left = conj(matrix_transpose(vh)) * inverse[..., None, :]
    return matmul(left, conj(matrix_transpose(u)))


def cutoff(s: Tensor, shape: tuple[int, ...], rtol: float | Tensor | None) -> Tensor:
    """The value up to which singular values of matrices of that shape count as 0: `[.., 1]`."""
    if s.shape[-1] == 0:
        return ops.zeros((*s.shape[:-1], 1), s.dtype)
    if rtol is None:
        rtol = max(shape[-2:]) * finfo(s.dtype).eps
    tolerance = tensor_of(weak_operand(rtol, "rtol"), s.dtype, "rtol")
    return largest(s, axis=-1, keepdims=True) * tolerance[..., None]
