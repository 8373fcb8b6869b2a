"""The sets on which functions are approximated: intervals, and points on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import ParamError

Floats = NDArray[np.float64]
Function = Callable[[Floats], ArrayLike]
Interval = tuple[float, float]
Domain = Interval | Sequence[Interval]

_ALLOWED = "finite (a, b) with a < b, or several such intervals in ascending order, apart"
_MOST_INTERVALS = 16
# Values that an error message shows.
_SHOWN = 3


def intervals_of(domain: Any) -> tuple[Interval, ...]:
    """The intervals of a domain, ascending; ParamError for anything else."""
    try:
        given = np.asarray(domain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParamError("domain", domain, _ALLOWED) from error
    rows = given[np.newaxis] if given.ndim == 1 else given
    if rows.ndim != 2 or rows.shape[1:] != (2,) or not 1 <= len(rows) <= _MOST_INTERVALS:
        raise ParamError("domain", domain, _ALLOWED)
    edges = rows.reshape(-1)
    # A width of a few units in the last place holds no distinct points.
    least = 2.0**-44 * np.abs(edges).max()
    if not (np.isfinite(edges).all() and (np.diff(edges) > least).all()):
        raise ParamError("domain", domain, _ALLOWED)
    if not isfinite(float(edges[-1]) - float(edges[0])):
        raise ParamError("domain", domain, _ALLOWED)
    return tuple((float(a), float(b)) for a, b in rows)


def hull(intervals: tuple[Interval, ...]) -> Interval:
    """The least interval that holds all."""
    return intervals[0][0], intervals[-1][1]


def right_half(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The nonnegative part of a symmetric set; ParamError for one that is not symmetric."""
    edges = np.array(intervals).reshape(-1)
    if not np.array_equal(edges, -edges[::-1]):
        raise ParamError("domain", intervals, "a domain symmetric about 0, for a parity")
    return tuple((max(a, 0.0), b) for a, b in intervals if b > 0)


def spread(intervals: tuple[Interval, ...], count: int) -> tuple[Floats, ...]:
    """Chebyshev points of each interval with both ends, ascending: [count] each."""
    wave = (1 - np.cos(np.linspace(0, np.pi, count))) / 2
    return tuple(np.clip(a + (b - a) * wave, a, b) for a, b in intervals)


def evaluated(function: Function, points: Floats) -> Floats:
    """Values of a function at points, of their shape.

    Raises ParamError for values that are not finite real numbers, and for other shapes.
    """
    with np.errstate(all="ignore"):
        found = np.asarray(function(points))
    if found.dtype.kind not in "fiub":
        raise ParamError("function", found.dtype, "real values")
    found = found.astype(np.float64)
    if found.shape == () and points.shape != ():
        found = np.broadcast_to(found, points.shape)
    if found.shape != points.shape:
        raise ParamError(
            "function", found.shape, f"values of shape {points.shape}: one for each point"
        )
    bad = points[~np.isfinite(found)]
    if bad.size:
        shown = ", ".join(f"{x:.6g}" for x in map(float, bad[:_SHOWN]))
        raise ParamError(
            "function", f"values that are not finite at x = {shown}", "finite values on the domain"
        )
    return np.asarray(found)
