"""Norms and ranks."""

from __future__ import annotations

import math
from typing import Literal, SupportsFloat

from cloakwork import ops
from cloakwork._core import Tensor, float64
from cloakwork.array_api.common import Axis, axes_of, cast
from cloakwork.array_api.datatypes import FLOATING, KINDS
from cloakwork.array_api.searching import count_nonzero
from cloakwork.errors import ParamError
from cloakwork.linalg.checks import matrices
from cloakwork.linalg.factors import svdvals
from cloakwork.linalg.solutions import cutoff
from cloakwork.tensors.arrays import of_array

MatrixOrder = float | Literal["fro", "nuc"] | None


@of_array
def vector_norm(
    x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """`sum(abs(x) ** ord) ** (1 / ord)` along axes, or of all elements: real.

    For `ord` inf and -inf the greatest and the least magnitude, for 0 the number of nonzero
    elements.

    >>> import cloakwork as cw
    >>> cw.linalg.vector_norm(cw.asarray([3.0, 4.0]))
    Tensor(5., dtype=f64)
    """
    given: object = ord
    if not isinstance(given, SupportsFloat) or hasattr(given, "__len__"):
        raise ParamError("ord", repr(ord), "a real number, for vectors")
    axes = axes_of(axis, x.ndim)
    if ord == 2:
        # Squares of real numbers need no magnitudes.
        real = x.dtype.name in KINDS["real floating"]
        squares = ops.square(x if real else _magnitudes(x))
        return ops.sqrt(ops.sum(squares, axes, keepdims=keepdims))
    sizes = _magnitudes(x)
    if ord == math.inf:
        return _extreme(sizes, axes, keepdims, True)
    if ord == -math.inf:
        return _extreme(sizes, axes, keepdims, False)
    if ord == 0:
        return cast(ops.count_nonzero(sizes, axes, keepdims=keepdims), sizes.dtype)
    if ord == 1:
        return ops.sum(sizes, axes, keepdims=keepdims)
    return ops.sum(sizes**ord, axes, keepdims=keepdims) ** (1 / ord)


@of_array
def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: MatrixOrder = "fro") -> Tensor:
    """A norm of each matrix of `[.., m, n]`: real, `[..]`.

    'fro' is the root of the sum of squares; 'nuc' the sum of the singular values, 2 and -2 their
    greatest and least; 1 and -1 the greatest and least sum of magnitudes of a column, inf and -inf
    of a row.

    >>> import cloakwork as cw
    >>> cw.linalg.matrix_norm(cw.asarray([[1.0, 2.0], [3.0, 4.0]]), ord=1)
    Tensor(6., dtype=f64)
    """
    x = matrices(x)
    if ord in (2, -2, "nuc"):
        values = svdvals(x)
        last = (values.ndim - 1,)
        norm = ops.sum(values, last) if ord == "nuc" else _extreme(values, last, False, ord == 2)
        return norm[..., None, None] if keepdims else norm
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ParamError("ord", repr(ord), "'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    along, across = (x.ndim - 2, x.ndim - 1) if ord in (1, -1) else (x.ndim - 1, x.ndim - 2)
    sums = ops.sum(_magnitudes(x), (along,), keepdims=True)
    norm = _extreme(sums, (across,), True, ord > 0)
    return norm if keepdims else norm[..., 0, 0]


@of_array
def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The number of nonzero singular values of each matrix of `[.., m, n]`: int64, `[..]`.

    Those up to `rtol` times the largest count as 0; `max(m, n)` times the dtype's eps unless said
    otherwise.

    >>> import cloakwork as cw
    >>> cw.linalg.matrix_rank(cw.asarray([[1.0, 2.0], [2.0, 4.0]]))
    Tensor(1, dtype=i64)
    """
    values = svdvals(x)
    return count_nonzero(values > cutoff(values, x.shape, rtol), axis=-1)


def _magnitudes(x: Tensor) -> Tensor:
    """Absolute values, which are floats."""
    x = x if x.dtype.name in FLOATING else cast(x, float64)
    return ops.abs(x)


def _extreme(x: Tensor, axes: tuple[int, ...], keepdims: bool, greatest: bool) -> Tensor:
    """The greatest or the least magnitude; the greatest of no elements is 0."""
    if greatest and 0 in [x.shape[axis] for axis in axes]:
        return ops.sum(x, axes, keepdims=keepdims)
    return (ops.max if greatest else ops.min)(x, axes, keepdims=keepdims)
