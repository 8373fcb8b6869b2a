"""The range and the slope of a polynomial over the bound of its argument."""

from __future__ import annotations

from math import cos, inf, isfinite, log2, pi, sqrt

import numpy as np
from numpy.polynomial import chebyshev as _chebyshev
from numpy.polynomial import polynomial as _power
from numpy.typing import NDArray

from cloakwork.fhe.estimates.bounds import Bound

Coefficients = tuple[float, ...]
Floats = NDArray[np.float64]

# Chebyshev points per degree at which a polynomial is evaluated, and their least number.
_POINTS, _LEAST_POINTS = 16, 256
# An interval that may hold the maximum is divided into so many parts, so often.
_PARTS, _ROUNDS, _MOST_POINTS = 8, 6, 1 << 14
# A bound on the error of floating-point evaluation, per degree and sum of |coefficients|.
_ROUNDING = 2.0**-50
# The excess of the interval [-1, 1] by rounding.
_UNIT = 1.0 + 2.0**-9


def value_range(coefficients: Coefficients, chebyshev: bool, x: Bound) -> Bound:
    """The range of a polynomial of x, in powers or in Chebyshev polynomials."""
    own = x.whole()
    if not isfinite(own.largest):
        return Bound.circle(inf if len(coefficients) > 1 else abs(coefficients[0]))
    if not own.is_real:
        return Bound.circle(_on_ellipse(coefficients, chebyshev, own))
    wave = _Wave(coefficients, chebyshev, float(own.low), float(own.high))
    low, high = -wave.largest(-1.0), wave.largest(1.0)
    return Bound.real(low, high) if isfinite(high - low) else Bound.circle(inf, real=True)


def slope_log2(coefficients: Coefficients, chebyshev: bool, x: Bound, error: float) -> float:
    """log2 of the largest factor by which an error of x of up to 2^error grows.

    That is the largest derivative within that distance of x.  On an ellipse around an interval,
    whose axes add up to r times its half length, a polynomial is at most r^d times larger
    (Bernstein).
    """
    if len(coefficients) == 1:
        return -inf
    basis = _chebyshev.chebder if chebyshev else _power.polyder
    derivative = tuple(np.atleast_1d(basis(np.array(coefficients))).tolist())
    own = x.whole()
    most, half = value_range(derivative, chebyshev, own).size, float(own.high - own.low) / 2
    if not x.is_real or len(derivative) == 1 or not isfinite(most):
        return most
    if half <= 0.0:
        wider = 2.0 ** min(error, 512.0)
        return value_range(derivative, chebyshev, Bound.circle(own.largest + wider)).size
    far = 2.0 ** min(error - log2(half), 512.0)
    return most + (len(derivative) - 1) * log2(1 + far + sqrt(far * (2 + far)))


class _Wave:
    """f(a) = p(m + h cos a), a from 0 to pi: a polynomial over an interval, as a sum of waves.

    Of degree d, it bends by no more than d^2 times its radius around any middle (Bernstein); and
    it exceeds what it is at n Chebyshev points by no more than the factor 1 / cos(pi d / 2 n)
    (Ehlich and Zeller 1964).
    """

    def __init__(self, coefficients: Coefficients, chebyshev: bool, low: float, high: float):
        self.given, self.chebyshev, self.low, self.high = coefficients, chebyshev, low, high
        self.degree = len(coefficients) - 1
        self.count = max(_POINTS * self.degree, _LEAST_POINTS)
        self.angles = np.linspace(0, pi, self.count + 1)
        self.values = self.at(self.angles)
        with np.errstate(over="ignore", invalid="ignore"):
            radius = float(self.values.max() - self.values.min()) / 2
        between = 1 / cos(pi * self.degree / (2 * self.count))
        self.bend = self.degree**2 * radius * between

    def at(self, angles: Floats) -> Floats:
        """The values of f."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        points = np.clip(middle + half * np.cos(angles), self.low, self.high)
        return _values(np.array(self.given), self.chebyshev, points)

    @property
    def rounding(self) -> float:
        """The error of floating-point evaluation."""
        sizes, reach = np.abs(np.array(self.given)), max(abs(self.low), abs(self.high), 1.0)
        if self.chebyshev:
            reach = 1.0 if reach <= _UNIT else reach + sqrt(reach * reach - 1)
        most = _values(sizes, False, np.full(1, reach))
        return float(most[0]) * (self.degree + 1) * _ROUNDING

    def largest(self, sign: float) -> float:
        """A bound on sign * f.

        Between two points it rises above both by bend width^2 / 8 at most: where that may be the
        largest, points are put between them.
        """
        if not isfinite(self.bend):
            return inf
        starts, width = self.angles[:-1], pi / self.count
        ends = np.maximum(sign * self.values[:-1], sign * self.values[1:])
        for _ in range(_ROUNDS):
            above = self.bend * width * width / 8
            kept = starts[ends + above >= ends.max()]
            if len(kept) * _PARTS > _MOST_POINTS or above == 0.0:
                break
            width /= _PARTS
            starts = (kept[:, np.newaxis] + width * np.arange(_PARTS)).reshape(-1)
            ends = np.maximum(sign * self.at(starts), sign * self.at(starts + width))
        return float(ends.max()) + self.bend * width * width / 8 + self.rounding


def _values(given: Floats, chebyshev: bool, points: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        found = _chebyshev.chebval(points, given) if chebyshev else _power.polyval(points, given)
    return np.asarray(found, dtype=np.float64)


def _on_ellipse(coefficients: Coefficients, chebyshev: bool, x: Bound) -> float:
    """A bound on |values| for complex arguments of a size."""
    size = x.largest
    if chebyshev:
        # |T_i| is at most r^i inside of the ellipse with axes that add up to r.
        size += sqrt(size * size + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(_power.polyval(size, np.abs(np.array(coefficients))))
    return found if isfinite(found) else inf
