"""Counts, bins and places of elements, and correlations, by NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor, float64
from cloakwork.array_api.common import axis_of, cast, require, whole
from cloakwork.array_api.datatypes import KINDS, REAL
from cloakwork.array_api.searching import count_nonzero, searchsorted
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray


def argwhere(x: ArrayLike | Tensor, /) -> Tensor:
    """The indices of the nonzero elements, row-major: int64 `[count, axes]`.

    >>> import cloakwork as cw
    >>> cw.argwhere([[0, 7], [8, 0]])
    Tensor([[0, 1],
            [1, 0]], dtype=i64)
    """
    x = operand(x)
    return ops.nonzero(x, int(count_nonzero(x)))


def flatnonzero(x: ArrayLike | Tensor, /) -> Tensor:
    """The row-major indices of the nonzero elements: int64.

    >>> import cloakwork as cw
    >>> cw.flatnonzero([[0, 7], [8, 0]])
    Tensor([1, 2], dtype=i64)
    """
    return argwhere(operand(x).reshape(-1))[:, 0]


def bincount(
    x: ArrayLike | Tensor, /, weights: ArrayLike | Tensor | None = None, minlength: int = 0
) -> Tensor:
    """How often each integer from 0 on occurs: int64; or the sums of weights: float64.

    ParamError for negative numbers.  The number of counts depends on the elements: not in a trace.

    >>> import cloakwork as cw
    >>> cw.bincount([1, 3, 1])
    Tensor([0, 2, 0, 1], dtype=i64)
    """
    given, shares = _array(x), None if weights is None else _array(weights, "weights")
    return _by_numpy("x", lambda: np.bincount(given, shares, minlength))


def histogram(
    x: ArrayLike | Tensor,
    /,
    bins: int | str | ArrayLike | Tensor = 10,
    range: tuple[float, float] | None = None,
    *,
    density: bool = False,
    weights: ArrayLike | Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The number of elements in each bin `[bins]`, and the bins' edges `[bins + 1]`.

    `bins` is their number, their edges, or one of NumPy's rules such as "auto".  The edges depend
    on the elements: not in a trace.

    >>> import cloakwork as cw
    >>> cw.histogram([1.0, 2.0, 2.5], 2)[0]
    Tensor([1, 2], dtype=i64)
    """
    given, shares = _array(x), None if weights is None else _array(weights, "weights")
    edges: Any = bins if isinstance(bins, int | str) else _array(bins, "bins")
    ends: Any = None if range is None else _reals(range, "range")
    try:
        made = np.histogram(given, edges, ends, density, shares)
    except (ValueError, TypeError) as error:
        raise ParamError("histogram", error, "elements, bins and weights that fit") from error
    return asarray(made[0]), asarray(made[1])


def histogram2d(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    /,
    bins: int | Sequence[Any] | ArrayLike | Tensor = 10,
    range: ArrayLike | None = None,
    *,
    density: bool = False,
    weights: ArrayLike | Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The number of points `(x, y)` in each bin `[m, n]`: float64; and the edges along each axis.

    `bins` is the number along both axes, or edges along both, or a pair of such, and `range` a pair
    of ends for each axis.  The edges depend on the elements: not in a trace.

    >>> import cloakwork as cw
    >>> cw.histogram2d([1.0, 2.0, 2.5], [0.0, 0.0, 1.0], 2)[0]
    Tensor([[1., 0.],
            [1., 1.]], dtype=f64)
    """
    points = _reals(x, "x"), _reals(y, "y")
    shares = None if weights is None else _reals(weights, "weights")
    edges: Any = bins
    if isinstance(bins, list | tuple):
        edges = [part if isinstance(part, int | float) else _reals(part, "bins") for part in bins]
    elif not isinstance(bins, int):
        edges = _reals(bins, "bins")
    ends = None if range is None else _reals(range, "range")
    find: Callable[..., Any] = np.histogram2d
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            made = find(*points, edges, ends, density, shares)
    except (ValueError, TypeError, IndexError) as error:
        raise ParamError("histogram2d", error, "points, bins and weights that fit") from error
    counts, first, second = map(asarray, made)
    return counts, first, second


def digitize(x: ArrayLike | Tensor, bins: ArrayLike, /, *, right: bool = False) -> Tensor:
    """The index of the bin that each element lies in: int64, 0 before the first edge.

    `bins` are ascending or descending edges; each bin has its lower edge, or its upper if `right`.

    >>> import cloakwork as cw
    >>> cw.digitize([0.5, 1.0, 2.5], [1.0, 2.0])
    Tensor([0, 1, 2], dtype=i64)
    """
    edges = _array(bins, "bins")
    if edges.ndim != 1:
        raise ParamError("bins", f"{edges.ndim} axes", "one axis")
    ascends = bool(np.all(edges[1:] >= edges[:-1]))
    if not ascends and not np.all(edges[1:] <= edges[:-1]):
        raise ParamError("bins", "numbers out of order", "ascending or descending edges")
    side: Literal["left", "right"] = "left" if right else "right"
    if ascends:
        return searchsorted(asarray(edges), operand(x), side=side)
    return edges.size - searchsorted(asarray(edges[::-1]), operand(x), side=side)


def interp(
    x: ArrayLike | Tensor,
    xp: ArrayLike | Tensor,
    fp: ArrayLike | Tensor,
    /,
    left: float | None = None,
    right: float | None = None,
    *,
    period: float | None = None,
) -> Tensor:
    """The piecewise linear function through the points `(xp, fp)`, at each `x`: float64.

    `xp` must ascend.  Outside of it the value is `left` and `right`, else that of the nearest end.
    NumPy computes it: not in a trace.

    >>> import cloakwork as cw
    >>> cw.interp([0.5, 9.0], [0.0, 1.0], [10.0, 20.0])
    Tensor([15., 20.], dtype=f64)
    """
    at, points, values = _array(x), _array(xp, "xp"), _array(fp, "fp")
    return _by_numpy("xp", lambda: np.interp(at, points, values, left, right, period))


def unique(
    x: ArrayLike | Tensor,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements in ascending order, or the distinct slices of an axis; NaN once.

    On request also the index of the first of each, the place of each element in the result, and
    the counts: int64.  `unique_values` and the others of the standard take every NaN as distinct.

    >>> import cloakwork as cw
    >>> cw.unique([3, 1, 3], return_counts=True)
    (Tensor([1, 3], dtype=i64), Tensor([1, 2], dtype=i64))
    """
    find: Callable[..., Any] = np.unique
    given = _array(x)
    if axis is not None:
        axis = axis_of(axis, given.ndim)
    made = find(given, return_index, return_inverse, return_counts, axis)
    if isinstance(made, tuple):
        return tuple(asarray(part) for part in made)
    return asarray(made)


def cov(
    x: ArrayLike | Tensor, /, *, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Tensor:
    """The covariances `[n, n]` of `n` variables, the rows of `x`, or its columns unless `rowvar`.

    The divisor is the number of observations minus `ddof`: 1, or 0 if `bias`, unless said
    otherwise.  One variable gives a tensor without axes.

    >>> import cloakwork as cw
    >>> cw.cov([[1.0, 2.0], [3.0, 5.0]])
    Tensor([[0.5, 1. ],
            [1. , 2. ]], dtype=f64)
    """
    x = operand(x)
    if x.ndim > 2:
        raise ParamError("x", f"{x.ndim} axes", "two axes at most: variables and observations")
    x = x if x.dtype.name in ("float64", "complex128") else _doubled(x)
    rows = x.reshape(1, -1) if x.ndim < 2 else (x if rowvar else x.mT)
    divisor = rows.shape[1] - (int(not bias) if ddof is None else whole(ddof, "ddof"))
    count = float(rows.shape[1])
    distances = rows - ops.sum(rows, (1,), keepdims=True) / count
    other = ops.conj(distances) if x.dtype.kind == "c" else distances
    found = distances @ other.mT / float(max(divisor, 0))
    return found.reshape(()) if found.shape == (1, 1) else found


def corrcoef(x: ArrayLike | Tensor, /, *, rowvar: bool = True) -> Tensor:
    """The coefficients of correlation `[n, n]` of `n` variables; see `cov`.

    >>> import cloakwork as cw
    >>> cw.corrcoef([[1.0, 2.0], [3.0, 5.0]])
    Tensor([[1., 1.],
            [1., 1.]], dtype=f64)
    """
    found = cov(x, rowvar=rowvar)
    if found.ndim == 0:
        return found / found
    size = found.shape[0]
    spread = ops.sqrt(ops.real(found) if found.dtype.kind == "c" else found)
    deviations = spread.reshape(-1)[:: size + 1]
    found = found / deviations[:, None] / deviations
    if found.dtype.kind == "c":
        return found
    return ops.maximum(ops.minimum(found, asarray(1.0)), asarray(-1.0))


def _doubled(x: Tensor) -> Tensor:
    return x.astype("complex128") if x.dtype.kind == "c" else cast(x, float64)


def _array(x: ArrayLike | Tensor, place: str = "x") -> np.ndarray[Any, np.dtype[Any]]:
    """The elements as NumPy's array, shared where possible; TraceError in a trace."""
    return np.asarray(operand(x, place))


def _reals(x: ArrayLike | Tensor, place: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Real numbers as NumPy's array; TypeError for others."""
    x = operand(x, place)
    require(x, (*KINDS["bool"], *REAL), place, "real numbers, which lie in bins")
    return _array(x)


def _by_numpy(place: str, make: Callable[[], Any]) -> Tensor:
    """The result of NumPy; its refusals as ParamError."""
    try:
        return asarray(make())
    except (ValueError, TypeError) as error:
        raise ParamError(place, error, "arguments that fit") from error
