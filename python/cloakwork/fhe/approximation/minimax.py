"""The polynomial of least error for a function."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np

from cloakwork.errors import ParamError
from cloakwork.fhe.approximation.errors import largest_error
from cloakwork.fhe.approximation.intervals import (
    Domain,
    Floats,
    Function,
    Interval,
    evaluated,
    hull,
    intervals_of,
    right_half,
    spread,
)
from cloakwork.fhe.approximation.remez import Problem, solve
from cloakwork.fhe.circuits.polynomial import Polynomial

Parity = Literal["odd", "even"]
Measure = Literal["absolute", "relative"]

DEGREE_MAX = 255
# Values of f(x) and f(-x) that differ by more than this fraction break a parity.
_PARITY = 2.0**-40
_PARITY_POINTS = 65


def minimax(
    function: Function,
    degree: int,
    domain: Domain,
    parity: Parity | None = None,
    measure: Measure = "absolute",
) -> Polynomial:
    """The polynomial whose largest error on a domain is the least of its degree (Remez).

    function   of an array of real numbers, element by element
    degree     0 to 255; for a parity the largest one of that parity that is not above
    domain     (a, b), or several intervals [(a, b), (c, d), ...] apart, in ascending order: between
               them the polynomial may have any value
    parity     "odd" or "even" of a function that is, on a domain symmetric about 0: half of the
               coefficients are zeros, and cost nothing
    measure    "relative" minimises the error divided by the function's value, which has no zeros

    The result is in Chebyshev's basis over the least interval that holds the domain; its `error`
    is the largest absolute error on the domain, measured.  Double precision limits errors to about
    2^-48 of the largest value.

    Raises ParamError for other domains, degrees and parities, and for functions with values that
    are not finite on the domain.

    >>> import numpy as np
    >>> cubic = minimax(np.sin, 3, (-1.0, 1.0), parity="odd")
    >>> [round(value, 5) for value in cubic.coefficients], round(cubic.error, 5)
    ([0.0, 0.8801, 0.0, -0.03913], 0.0005)
    """
    intervals, indices = intervals_of(domain), _indices(degree, parity)
    if measure not in ("absolute", "relative"):
        raise ParamError("measure", measure, '"absolute" or "relative"')
    whole = intervals
    if parity is not None:
        intervals = right_half(intervals)
        _check_parity(function, parity, intervals)
    start, stop = hull(whole)

    def to_unit(points: Floats) -> Floats:
        return np.asarray((2 * points - (start + stop)) / (stop - start))

    problem = Problem(function, _weight(function, measure, intervals), intervals, indices, to_unit)
    coefficients = np.zeros(indices[-1] + 1)
    coefficients[list(indices)] = solve(problem)
    found = Polynomial(coefficients, "chebyshev", (start, stop))
    error = largest_error(function, found, intervals, found.degree)
    return Polynomial(coefficients, "chebyshev", (start, stop), error=error)


def _indices(degree: Any, parity: Any) -> tuple[int, ...]:
    """The i of the T_i that a polynomial of a parity has."""
    first = {None: 0, "odd": 1, "even": 0}
    if parity not in first:
        raise ParamError("parity", parity, '"odd", "even" or None')
    is_integer = isinstance(degree, Integral) and not isinstance(degree, bool)
    if not is_integer or not first[parity] <= degree <= DEGREE_MAX:
        raise ParamError("degree", degree, f"an integer from {first[parity]} to {DEGREE_MAX}")
    return tuple(range(first[parity], int(degree) + 1, 1 if parity is None else 2))


def _check_parity(function: Function, parity: Parity, intervals: tuple[Interval, ...]) -> None:
    points = np.concatenate(spread(intervals, _PARITY_POINTS))
    points = points[points > 0]
    right, left = evaluated(function, points), evaluated(function, -points)
    off = np.abs(left + right if parity == "odd" else left - right)
    worst = int(np.argmax(off))
    if off[worst] > _PARITY * np.abs(right).max():
        x, mirrored = float(points[worst]), float(left[worst])
        raise ParamError(
            "parity",
            f"f({x:.6g}) = {float(right[worst]):.6g} and f({-x:.6g}) = {mirrored:.6g}",
            f"an {parity} function, or parity=None",
        )


def _weight(function: Function, measure: Measure, intervals: tuple[Interval, ...]) -> Function:
    if measure == "absolute":
        return np.ones_like
    values = evaluated(function, np.concatenate(spread(intervals, _PARITY_POINTS)))
    if not (values.min() > 0 or values.max() < 0):
        raise ParamError(
            "measure",
            "a function with zeros",
            '"absolute": relative errors need values of one sign',
        )
    return lambda points: 1 / np.abs(evaluated(function, points))
