"""Best approximation by the exchange algorithm of Remez (1934), on one interval or several.

A combination of n functions T_i is the best approximation of f on a set if the weighted error
takes its largest value at n + 1 points, with alternating signs (Chebyshev).  An exchange solves
for equal errors of alternating signs at n + 1 points, and moves them to the extrema of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev as _chebyshev

from cloakwork.fhe.approximation.intervals import Floats, Function, Interval, evaluated, spread

# Points of the grid for each coefficient, and the least number in an interval.
_GRID_POINTS, _LEAST_GRID = 16, 256
_EXCHANGES = 60
# The largest error exceeds the least of the reference by this fraction at most when it ends.
_CLOSE = 1e-6
# An extremum is looked for between its neighbours: so many points, so often.
_ZOOM_POINTS, _ZOOMS = 9, 7
# Errors below this fraction of the largest value are rounding.
_ROUNDING = 2.0**-49


@dataclass(frozen=True)
class Problem:
    """Minimise the largest |weight(x) (function(x) - sum of c_i T_i(u))| over a set.

    intervals   of x, ascending
    indices     i of the T_i that are used, ascending
    to_unit     x -> u in [-1, 1]
    """

    function: Function
    weight: Function
    intervals: tuple[Interval, ...]
    indices: tuple[int, ...]
    to_unit: Callable[[Floats], Floats]

    def basis(self, points: Floats) -> Floats:
        """[points, functions]: T_i(u)."""
        found = _chebyshev.chebvander(self.to_unit(points), self.indices[-1])
        return np.asarray(found[..., list(self.indices)])

    def combined(self, points: Floats, coefficients: Floats) -> Floats:
        """[points]: the sum of c_i T_i(u)."""
        whole = np.zeros(self.indices[-1] + 1)
        whole[list(self.indices)] = coefficients
        return np.asarray(_chebyshev.chebval(self.to_unit(points), whole))

    def errors(self, points: Floats, coefficients: Floats) -> Floats:
        """Weighted errors at points of any shape."""
        flat = points.reshape(-1)
        plain = evaluated(self.function, flat) - self.combined(flat, coefficients)
        return np.asarray(evaluated(self.weight, flat) * plain).reshape(points.shape)


def solve(problem: Problem) -> Floats:
    """The coefficients of the best approximation, in the order of the problem's indices.

    The best of all exchanges is returned, also where they end without an alternation of equal
    errors because the errors are as small as rounding.
    """
    search = _Search(problem)
    reference = search.first()
    best, least = np.zeros(len(problem.indices)), np.inf
    for _ in range(_EXCHANGES):
        found = search.levelled(reference)
        if found is None:
            break
        coefficients, at_reference = found
        level = float(abs(at_reference[0]))
        points, errors = search.extrema(coefficients, reference, at_reference)
        largest = float(np.abs(errors).max())
        if largest < least:
            best, least = coefficients, largest
        if largest <= level * (1 + _CLOSE) + search.rounding:
            return best
        chosen = _alternating(points, errors, level, len(reference))
        if np.array_equal(chosen, reference):
            break
        reference = chosen
    fitted = search.fitted()
    return best if least <= search.largest(fitted) else fitted


class _Search:
    """The grid of one problem, and the steps of an exchange."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        count = max(_GRID_POINTS * (problem.indices[-1] + 1), _LEAST_GRID)
        self.pieces = spread(problem.intervals, count)
        self.grid = np.concatenate(self.pieces)
        self.values = evaluated(problem.function, self.grid)
        self.weights = evaluated(problem.weight, self.grid)
        self.functions = len(problem.indices)
        self.rounding = _ROUNDING * float(np.abs(self.values * self.weights).max(initial=0.0))

    def fitted(self) -> Floats:
        """A weighted fit by least squares, with the density of Chebyshev points."""
        rows = self.weights[:, np.newaxis] * self.problem.basis(self.grid)
        return np.asarray(np.linalg.lstsq(rows, self.weights * self.values, rcond=None)[0])

    def first(self) -> Floats:
        """A first reference: the extrema of T_n on one interval; on several, see `_independent`."""
        if len(self.problem.intervals) > 1:
            return self._independent()
        start, stop = self.problem.intervals[0]
        steps, indices = np.arange(self.functions, -1, -1), self.problem.indices
        if indices == tuple(range(indices[-1] + 1)):
            wave = (1 + np.cos(np.pi * steps / self.functions)) / 2
            return np.clip(start + (stop - start) * wave, start, stop)
        # Half of the extrema of an odd or an even T_n; those of an even one begin with 0.
        waves = 2 * self.functions + (start == 0.0 and indices[0] == 1)
        half = np.maximum(np.cos(np.pi * steps / waves), 0.0)
        return np.clip(np.sqrt(start**2 + (stop**2 - start**2) * half**2), start, stop)

    def _independent(self) -> Floats:
        """Points at which the T_i, and one more, are as independent as can be.

        Each point is where the part of the functions that is orthogonal to those of the points
        before is largest (approximate Fekete points, Sommariva and Vianello 2009).
        """
        steps = np.diff(self.problem.indices)
        one_more = self.problem.indices[-1] + int(steps.max(initial=1))
        rows = _chebyshev.chebvander(self.problem.to_unit(self.grid), one_more)
        rows = rows[:, [*self.problem.indices, one_more]]
        rest, chosen = np.linalg.qr(rows)[0], []
        for _ in range(self.functions + 1):
            place = int(np.argmax(np.square(rest).sum(axis=1)))
            direction = rest[place] / np.linalg.norm(rest[place])
            rest = rest - np.outer(rest @ direction, direction)
            chosen.append(place)
        return np.asarray(self.grid[np.sort(chosen)])

    def levelled(self, reference: Floats) -> tuple[Floats, Floats] | None:
        """Coefficients with errors of one size and alternating signs at the reference, and these.

        They are as exact arithmetic has them: as computed, a small error may have the wrong sign.
        """
        problem = self.problem
        signs = (-1.0) ** np.arange(len(reference))
        column = signs / evaluated(problem.weight, reference)
        rows = np.concatenate([problem.basis(reference), column[:, np.newaxis]], axis=1)
        try:
            found = np.linalg.solve(rows, evaluated(problem.function, reference))
        except np.linalg.LinAlgError:
            return None
        return found[:-1], signs * found[-1]

    def largest(self, coefficients: Floats) -> float:
        """The largest weighted error."""
        return float(np.abs(self.extrema(coefficients, self.grid[:0], self.grid[:0])[1]).max())

    def extrema(
        self, coefficients: Floats, reference: Floats, at_reference: Floats
    ) -> tuple[Floats, Floats]:
        """The extrema of the error and the reference, ascending, and the errors there.

        A change of signs between neighbouring points of the grid is seen at the reference alone.
        """
        errors = self.weights * (self.values - self.problem.combined(self.grid, coefficients))
        found, start = [], 0
        for piece in self.pieces:
            own = errors[start : start + len(piece)]
            start += len(piece)
            # A maximum where errors are positive, a minimum where they are negative.
            side = np.where(own < 0, -1.0, 1.0)
            padded = np.concatenate([own[:1], own, own[-1:]])
            is_top = (side * (own - padded[:-2]) >= 0) & (side * (own - padded[2:]) >= 0)
            tops = np.flatnonzero(is_top)
            last = len(piece) - 1
            found.append((piece[np.maximum(tops - 1, 0)], piece[np.minimum(tops + 1, last)]))
        low, high = (np.concatenate(edges) for edges in zip(*found, strict=True))
        points, errors = self._zoomed(coefficients, low, high)
        points = np.concatenate([points, reference])
        errors = np.concatenate([errors, at_reference])
        order = np.argsort(points, kind="stable")
        return points[order], errors[order]

    def _zoomed(self, coefficients: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        rows = np.arange(len(low))
        share = np.linspace(0.0, 1.0, _ZOOM_POINTS)
        for _ in range(_ZOOMS):
            points = low[:, np.newaxis] + (high - low)[:, np.newaxis] * share
            points = np.minimum(points, high[:, np.newaxis])
            errors = self.problem.errors(points, coefficients)
            best = np.argmax(np.abs(errors), axis=1)
            low = points[rows, np.maximum(best - 1, 0)]
            high = points[rows, np.minimum(best + 1, _ZOOM_POINTS - 1)]
        return points[rows, best], errors[rows, best]


def _alternating(points: Floats, errors: Floats, level: float, count: int) -> Floats:
    """The points of `count` extrema with alternating signs, none below a level.

    Errors of the present reference have that level and alternate, so there are as many; and with
    none below it the next level is higher.
    """
    kept: list[int] = []
    for place in map(int, np.flatnonzero(np.abs(errors) >= level * (1 - _CLOSE))):
        if kept and np.sign(errors[kept[-1]]) == np.sign(errors[place]):
            if abs(errors[place]) > abs(errors[kept[-1]]):
                kept[-1] = place
        else:
            kept.append(place)
    sizes = np.abs(errors)
    while len(kept) > count:
        _drop(kept, sizes, len(kept) - count)
    return np.asarray(points[kept])


def _drop(kept: list[int], sizes: Floats, excess: int) -> None:
    """Remove the least extremum at an end, or the least one with its lesser neighbour."""
    least = int(np.argmin(sizes[kept]))
    last = len(kept) - 1
    if 0 < least < last and excess > 1:
        first = least - (sizes[kept[least - 1]] <= sizes[kept[least + 1]])
        del kept[first : first + 2]
    else:
        del kept[0 if sizes[kept[0]] <= sizes[kept[last]] else last]
