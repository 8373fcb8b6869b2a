"""The sign, and what is made of it, by compositions of minimax polynomials.

A minimax polynomial p of the sign on [a, 1] with error e maps it to [1 - e, 1 + e], and
p / (1 + e) to [(1 - e) / (1 + e), 1]: an interval of the same form, nearer to 1.  Of all
compositions of such stages, with degrees that do not fall, the one of least depth, and then of
fewest products, is found by dynamic programming (Lee, Lee, No and Kim, ePrint 2020/834).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isfinite, log2
from typing import Any

import numpy as np

from cloakwork.errors import ParamError
from cloakwork.fhe.approximation.composition import Composition
from cloakwork.fhe.approximation.errors import largest_error, measured_error
from cloakwork.fhe.approximation.known_degrees import KNOWN
from cloakwork.fhe.approximation.minimax import minimax
from cloakwork.fhe.approximation.remez import Problem, solve
from cloakwork.fhe.circuits.polynomial import Polynomial
from cloakwork.fhe.operands import is_number

_DEGREES = (3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
_ALPHA_MAX, _ERROR_MIN = 30.0, 2.0**-40
_DEPTH_MAX = 64
# The lower end of a stage's interval is this much below what the stage before reaches.
_SLACK = 1 - 2.0**-32
# Errors of a stage on [a, 1] with a nearer to 1 are rounding.
_CLOSEST = 1 - 2.0**-44
# ReLU by a composition has its largest error below a = 2^-alpha, at most about a / 8.
_RELU_DEGREES = (
    *(3, 5, 7, 9, 11, 13, 15, 19, 23, 27, 31, 39, 47, 55, 63, 79, 95, 111, 127),
    *(159, 191, 223, 255),
)
_RELU_SHARE, _ALPHA_STEP, _ALPHA_TRIES = 8.0, 0.25, 24


def sign(alpha: float, error: float, bound: float = 1.0) -> Composition:
    """-1 or 1 with an error, for bound * 2^-alpha <= |x| <= bound.

    alpha   bits of x that are told apart from 0: above 0, up to 30
    error   the largest error wanted: 2^-40 to 1/2
    bound   of |x|.  Any but 1 / n for an integer n costs one level more

    Between -bound * 2^-alpha and bound * 2^-alpha the values are from -1 - error to 1 + error.  Of
    compositions of odd minimax polynomials of degrees 3 to 31, the one of least depth, then of
    fewest key switches; `error` of the result is that of its last stage, measured.

    >>> found = sign(alpha=8, error=2**-8)
    >>> found.degrees, found.depth, found.error <= 2**-8
    ((7, 7, 7, 7), 12, True)
    """
    _check("alpha", alpha, 0.0, _ALPHA_MAX)
    _check("error", error, _ERROR_MIN, 0.5)
    _check("bound", bound, 2.0**-100, 2.0**100)
    return _composed(_least_degrees(float(alpha), float(error)), float(alpha), float(bound))


def relu(bound: float, error: float) -> Composition:
    """max(x, 0) with an error, for |x| <= bound: by one polynomial, or as x times a step.

    error   the largest one wanted, at least 2^-24 * bound, below bound / 2

    The cheaper one is taken, by depth and then by key switches; `error` of the result is measured.

    >>> relu(bound=1.0, error=0.01).degrees
    (14,)
    """
    _check("bound", bound, 2.0**-100, 2.0**100)
    _check("error", error, bound * 2.0**-24, bound / 2)
    return cheapest([*one_polynomial(bound, error), *gates(bound, error)])


def cheapest(candidates: list[Composition]) -> Composition:
    """The candidate of least depth, then of fewest key switches."""
    return min(candidates, key=lambda each: (each.depth, each.key_switches))


@dataclass(frozen=True)
class _Stage:
    """An odd minimax polynomial of the sign on [a, 1], as coefficients of T_i, and its error."""

    coefficients: tuple[float, ...]
    error: float

    @property
    def ratio(self) -> float:
        """The lower end of the interval that it gives, divided by the upper one."""
        return min((1 - self.error) / (1 + self.error) * _SLACK, _CLOSEST)


@dataclass(frozen=True)
class _Path:
    """Stages from [a, 1] to [ratio, 1], with what they cost."""

    degrees: tuple[int, ...]
    depth: int
    key_switches: int
    ratio: float

    @property
    def last(self) -> int:
        """The degree of the last stage."""
        return self.degrees[-1] if self.degrees else 0

    def beats(self, other: _Path) -> bool:
        """Whether it reaches as far, at no more cost, and goes on as freely."""
        costs = self.depth <= other.depth and self.key_switches <= other.key_switches
        return costs and self.ratio >= other.ratio and self.last <= other.last


@lru_cache(maxsize=1 << 14)
def _stage(degree: int, ratio: float) -> _Stage:
    indices, interval = tuple(range(1, degree + 1, 2)), ((ratio, 1.0),)
    coefficients = np.zeros(degree + 1)
    problem = Problem(np.ones_like, np.ones_like, interval, indices, np.asarray)
    coefficients[list(indices)] = solve(problem)
    stage = Polynomial(coefficients, "chebyshev")
    error = measured_error(np.ones_like, stage, interval, degree)
    return _Stage(tuple(coefficients.tolist()), error)


@lru_cache(maxsize=1)
def _costs() -> dict[int, tuple[int, int]]:
    """Depth and key switches by degree, without degrees that cost as much as a higher one."""
    found: dict[tuple[int, int], int] = {}
    for degree in _DEGREES:
        dense = np.zeros(degree + 1)
        dense[1::2] = 1.0 / np.arange(1, degree + 1, 2)
        stage = Polynomial(dense, "chebyshev")
        found[stage.depth, stage.key_switches] = degree
    return {degree: cost for cost, degree in found.items()}


@lru_cache(maxsize=256)
def _least_degrees(alpha: float, error: float) -> tuple[int, ...]:
    """The degrees of the stages, by least depth and then fewest key switches."""
    return KNOWN.get((round(alpha, 9), round(error, 12))) or searched(alpha, error)


def searched(alpha: float, error: float) -> tuple[int, ...]:
    """The same without a table: seconds, for many bits and small errors."""
    goal = (1 - error) / (1 + error)
    fronts = {0: [_Path((), 0, 0, 2.0**-alpha)]}
    for depth in range(2, _DEPTH_MAX):
        found = [
            _Path((*path.degrees, degree), depth, path.key_switches + more, stage.ratio)
            for degree, (deep, more) in _costs().items()
            for path in fronts.get(depth - deep, [])
            if path.last <= degree
            for stage in [_stage(degree, path.ratio)]
        ]
        reached = [path for path in found if path.ratio >= goal * _SLACK]
        if reached:
            return min(reached, key=lambda path: (path.key_switches, -path.ratio)).degrees
        fronts[depth] = _front(found, [path for front in fronts.values() for path in front])
    raise ParamError("alpha", (alpha, error), f"a sign of at most {_DEPTH_MAX} levels")


def _front(found: list[_Path], before: list[_Path]) -> list[_Path]:
    """Those that no other beats."""
    kept: list[_Path] = []
    for path in sorted(found, key=lambda path: (path.key_switches, -path.ratio)):
        if not any(other.beats(path) for other in (*before, *kept)):
            kept.append(path)
    return kept


def _composed(degrees: tuple[int, ...], alpha: float, bound: float) -> Composition:
    """The stages, each divided by the largest value that it gives, but for the last."""
    stages, ratio = [], 2.0**-alpha
    for number, degree in enumerate(degrees, 1):
        found = _stage(degree, ratio)
        largest = 1 + found.error if number < len(degrees) else 1.0
        domain = (-bound, bound) if number == 1 else (-1.0, 1.0)
        coefficients = np.array(found.coefficients) / largest
        stages.append(Polynomial(coefficients, "chebyshev", domain))
        start, ratio = ratio, found.ratio
    interval = ((start * stages[-1].domain[1], stages[-1].domain[1]),)
    error = largest_error(np.ones_like, stages[-1], interval, degrees[-1])
    return Composition(stages, error=error)


def one_polynomial(bound: float, error: float) -> list[Composition]:
    """ReLU by one polynomial of the least degree of its depth: one candidate, or none.

    It is x / 2 plus an even polynomial for |x| / 2, whose error is about 0.14 / degree times the
    bound (Bernstein 1914).
    """
    for degree in _RELU_DEGREES:
        if 0.11 * bound / degree > error:
            continue
        even = minimax(lambda x: np.abs(x) / 2, degree - 1, (-bound, bound), parity="even")
        if even.error is not None and even.error <= error:
            coefficients = np.array(even.coefficients)
            coefficients[1] += bound / 2
            found = Polynomial(coefficients, "chebyshev", (-bound, bound), even.error)
            return [Composition([found], error=even.error)]
    return []


def gates(bound: float, error: float) -> list[Composition]:
    """ReLU as x (1 + sign(x)) / 2: one candidate, or none."""
    share = 0.999 * error / bound
    for step in range(_ALPHA_TRIES):
        alpha = max(-log2(_RELU_SHARE * share), 1.0) + step * _ALPHA_STEP
        if alpha > _ALPHA_MAX or 2 * share < _ERROR_MIN:
            break
        degrees = _least_degrees(alpha, min(2 * share, 0.5))
        step_up = _composed(degrees, alpha, bound).scaled(0.5, 0.5)
        found = Composition(step_up.stages, "gate")
        measured = relu_error(found, bound)
        if measured <= error:
            return [Composition(step_up.stages, "gate", measured)]
    return []


def relu_error(found: Composition, bound: float) -> float:
    """The largest error of an approximation of ReLU, also close to 0."""
    edges = bound * np.concatenate([[0.0], 2.0 ** -np.arange(32.0, -1.0, -1.0)])
    right = tuple(pairwise(edges.tolist()))
    left = tuple((-b, -a) for a, b in right[::-1])
    degree = 16 * max(found.degrees)
    return largest_error(lambda x: np.maximum(x, 0.0), found, (*left, *right), degree)


def _check(name: str, value: Any, low: float, high: float) -> None:
    if not (is_number(value) and isfinite(value) and low <= value <= high and value > 0):
        above = "above 0" if low == 0 else f"from {low:.4g}"
        raise ParamError(name, value, f"a number {above} to {high:.4g}")
