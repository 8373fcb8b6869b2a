"""Searching for elements, and choosing between elements."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor, uint8
from cloakwork.array_api.common import (
    Axis,
    Operand,
    axes_of,
    axis_of,
    cast,
    require,
    some_along,
    tensor_of,
    weak_operand,
)
from cloakwork.array_api.datatypes import KINDS, REAL, iinfo, result_type
from cloakwork.array_api.indexing import indices_of, take
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import of_array, operand
from cloakwork.tensors.native import shortcut


@of_array
def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the greatest element along an axis, or of all: int64; the first if several.

    NaN counts as the greatest.  ValueError for no elements, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.argmax(cw.asarray([1, 5, 5]))
    Tensor(1, dtype=i64)
    """
    values = _ordered(x)
    some_along(x, axes_of(axis, x.ndim))
    if axis is None:
        place = ops.argmax(values.reshape(-1), 0)
        return place.reshape((1,) * x.ndim) if keepdims else place
    return ops.argmax(values, axis_of(axis, x.ndim), keepdims=keepdims)


@of_array
def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the least element along an axis, or of all: int64; the first if several.

    NaN counts as the least.  ValueError for no elements, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.argmin(cw.asarray([[3, 1], [2, 4]]), axis=0)
    Tensor([1, 0], dtype=i64)
    """
    values = _ordered(x)
    some_along(x, axes_of(axis, x.ndim))
    if axis is None:
        place = ops.argmin(values.reshape(-1), 0)
        return place.reshape((1,) * x.ndim) if keepdims else place
    return ops.argmin(values, axis_of(axis, x.ndim), keepdims=keepdims)


def _ordered(x: Tensor) -> Tensor:
    require(x, (*KINDS["bool"], *REAL), "x", "real numbers, which have an order")
    return cast(x, uint8) if x.dtype.name == "bool" else x


@of_array
def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The number of nonzero elements along axes, or of all: int64.

    >>> import cloakwork as cw
    >>> cw.count_nonzero(cw.asarray([[0, 1], [2, 3]]), axis=1)
    Tensor([1, 2], dtype=i64)
    """
    return ops.count_nonzero(x, axes_of(axis, x.ndim), keepdims=keepdims)


@of_array
def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the nonzero elements along each axis, in row-major order: int64.

    >>> import cloakwork as cw
    >>> cw.nonzero(cw.asarray([0, 7, 0, 8]))[0]
    Tensor([1, 3], dtype=i64)
    """
    if x.ndim == 0:
        raise ParamError("x", "no axes", "one axis or more")
    places = ops.nonzero(x, int(count_nonzero(x)))
    return tuple(places[:, axis] for axis in range(x.ndim))


def searchsorted(
    x1: Tensor | ArrayLike,
    x2: Operand | ArrayLike,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | ArrayLike | None = None,
) -> Tensor:
    """The index at which each element of `x2` can be inserted into the sorted vector `x1`: int64.

    Before equal elements or, if `side` is "right", after them.  `sorter` holds the indices that
    sort `x1`, if it is not sorted.

    >>> import cloakwork as cw
    >>> cw.searchsorted(cw.asarray([1, 3, 5]), cw.asarray([0, 3, 9]))
    Tensor([0, 1, 3], dtype=i64)
    """
    if side not in ("left", "right"):
        raise ParamError("side", repr(side), "'left' or 'right'")
    x1 = operand(x1, "x1")
    if x1.ndim != 1:
        raise ParamError("x1", f"{x1.ndim} axes", "one axis")
    sought = weak_operand(x2, "x2")
    if isinstance(sought, int) and x1.dtype.kind in "iu":
        # Beyond the dtype is beyond the first or the last element.
        limits = iinfo(x1)
        if not limits.min <= sought <= limits.max:
            is_first = sought < 0
            sought, side = (limits.min, "left") if is_first else (limits.max, "right")
    dtype = result_type(x1, sought)
    ordered = x1 if sorter is None else take(x1, indices_of(sorter, "sorter"))
    values = tensor_of(sought, dtype, "x2")
    return ops.searchsorted(values, cast(ordered, dtype), right=side == "right")


@shortcut
def where(
    condition: Tensor | ArrayLike, x1: Operand | ArrayLike, x2: Operand | ArrayLike, /
) -> Tensor:
    """The elements of `x1` where the bool condition is true, and of `x2` elsewhere.

    All three broadcast, and may be lists or arrays; the dtypes of `x1` and `x2` are promoted.

    >>> import cloakwork as cw
    >>> cw.where(cw.asarray([True, False]), cw.asarray([1, 2]), 0)
    Tensor([1, 0], dtype=i64)
    """
    truths = operand(condition, "condition")
    if isinstance(x1, Tensor) and isinstance(x2, Tensor) and x1.dtype is x2.dtype:
        return ops.where(x1, x2, truths)
    first, second = weak_operand(x1, "x1"), weak_operand(x2, "x2")
    dtype = result_type(first, second)
    return ops.where(tensor_of(first, dtype, "x1"), tensor_of(second, dtype, "x2"), truths)
