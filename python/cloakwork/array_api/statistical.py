"""Sums, products, extremes and moments along axes."""

from __future__ import annotations

import builtins
import math

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor, bool_, float64, uint8
from cloakwork.array_api.common import (
    REAL_OF,
    Axis,
    axes_of,
    cast,
    only_axis,
    real_number,
    require,
    some_along,
)
from cloakwork.array_api.creation import full
from cloakwork.array_api.datatypes import FLOATING, REAL
from cloakwork.array_api.manipulation import concat
from cloakwork.errors import DTypeError
from cloakwork.tensors.arrays import of_array
from cloakwork.tensors.conversion import DTypeLike
from cloakwork.tensors.native import shortcut


@shortcut
@of_array
def sum(
    x: Tensor,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The sum along axes, or of all elements; 0 for no elements.

    int64 or uint64 for integers and bool, which wrap, else the dtype of `x`, unless said
    otherwise.

    >>> import cloakwork as cw
    >>> cw.sum(cw.asarray([[1, 2], [3, 4]]), axis=0)
    Tensor([4, 6], dtype=i64)
    """
    x, wanted = _accumulated(x, dtype)
    total = ops.sum(x, axes_of(axis, x.ndim), keepdims=keepdims)
    return total if wanted is None else cast(total, wanted)


@shortcut
@of_array
def prod(
    x: Tensor,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The product along axes, or of all elements; 1 for no elements.  Dtypes are those of `sum`.

    >>> import cloakwork as cw
    >>> cw.prod(cw.asarray([2, 3, 4]))
    Tensor(24, dtype=i64)
    """
    x, wanted = _accumulated(x, dtype)
    product = ops.prod(x, axes_of(axis, x.ndim), keepdims=keepdims)
    return product if wanted is None else cast(product, wanted)


@of_array
def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The cumulative sums along an axis; they begin with 0 if `include_initial`.

    The axis may be omitted for one axis.  Dtypes are those of `sum`.

    >>> import cloakwork as cw
    >>> cw.cumulative_sum(cw.asarray([1, 2, 3]))
    Tensor([1, 3, 6], dtype=i64)
    """
    place = only_axis(axis, x.ndim)
    x, wanted = _accumulated(x, dtype)
    sums = ops.cumulative_sum(x, place)
    sums = sums if wanted is None else cast(sums, wanted)
    return _after(sums, 0, place) if include_initial else sums


@of_array
def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The cumulative products along an axis; they begin with 1 if `include_initial`.

    The axis may be omitted for one axis.  Dtypes are those of `sum`.

    >>> import cloakwork as cw
    >>> cw.cumulative_prod(cw.asarray([2, 3, 4]))
    Tensor([ 2,  6, 24], dtype=i64)
    """
    place = only_axis(axis, x.ndim)
    x, wanted = _accumulated(x, dtype)
    products = ops.cumulative_prod(x, place)
    products = products if wanted is None else cast(products, wanted)
    return _after(products, 1, place) if include_initial else products


def _accumulated(x: Tensor, dtype: DTypeLike | None) -> tuple[Tensor, DType | None]:
    """The tensor to accumulate, and the requested dtype of the result, if any."""
    if dtype is None:
        return x, None
    wanted = _core.dtype(dtype)
    if x.dtype.name in REAL_OF and wanted.name not in REAL_OF:
        raise DTypeError("dtype", wanted.name, "a complex dtype, as the elements are complex")
    return cast(x, wanted), wanted


def _after(x: Tensor, initial: int, axis: int) -> Tensor:
    """`x` with one element inserted before its first along an axis."""
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return concat([full(shape, initial, dtype=x.dtype), x], axis=axis)


@shortcut
@of_array
def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The greatest element along axes, or of all; NaN if one is NaN.

    Raises ValueError for no elements, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.max(cw.asarray([[1, 5], [3, 4]]), axis=1)
    Tensor([5, 4], dtype=i64)
    """
    axes = axes_of(axis, x.ndim)
    some_along(x, axes)
    if x.dtype == bool_:
        return cast(ops.max(cast(x, uint8), axes, keepdims=keepdims), bool_)
    require(x, REAL, "x", "real numbers, which have an order")
    return ops.max(x, axes, keepdims=keepdims)


@shortcut
@of_array
def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The least element along axes, or of all; NaN if one is NaN.

    Raises ValueError for no elements, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.min(cw.asarray([[1, 5], [3, 4]]), axis=1)
    Tensor([1, 3], dtype=i64)
    """
    axes = axes_of(axis, x.ndim)
    some_along(x, axes)
    if x.dtype == bool_:
        return cast(ops.min(cast(x, uint8), axes, keepdims=keepdims), bool_)
    require(x, REAL, "x", "real numbers, which have an order")
    return ops.min(x, axes, keepdims=keepdims)


@of_array
def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean along axes, or of all elements, float64 for integers; NaN for no elements.

    >>> import cloakwork as cw
    >>> cw.mean(cw.asarray([1.0, 2.0, 6.0]))
    Tensor(3., dtype=f64)
    """
    x = _floating(x)
    axes = axes_of(axis, x.ndim)
    return ops.sum(x, axes, keepdims=keepdims) / float(_count(x, axes))


@of_array
def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance along axes or of all elements.

    The divisor is the number of elements minus `correction`: 1 for the unbiased estimate; NaN or
    infinite if the divisor is not positive.

    >>> import cloakwork as cw
    >>> cw.var(cw.asarray([1.0, 2.0, 6.0]), correction=1)
    Tensor(7., dtype=f64)
    """
    x = _floating(x)
    axes = axes_of(axis, x.ndim)
    distances = x - mean(x, axis=axes, keepdims=True)
    if x.dtype.name in REAL_OF:
        distances = ops.abs(distances)
    freedom = builtins.max(_count(x, axes) - real_number(correction, "correction"), 0)
    return ops.sum(ops.square(distances), axes, keepdims=keepdims) / float(freedom)


@of_array
def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The square root of the variance; see `var`.

    >>> import cloakwork as cw
    >>> cw.std(cw.asarray([1.0, 3.0]))
    Tensor(1., dtype=f64)
    """
    return ops.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _floating(x: Tensor) -> Tensor:
    return x if x.dtype.name in FLOATING else ops.astype(x, float64)


def _count(x: Tensor, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[axis] for axis in axes)
