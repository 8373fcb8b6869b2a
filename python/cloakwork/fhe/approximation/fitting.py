"""Polynomials for a wanted error, of the least depth and degree, with the symmetry of functions."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from cloakwork.errors import ParamError
from cloakwork.fhe.approximation.errors import largest_error
from cloakwork.fhe.approximation.intervals import (
    Domain,
    Floats,
    Function,
    evaluated,
    hull,
    intervals_of,
    spread,
)
from cloakwork.fhe.approximation.minimax import DEGREE_MAX, Parity, minimax
from cloakwork.fhe.circuits.polynomial import Polynomial
from cloakwork.fhe.operands import is_number

# A function is odd but for a constant, or even but for a multiple of x, up to this fraction.
_SYMMETRIC = 2.0**-42
_POINTS = 65


def fit(function: Function, error: float, domain: Domain) -> Polynomial:
    """The minimax polynomial of least depth, and then of least degree, with a wanted error.

    error    the largest absolute error on the domain: above 0
    domain   (a, b), or several such intervals apart, in ascending order

    On a domain symmetric about 0 the polynomial of a function that is odd but for a constant (a
    sigmoid), or even but for a multiple of x (ReLU, GELU, softplus), has zeros for half of its
    coefficients, which cost nothing.  Raises ParamError where no polynomial of degree 255 has this
    error.

    >>> import numpy as np
    >>> found = fit(lambda x: 1 / (1 + np.exp(-x)), 0.01, (-8.0, 8.0))
    >>> found.degree, found.depth, found.coefficients[2]
    (9, 5, 0.0)
    """
    if not (is_number(error) and error > 0 and isfinite(error)):
        raise ParamError("error", error, "a finite number above 0")
    below, above = -1, 0
    found = fitted(function, 0, domain)
    while _error(found) > error:
        if above >= DEGREE_MAX:
            raise ParamError(
                "error",
                error,
                f"at least {_error(found):.3g}, that of degree {above} on {domain}; or a narrower "
                "domain, or a composition of several polynomials",
            )
        below, above = above, 2 * above + 1
        found = fitted(function, above, domain)
    while above - below > 1:
        middle = (below + above) // 2
        tried = fitted(function, middle, domain)
        if _error(tried) <= error:
            above, found = middle, tried
        else:
            below = middle
    return found


def fitted(function: Function, degree: int, domain: Domain) -> Polynomial:
    """The minimax polynomial of a degree, with the symmetry that the function has."""
    intervals = intervals_of(domain)
    parity, simple = _symmetry(function, intervals)
    if parity is None or degree < 1:
        return minimax(function, degree, domain)
    scale = hull(intervals)[1]

    def rest(points: Floats) -> Floats:
        linear = simple if parity == "odd" else simple * points
        return evaluated(function, points) - linear

    own = minimax(rest, degree, domain, parity)
    coefficients = np.zeros(max(own.degree, 1) + 1)
    coefficients[: own.degree + 1] = own.coefficients
    coefficients[0 if parity == "odd" else 1] += simple * (1.0 if parity == "odd" else scale)
    found = Polynomial(coefficients, "chebyshev", own.domain)
    error = largest_error(function, found, intervals, found.degree)
    return Polynomial(coefficients, "chebyshev", own.domain, error)


def _symmetry(function: Function, intervals: Any) -> tuple[Parity | None, float]:
    """Odd with c, for c plus an odd function; even with a, for a x plus an even one."""
    edges = np.array(intervals).reshape(-1)
    if not np.array_equal(edges, -edges[::-1]):
        return None, 0.0
    points = np.concatenate(spread(tuple((max(a, 0.0), b) for a, b in intervals if b > 0), _POINTS))
    points = points[points > 0]
    right, left = evaluated(function, points), evaluated(function, -points)
    even, odd = (right + left) / 2, (right - left) / 2
    constant, slope = float(even[-1]), float(odd[-1] / points[-1])
    if np.abs(even - constant).max() <= _SYMMETRIC * np.abs(odd).max():
        return "odd", constant
    if np.abs(odd - slope * points).max() <= _SYMMETRIC * np.abs(even).max():
        return "even", slope
    return None, 0.0


def _error(found: Polynomial) -> float:
    assert found.error is not None
    return found.error
