"""Convolutions, and polynomials by their coefficients, by NumPy's names.

NumPy convolves what is in the memory of the host; traces and devices multiply windows of the longer
vector, which takes longer.  The two add products in another order: sums of floats may differ in
their last bits, integers do not.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import ops
from cloakwork._core import Tensor, bool_, complex128, float64, int64
from cloakwork.array_api.common import cast, no_empty, whole
from cloakwork.array_api.creation import ones, zeros, zeros_like
from cloakwork.array_api.datatypes import FLOATING, finfo, result_type
from cloakwork.array_api.indexing import take
from cloakwork.array_api.linear import matmul
from cloakwork.array_api.manipulation import concat, flip, unstack
from cloakwork.array_api.searching import where
from cloakwork.array_api.statistical import cumulative_prod
from cloakwork.array_api.statistical import sum as total
from cloakwork.errors import ParamError, TraceError
from cloakwork.linalg.systems import lstsq
from cloakwork.numpy_names.shapes import atleast_1d
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray

Mode = Literal["full", "same", "valid"]
# Products of elements that are in memory at a time.
_MOST_PRODUCTS = 1 << 20
# Dtypes of powers, by the kind of the base.
_WIDE = {"b": int64, "f": float64, "c": complex128}


def convolve(a: ArrayLike | Tensor, v: ArrayLike | Tensor, /, mode: Mode = "full") -> Tensor:
    """The convolution of two vectors, `out[k] = sum over i of a[i] v[k - i]`; the promoted dtype.

    A number is a vector of one element.  "full" gives all sums `[m + n - 1]`, "same" the middle
    `[max(m, n)]`, and "valid" those with all elements of the shorter vector.  Floats of a trace or
    a device may differ from those of the host in the last bits.

    >>> import cloakwork as cw
    >>> cw.convolve([1, 2, 3], [1, 10])
    Tensor([ 1, 12, 23, 30], dtype=i64)
    """
    long, short = _vectors(*(atleast_1d(operand(one, name)) for one, name in ((a, "a"), (v, "v"))))
    if short.size > long.size:
        long, short = short, long
    n, m = long.size, short.size
    kept = _range(mode, n, m, (m - 1) // 2)
    if (read := _in_memory(long, short)) is not None:
        return asarray(np.convolve(*read, mode))
    return _sums(long, short, kept)


def correlate(a: ArrayLike | Tensor, v: ArrayLike | Tensor, /, mode: Mode = "valid") -> Tensor:
    """The sums `out[k] = sum over i of a[i + k] conj(v[i])` of two vectors; modes of `convolve`.

    Floats of a trace or a device may differ from those of the host in the last bits.

    >>> import cloakwork as cw
    >>> cw.correlate([1, 2, 3], [1, 10])
    Tensor([21, 32], dtype=i64)
    """
    a, v = _vectors(a, v)
    n, m = max(a.size, v.size), min(a.size, v.size)
    kept = _range(mode, n, m, (m - 1) // 2 if a.size >= v.size else m // 2)
    if (read := _in_memory(a, v)) is not None:
        return asarray(np.correlate(*read, mode))
    v = flip(ops.conj(v) if v.dtype.kind == "c" else v)
    return _sums(a, v, kept) if a.size >= v.size else _sums(v, a, kept)


def polyval(p: ArrayLike | Tensor, x: ArrayLike | Tensor, /) -> Tensor:
    """The polynomial with coefficients `p`, that of the highest power first, at each `x`.

    >>> import cloakwork as cw
    >>> cw.polyval([1, 0, 2], [3, 4])
    Tensor([11, 18], dtype=i64)
    """
    p, x = operand(p, "p"), operand(x)
    if p.ndim == 0:
        raise ParamError("p", "no axes", "coefficients along an axis")
    found = zeros_like(x)
    for coefficient in unstack(p):
        found = found * x + coefficient
    return found


def vander(x: ArrayLike | Tensor, /, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers `[m, N]` of a vector, from the highest one to 0, or from 0 if `increasing`.

    `N` is `m` if not given.  The result is int64, float64 or complex128.

    >>> import cloakwork as cw
    >>> cw.vander([2, 3], 3)
    Tensor([[4, 2, 1],
            [9, 3, 1]], dtype=i64)
    """
    x = operand(x)
    if x.ndim != 1:
        raise ParamError("x", f"{x.ndim} axes", "one axis")
    count = x.size if N is None else whole(N, "N")
    if count < 0:
        raise ParamError("N", count, "0 or more")
    x = cast(x, _WIDE.get(x.dtype.kind) or result_type(x, int64))
    factors = ops.broadcast_to(x[:, None], (x.size, max(count - 1, 0)))
    first = ones((x.size, min(count, 1)), dtype=x.dtype)
    powers = concat([first, cumulative_prod(factors, axis=1)], axis=1)
    return powers if increasing else flip(powers, axis=1)


def polyfit(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    deg: int,
    /,
    rcond: float | None = None,
    *,
    w: ArrayLike | Tensor | None = None,
) -> Tensor:
    """The polynomial of least squares: `deg + 1` coefficients, that of the highest power first.

    `y` holds values at `x`, or columns of such, and `w` factors of the distances before these are
    squared.  For `rcond` see `linalg.lstsq`; without it, the size of `x` times the dtype's eps.
    NumPy computes it: not in a trace.

    >>> import cloakwork as cw
    >>> cw.round(cw.polyfit([0, 1, 2], [1, 3, 5], 1) * 10)
    Tensor([20., 10.], dtype=f64)
    """
    degree = whole(deg, "deg")
    if degree < 0:
        raise ParamError("deg", degree, "0 or more")
    x, y = _floats(x, "x"), _floats(y, "y")
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        got = f"shapes {x.shape} and {y.shape}"
        raise ParamError("x, y", got, "[m] and [m] or [m, k]")
    no_empty(x.size, "x", "one value or more")
    rows = vander(x, degree + 1)
    if w is not None:
        weights = _floats(w, "w")
        if weights.shape != x.shape:
            raise ParamError("w", f"shape {weights.shape}", f"a weight for each of {x.size} values")
        rows = rows * weights[:, None]
        y = y * (weights if y.ndim == 1 else weights[:, None])
    scale = ops.sqrt(total(ops.square(ops.abs(rows)), axis=0))
    cutoff = x.size * finfo(x.dtype).eps if rcond is None else rcond
    found = lstsq(rows / scale, y, cutoff).x
    return found / (scale if found.ndim == 1 else scale[:, None])


def _floats(x: ArrayLike | Tensor, place: str) -> Tensor:
    x = operand(x, place)
    return x if x.dtype.name in FLOATING else cast(x, float64)


def _vectors(*given: ArrayLike | Tensor) -> tuple[Tensor, Tensor]:
    """Two vectors of one dtype, with elements."""
    made = [operand(one, name) for one, name in zip(given, "av", strict=True)]
    for name, x in zip("av", made, strict=True):
        if x.ndim != 1 or x.size == 0:
            raise ParamError(name, f"shape {x.shape}", "one axis, with elements")
    dtype = result_type(*made)
    return cast(made[0], dtype), cast(made[1], dtype)


def _in_memory(a: Tensor, v: Tensor) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The elements of both, which share the memory; None where one is traced or on a device."""
    if not a.device == v.device == "cpu":
        return None
    try:
        return np.asarray(a), np.asarray(v)
    except TraceError:
        return None


def _range(mode: Mode, n: int, m: int, before: int) -> tuple[int, int]:
    """The first sum of a mode among all `n + m - 1`, and the end; `n` is not below `m`."""
    ranges = {"full": (0, n + m - 1), "same": (before, before + n), "valid": (m - 1, n)}
    if mode not in ranges:
        raise ParamError("mode", repr(mode), "'full', 'same' or 'valid'")
    return ranges[mode]


def _sums(long: Tensor, short: Tensor, kept: tuple[int, int]) -> Tensor:
    """The sums `kept` of the convolution; the dtype of both, so that integers wrap."""
    if long.dtype == bool_:
        return cast(_sums(cast(long, int64), cast(short, int64), kept), bool_)
    turned = flip(short)
    m = short.size
    inner = max(kept[0], m - 1), min(kept[1], long.size)
    height = max(_MOST_PRODUCTS // m, 1)
    pieces = [_edge(long, turned, part) for part in _parts(kept[0], inner[0], height)]
    for start, stop in _parts(*inner, height):
        places = np.arange(start, stop)[:, None] - np.arange(m)[::-1]
        pieces.append(matmul(take(long, asarray(places), axis=0), turned))
    pieces += [_edge(long, turned, part) for part in _parts(inner[1], kept[1], height)]
    return concat(pieces)


def _parts(start: int, stop: int, height: int) -> list[tuple[int, int]]:
    return [(first, min(first + height, stop)) for first in range(start, stop, height)]


def _edge(long: Tensor, turned: Tensor, part: tuple[int, int]) -> Tensor:
    """Sums with fewer products, as the vectors overlap in part."""
    places = np.arange(*part)[:, None] - np.arange(turned.size)[::-1]
    inside = (places >= 0) & (places < long.size)
    products = take(long, asarray(np.where(inside, places, 0)), axis=0) * turned
    overlap = where(asarray(inside), products, zeros((), dtype=long.dtype))
    return total(overlap, axis=1, dtype=long.dtype)
