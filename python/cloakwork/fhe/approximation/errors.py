"""The largest error of an approximation, as measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cloakwork.fhe.approximation.intervals import Floats, Function, Interval, evaluated, spread

# Points of an interval for each degree, and their least number.
_POINTS, _LEAST_POINTS = 8, 2048
# The largest extrema of the grid are refined between their neighbours: so many points, so often.
_REFINED, _ZOOM_POINTS, _ZOOMS = 512, 9, 14
# A measured error is rounded up by this fraction, for the distance to the true extremum.
_ROUNDED_UP = 1.0 + 2.0**-20
# The rounding of values in double precision, as a fraction of the largest.
_ROUNDING = 2.0**-49


def largest_error(
    function: Function,
    approximation: Callable[[Floats], Floats],
    intervals: tuple[Interval, ...],
    degree: int,
) -> float:
    """The largest |function(x) - approximation(x)| on a set, measured and rounded up."""
    sizes = [np.abs(evaluated(function, piece)).max() for piece in spread(intervals, _LEAST_POINTS)]
    rounding = _ROUNDING * float(max(sizes))
    return measured_error(function, approximation, intervals, degree) * _ROUNDED_UP + rounding


def measured_error(
    function: Function,
    approximation: Callable[[Floats], Floats],
    intervals: tuple[Interval, ...],
    degree: int,
) -> float:
    """The largest error of all points that were tried: at the ends, and close to each extremum.

    degree   of the approximation: the error has about so many extrema; for a composition the
             largest degree of a stage
    """
    most = 0.0
    for piece in spread(intervals, max(_POINTS * (degree + 1), _LEAST_POINTS)):
        sizes = _sizes(function, approximation, piece)
        most = max(most, float(sizes.max()))
        padded = np.concatenate([[-1.0], sizes, [-1.0]])
        tops = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
        tops = tops[np.argsort(-sizes[tops], kind="stable")[:_REFINED]]
        low, high = piece[np.maximum(tops - 1, 0)], piece[np.minimum(tops + 1, len(piece) - 1)]
        most = max(most, _refined(function, approximation, low, high))
    return most


def _sizes(function: Function, approximation: Callable[[Floats], Floats], points: Floats) -> Floats:
    return np.abs(evaluated(function, points) - np.asarray(approximation(points)))


def _refined(
    function: Function, approximation: Callable[[Floats], Floats], low: Floats, high: Floats
) -> float:
    """The largest error between pairs of points."""
    most, rows, share = 0.0, np.arange(len(low)), np.linspace(0.0, 1.0, _ZOOM_POINTS)
    for _ in range(_ZOOMS):
        points = low[:, np.newaxis] + (high - low)[:, np.newaxis] * share
        points = np.minimum(points, high[:, np.newaxis])
        sizes = _sizes(function, approximation, points.reshape(-1)).reshape(points.shape)
        best = np.argmax(sizes, axis=1)
        low = points[rows, np.maximum(best - 1, 0)]
        high = points[rows, np.minimum(best + 1, _ZOOM_POINTS - 1)]
        most = max(most, float(sizes.max()))
    return most
