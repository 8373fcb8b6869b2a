"""Diagonals, traces, outer and cross products."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import whole
from cloakwork.array_api.manipulation import moveaxis, stack
from cloakwork.array_api.statistical import sum as total
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import of_array, operand
from cloakwork.tensors.conversion import DTypeLike


@of_array
def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonal of each matrix that lies `offset` above the main one: `[.., k]`.

    >>> import cloakwork as cw
    >>> cw.linalg.diagonal(cw.asarray([[1, 2], [3, 4]]))
    Tensor([1, 4], dtype=i64)
    """
    if x.ndim < 2:
        raise ParamError("x", f"shape {x.shape}", "two axes or more")
    *stack_shape, rows, columns = x.shape
    offset = whole(offset, "offset")
    start = offset if offset >= 0 else -offset * columns
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    lines = x.reshape((*stack_shape, rows * columns))
    return lines[..., start : start + count * (columns + 1) : columns + 1][..., :count]


@of_array
def trace(x: Tensor, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of each matrix's diagonal that lies `offset` above the main one: `[..]`.

    The dtype is that of `cloakwork.sum`.

    >>> import cloakwork as cw
    >>> cw.linalg.trace(cw.asarray([[1, 2], [3, 4]]))
    Tensor(5, dtype=i64)
    """
    return total(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: Tensor | ArrayLike, x2: Tensor | ArrayLike, /) -> Tensor:
    """The products of all pairs of elements of two lists: `[m, n]`.

    >>> import cloakwork as cw
    >>> cw.linalg.outer(cw.asarray([1, 2]), cw.asarray([3, 4]))
    Tensor([[3, 4],
            [6, 8]], dtype=i64)
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    if x1.ndim != 1 or x2.ndim != 1:
        raise ParamError("x1, x2", f"shapes {x1.shape} and {x2.shape}", "one axis each")
    return x1[:, None] * x2


def cross(x1: Tensor | ArrayLike, x2: Tensor | ArrayLike, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of 3 elements along an axis; other axes broadcast.

    >>> import cloakwork as cw
    >>> cw.linalg.cross(cw.asarray([1, 0, 0]), cw.asarray([0, 1, 0]))
    Tensor([0, 0, 1], dtype=i64)
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    first, second = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if first.shape[-1] != 3 or second.shape[-1] != 3:
        got = f"shapes {x1.shape} and {x2.shape}"
        raise ParamError("axis", got, f"3 elements along axis {axis} of both")
    a, b, c = (first[..., place] for place in range(3))
    d, e, f = (second[..., place] for place in range(3))
    product = stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1)
    return moveaxis(product, -1, axis)
