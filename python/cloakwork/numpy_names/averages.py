"""Averages, quantiles and correlations, by NumPy's names."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import ops
from cloakwork._core import Tensor, float64, int64
from cloakwork.array_api import statistical
from cloakwork.array_api.common import Axis, axes_of, axis_of, cast, no_empty, require
from cloakwork.array_api.creation import full
from cloakwork.array_api.datatypes import KINDS, REAL
from cloakwork.array_api.elementwise.comparison import isnan
from cloakwork.array_api.indexing import take_along_axis
from cloakwork.array_api.manipulation import moveaxis
from cloakwork.array_api.searching import where
from cloakwork.array_api.sorting import sort
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import DTypeLike, asarray

Method = Literal["linear", "lower", "higher", "nearest", "midpoint"]
# Methods that take an element as it is, and all of them.
TAKING = frozenset(("lower", "higher", "nearest"))
METHODS = TAKING | {"linear", "midpoint"}


def cumsum(
    x: ArrayLike | Tensor, /, axis: int | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """The cumulative sums along an axis, or of all elements as one axis; dtypes as of `sum`.

    >>> import cloakwork as cw
    >>> cw.cumsum([[1, 2], [3, 4]])
    Tensor([ 1,  3,  6, 10], dtype=i64)
    """
    x = operand(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return statistical.cumulative_sum(x, axis=axis, dtype=dtype)


def cumprod(
    x: ArrayLike | Tensor, /, axis: int | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """The cumulative products along an axis, or of all elements as one axis; dtypes as of `sum`.

    >>> import cloakwork as cw
    >>> cw.cumprod([[1, 2], [3, 4]])
    Tensor([ 1,  2,  6, 24], dtype=i64)
    """
    x = operand(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return statistical.cumulative_prod(x, axis=axis, dtype=dtype)


def ptp(x: ArrayLike | Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element minus the least along axes, or of all.

    >>> import cloakwork as cw
    >>> cw.ptp([3, 1, 7])
    Tensor(6, dtype=i64)
    """
    x = operand(x)
    most = statistical.max(x, axis=axis, keepdims=keepdims)
    return most - statistical.min(x, axis=axis, keepdims=keepdims)


def average(
    x: ArrayLike | Tensor,
    /,
    axis: int | None = None,
    weights: ArrayLike | Tensor | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """The weighted mean along an axis, or of all elements; weights of sum 0 give NaN or infinity.

    The weights have the shape of `x`, or one axis: that along which to average.

    >>> import cloakwork as cw
    >>> cw.average([1.0, 4.0], weights=[3, 1])
    Tensor(1.75, dtype=f64)
    """
    x = operand(x)
    x = x if x.dtype.kind in "fc" else cast(x, float64)
    if weights is None:
        return statistical.mean(x, axis=axis, keepdims=keepdims)
    shares = operand(weights, "weights")
    if shares.shape != x.shape:
        place = None if axis is None else axis_of(axis, x.ndim)
        if place is None or shares.shape != x.shape[place : place + 1]:
            expected = f"shape {x.shape}, or an axis to average along and a weight each"
            raise ParamError("weights", f"shape {shares.shape}", expected)
        shares = shares.reshape(-1, *(1,) * (x.ndim - place - 1))
    shares = ops.broadcast_to(shares, x.shape)
    whole = statistical.sum(shares, axis=axis, keepdims=keepdims)
    return statistical.sum(x * shares, axis=axis, keepdims=keepdims) / whole


def median(x: ArrayLike | Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The middle of the sorted elements, or the mean of the middle two: float64 for integers.

    NaN where an element is NaN and for no elements.  TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.median([5, 1, 3, 2])
    Tensor(2.5, dtype=f64)
    """
    x = operand(x)
    axes = axes_of(axis, x.ndim)
    lines = lines_of(x, axes)
    size = lines.shape[-1]
    if size == 0:
        require(x, (*KINDS["bool"], *REAL), "x", "real numbers, which have an order")
        found = full(lines.shape[:-1], float("nan"), dtype=lines.dtype)
        return kept(found, x.shape, axes) if keepdims else found
    ordered = sort(lines)
    middle = ordered[..., (size - 1) // 2]
    if size % 2 == 0:
        middle = statistical.mean(ordered[..., size // 2 - 1 : size // 2 + 1], axis=-1)
    found = where(isnan(ordered[..., -1]), ordered[..., -1], middle)
    return kept(found, x.shape, axes) if keepdims else found


def percentile(
    x: ArrayLike | Tensor,
    /,
    q: ArrayLike,
    axis: Axis = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """As `quantile`, with `q` of 0 to 100.

    >>> import cloakwork as cw
    >>> cw.percentile([1.0, 2.0, 3.0], 75)
    Tensor(2.5, dtype=f64)
    """
    return quantile(x, hundredths(q), axis, method=method, keepdims=keepdims)


def quantile(
    x: ArrayLike | Tensor,
    /,
    q: ArrayLike,
    axis: Axis = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The value below which a fraction `q` of the elements lies, along axes or of all.

    Between two elements, "linear" interpolates; "lower", "higher", "nearest" and "midpoint" take
    what they say.  The axes of `q` are the result's first.  Elements that are taken keep the dtype
    of `x`; means are float64 for integers and where `q` is no single number, else of the dtype of
    `x`.  NaN where an element is NaN.

    ParamError for no elements, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.quantile([1.0, 2.0, 3.0], [0.5, 1.0])
    Tensor([2., 3.], dtype=f64)
    """
    fractions = fractions_of(q, method)
    x = operand(x)
    axes = axes_of(axis, x.ndim)
    takes = method in TAKING
    lines = lines_of(x, axes, takes=takes)
    no_empty(lines.shape[-1], "x", "one element or more along the axes")
    ordered = sort(lines)
    ordered = ordered if takes or is_number(q) else cast(ordered, float64)
    places = asarray(fractions.ravel() * (ordered.shape[-1] - 1))
    found = between(ordered, places, method)
    last = ordered[..., -1:]
    found = where(isnan(last), last, found) if last.dtype.kind in "fc" else found
    found = moveaxis(found, -1, 0)
    found = kept(found, x.shape, axes) if keepdims else found
    return found.reshape((*fractions.shape, *found.shape[1:]))


def between(ordered: Tensor, places: Tensor, method: str) -> Tensor:
    """The values at fractional places `[.., n]` of the last axis; the method "mean" is of two."""
    if method == "nearest":
        places = ops.round(places)
    places = places.reshape((*(1,) * (ordered.ndim - places.ndim), *places.shape))
    below, above = ops.floor(places), ops.ceil(places)
    low, high = (take_along_axis(ordered, cast(ends, int64)) for ends in (below, above))
    if method in ("lower", "nearest"):
        return low
    if method == "higher":
        return high
    if method == "mean":
        return where(below == above, low, (low + high) * 0.5)
    share = places - below if method == "linear" else (above - below) * 0.5
    return _mixed(low, high, share)


def _mixed(low: Tensor, high: Tensor, share: Tensor) -> Tensor:
    """`low + share (high - low)`, exact at both ends."""
    share = cast(share, low.dtype)
    step = high - low
    between = where(share < 0.5, low + step * share, high - step * (1 - share))
    return where(low == high, low, between)


def fractions_of(q: ArrayLike, method: str) -> NDArray[np.float64]:
    """The fractions of quantiles; ParamError for others, and for an unknown method."""
    if method not in METHODS:
        raise ParamError("method", repr(method), ", ".join(sorted(METHODS)))
    fractions = reals_of(q)
    if not np.all((fractions >= 0) & (fractions <= 1)):
        raise ParamError("q", q, "numbers from 0 to 1")
    return fractions


def hundredths(q: ArrayLike) -> ArrayLike:
    """Percentages as fractions: a number of one number."""
    parts = reals_of(q) / 100
    if not np.all((parts >= 0) & (parts <= 1)):
        raise ParamError("q", q, "numbers from 0 to 100")
    return float(parts) if is_number(q) else parts


def reals_of(q: ArrayLike | Tensor) -> NDArray[np.float64]:
    """Fractions or percentages as float64; DTypeError for others than real numbers."""
    given = operand(q, "q")
    require(given, (*KINDS["bool"], *REAL), "q", "real numbers")
    return np.asarray(given).astype(np.float64)


def is_number(q: object) -> bool:
    """Whether `q` is one number of Python's, so that floats keep their dtype."""
    return isinstance(q, int | float)


def lines_of(x: Tensor, axes: tuple[int, ...], *, takes: bool = False) -> Tensor:
    """Floats, or integers too if elements are taken, with the axes merged into the last one."""
    x = x if x.dtype.kind in ("fciu" if takes else "fc") else cast(x, float64)
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    size = math.prod(x.shape[axis] for axis in axes)
    return ops.transpose(x, [*rest, *axes]).reshape((*(x.shape[axis] for axis in rest), size))


def kept(found: Tensor, shape: tuple[int, ...], axes: tuple[int, ...]) -> Tensor:
    """A result with the reduced axes as axes of size 1, after those that came before."""
    before = found.shape[: found.ndim - (len(shape) - len(axes))]
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    return found.reshape((*before, *sizes))
