"""Norms, condition numbers and least squares, by NumPy's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import Axis, axes_of, real_number
from cloakwork.array_api.datatypes import result_type
from cloakwork.array_api.manipulation import expand_dims, moveaxis
from cloakwork.errors import AxisError, LinAlgError, ParamError
from cloakwork.lazy import public
from cloakwork.linalg.checks import matrices, squares
from cloakwork.linalg.factors import svdvals
from cloakwork.linalg.norms import MatrixOrder, matrix_norm, vector_norm
from cloakwork.linalg.solutions import inv
from cloakwork.tensors.arrays import of_array, operand
from cloakwork.tensors.conversion import asarray


@public("cloakwork.linalg")
class LstsqResult(NamedTuple):
    """See `lstsq`."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    s: Tensor


@of_array
def norm(
    x: Tensor, /, ord: MatrixOrder = None, axis: Axis = None, *, keepdims: bool = False
) -> Tensor:
    """The norm of vectors along one axis, or of matrices along two: real.

    Without `axis`, of a vector or a matrix; without `ord` too, the root of the sum of all squares.
    For the orders see `vector_norm` and `matrix_norm`.

    >>> import cloakwork as cw
    >>> cw.linalg.norm(cw.asarray([[3.0, 4.0], [0.0, 0.0]]))
    Tensor(5., dtype=f64)
    """
    axes = axes_of(axis, x.ndim)
    if axis is not None and not axes:
        raise AxisError("axis", axis, f"one axis or two, of the {x.ndim}")
    if ord is None and (axis is None or len(axes) < 3):
        return vector_norm(x, axis=axis, keepdims=keepdims)
    if len(axes) == 1:
        if isinstance(ord, str) or ord is None:
            raise ParamError("ord", repr(ord), "a number, for vectors")
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise AxisError("axis", axis, f"one axis or two, of the {x.ndim}")
    found = matrix_norm(moveaxis(x, axes, (-2, -1)), ord=ord)
    return expand_dims(found, tuple(sorted(axes))) if keepdims else found


@of_array
def cond(x: Tensor, /, p: MatrixOrder = None) -> Tensor:
    """The condition number of each matrix of `[.., m, n]`: real, `[..]`.

    The ratio of its greatest and least singular value, the inverse for `p` -2; for other orders of
    `matrix_norm`, the norm of a square matrix times that of its inverse, LinAlgError where it has
    none.

    >>> import cloakwork as cw
    >>> cw.linalg.cond(cw.asarray([[4.0, 0.0], [0.0, 2.0]]))
    Tensor(2., dtype=f64)
    """
    x = matrices(x)
    if 0 in x.shape[-2:]:
        raise ParamError("x", f"shape {x.shape}", "matrices with elements")
    if p is None or p in (2, -2):
        values = svdvals(x)
        most, least = values[..., 0], values[..., -1]
        return least / most if p == -2 else most / least
    x = squares(x)
    return matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)


def lstsq(
    x1: Tensor | ArrayLike, x2: Tensor | ArrayLike, /, rcond: float | None = None
) -> LstsqResult:
    """The X of least norm that minimises `|x1 @ X - x2|`, for `[m, n]` and `[m, k]` or `[m]`.

    Also the squares of the distances (none unless `m > n` and the rank is `n`), the rank, and the
    singular values of `x1`; those up to `rcond` times the largest count as 0, `max(m, n)` times
    the dtype's eps unless said otherwise.  NumPy computes it: not in a trace.

    >>> import cloakwork as cw
    >>> cw.linalg.lstsq(cw.asarray([[1.0], [1.0]]), cw.asarray([1.0, 3.0])).x
    Tensor([2.], dtype=f64)
    """
    rcond = None if rcond is None else real_number(rcond, "rcond")
    x1, x2 = matrices(operand(x1, "x1"), "x1"), operand(x2, "x2")
    if x1.ndim != 2 or x2.ndim not in (1, 2) or x1.shape[0] != x2.shape[0]:
        got = f"shapes {x1.shape} and {x2.shape}"
        raise ParamError("x1, x2", got, "[m, n] and [m, k] or [m]")
    name = result_type(x1, x2).name
    given = [np.asarray(one).astype(name, copy=False) for one in (x1, x2)]
    solve: Callable[..., tuple[Any, ...]] = np.linalg.lstsq
    try:
        found = solve(*given, rcond=rcond)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(str(error)) from error
    return LstsqResult(*(asarray(part) for part in found))
