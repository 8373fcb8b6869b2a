"""Products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import REAL_OF, axes_of, whole
from cloakwork.array_api.manipulation import moveaxis
from cloakwork.errors import AxisError, ParamError
from cloakwork.tensors.arrays import of_array, operand


def matmul(x1: Tensor | ArrayLike, x2: Tensor | ArrayLike, /) -> Tensor:
    """The product of matrices `[.., m, k]` and `[.., k, n]`, whose other axes broadcast.

    A vector is a row on the left and a column on the right; its axis is removed from the result.
    ValueError for shapes that do not fit.

    >>> import cloakwork as cw
    >>> cw.matmul(cw.asarray([[1, 2], [3, 4]]), cw.asarray([1, 10]))
    Tensor([21, 43], dtype=i64)
    """
    return _core.matmul(operand(x1, "x1"), operand(x2, "x2"))


@of_array
def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view of the transposed matrices; ValueError for fewer than two axes.

    >>> import cloakwork as cw
    >>> cw.matrix_transpose(cw.asarray([[1, 2], [3, 4]]))
    Tensor([[1, 3],
            [2, 4]], dtype=i64)
    """
    if x.ndim < 2:
        raise ParamError("x", f"{x.ndim} axes", "two axes or more")
    return moveaxis(x, -1, -2)


def tensordot(
    x1: Tensor | ArrayLike,
    x2: Tensor | ArrayLike,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
) -> Tensor:
    """The sum of products over axes of both; the other axes of `x1` precede those of `x2`.

    `axes` is the number of the last axes of `x1` and the first of `x2`, or the axes of each.

    >>> import cloakwork as cw
    >>> cw.tensordot(cw.asarray([1, 2]), cw.asarray([3, 4]), axes=1)
    Tensor(11, dtype=i64)
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    first, second = _contracted(x1, x2, axes)
    sizes = [x1.shape[axis] for axis in first]
    if sizes != [x2.shape[axis] for axis in second]:
        raise ParamError("axes", f"{x1.shape} and {x2.shape}", f"sizes that agree along {axes}")
    rest1 = [axis for axis in range(x1.ndim) if axis not in first]
    rest2 = [axis for axis in range(x2.ndim) if axis not in second]
    shape1, shape2 = [x1.shape[axis] for axis in rest1], [x2.shape[axis] for axis in rest2]
    inner = math.prod(sizes)
    left = ops.transpose(x1, [*rest1, *first]).reshape((math.prod(shape1), inner))
    right = ops.transpose(x2, [*second, *rest2]).reshape((inner, math.prod(shape2)))
    return matmul(left, right).reshape((*shape1, *shape2))


def _contracted(
    x1: Tensor, x2: Tensor, axes: int | tuple[Sequence[int], Sequence[int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of each that a tensordot sums over."""
    if not isinstance(axes, tuple | list):
        axes = whole(axes, "axes")
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise AxisError("axes", axes, f"0 to {min(x1.ndim, x2.ndim)}")
        return tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    if len(axes) != 2:
        raise AxisError("axes", axes, "the axes of each of both")
    first, second = axes_of(axes[0], x1.ndim), axes_of(axes[1], x2.ndim)
    if len(first) != len(second):
        raise AxisError("axes", axes, "the same number of axes of each")
    return first, second


def vecdot(x1: Tensor | ArrayLike, x2: Tensor | ArrayLike, /, *, axis: int = -1) -> Tensor:
    """The sum of products along an axis, with `x1` conjugated; other axes broadcast.

    >>> import cloakwork as cw
    >>> cw.vecdot(cw.asarray([[1, 2], [3, 4]]), cw.asarray([10, 1]))
    Tensor([12, 34], dtype=i64)
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    first, second = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if first.shape[-1] != second.shape[-1]:
        got = f"{x1.shape} and {x2.shape}"
        raise ParamError("axis", got, f"shapes that agree along {axis}")
    if first.dtype.name in REAL_OF:
        first = ops.conj(first)
    return matmul(first[..., None, :], second[..., :, None])[..., 0, 0]
