"""The reduction of coefficients modulo q_0, by a sine.

After the raising, a coefficient is t = c + q_0 I, I an integer.  With x = t / (K q_0) in [-1, 1],

    sin(2 pi t / q_0) = cos(2 pi (K x - 1 / 4)),

which is 2 pi c / q_0 up to its cube.  A Chebyshev interpolant of cos(2 pi (K x - 1 / 4) / 2^r) is
followed by r double angles, cos 2 a = 2 cos^2 a - 1 (Han and Ki, ePrint 2019/688; Bossuat, Mouchet,
Troncoso-Pastoriza and Hubaux, ePrint 2020/1203).  Of the pairs of a degree and r with an error, the
one of least depth is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial, log2, pi, prod, sqrt

import numpy as np

from cloakwork.errors import LevelError
from cloakwork.fhe.circuits.polynomial import Polynomial, chebyshev
from cloakwork.fhe.circuits.powers import Accumulator, CkksSums, add_constant, divided, product
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.estimates.bounds import Bound

# The levels of `arcsine`.
ARCSINE_DEPTH = 2
# The chance, as a power of two, that any coefficient leaves the interval of the sine.
FAILURE_LOG2 = -40.0
_DOUBLINGS = range(6)
_DEGREES = range(7, 128)
# Points at which errors are measured, around each integer.
_POINTS = 9


def tail_log2(weight: int, width: float) -> float:
    """log2 of the chance that weight + 1 uniform numbers of [-1/2, 1/2] add up beyond +-width.

    A coefficient over q_0 is such a sum, c_0 + c_1 s of a secret of that weight: by the
    distribution of Irwin and Hall, exactly.
    """
    count = weight + 1
    reach = Fraction(count, 2) - Fraction(width)
    if reach <= 0:
        return -float("inf")
    terms = ((-1) ** k * comb(count, k) * (reach - k) ** count for k in range(int(reach) + 1))
    chance = 2 * sum(terms) / factorial(count)
    return log2(chance.numerator) - log2(chance.denominator)


def width_of(weight: int, coefficients: int) -> int:
    """K: the least integer that coefficients exceed with a chance of 2^-40 all together."""
    allowed = FAILURE_LOG2 - log2(coefficients)
    return next(width for width in range(1, weight + 2) if tail_log2(weight, width) <= allowed)


@dataclass(frozen=True)
class Sine:
    """The interpolant and its double angles.

    width      K
    doublings  r
    error      the largest error of the sine near integers, of the approximation alone
    """

    width: int
    doublings: int
    polynomial: Polynomial
    error: float

    @property
    def depth(self) -> int:
        """Levels that it uses."""
        return self.polynomial.depth + self.doublings

    def __call__(self, x: CkksCiphertext, scale: float) -> CkksCiphertext:
        """The sine of x in [-1, 1], with a scale near the wanted one.

        The scale of the interpolant is chosen such that the last double angle gives the wanted
        scale up to rounding (ePrint 2020/1203).
        """
        if x.level < self.depth:
            raise LevelError("sine", f"{self.depth} levels", x.level, "raise to a higher one")
        first = x.level - self.polynomial.depth
        moduli = x.basis.moduli
        for level in range(first - self.doublings + 1, first + 1):
            scale = sqrt(scale * moduli[level])
        polynomial = self.polynomial
        sums = CkksSums(x, polynomial._schedule, True, precise=True)
        found = sums.result(polynomial._schedule.root, scale)
        for _ in range(self.doublings):
            found = doubled(found)
        return found

    def values(self, x: np.ndarray) -> np.ndarray:
        """The same of plain numbers."""
        found = self.polynomial(x)
        for _ in range(self.doublings):
            found = 2 * found * found - 1
        return np.asarray(found)


def doubled(own: CkksCiphertext) -> CkksCiphertext:
    """2 y^2 - 1, at the scale of the product over the last modulus."""
    square = product(own, own)
    sums = Accumulator(square.scale, square)
    found = add_constant(sums.put_into(square), -1.0)
    return divided(_bounded(found), precise=True)


def arcsine(own: CkksCiphertext) -> CkksCiphertext:
    """The arcsine up to 3 y^5 / 40, y + y^3 / 6, in two levels."""
    square = product(own, own)
    square = square._with(square.data, scale=6 * square.scale)
    factor = divided(add_constant(square, 1.0), precise=True)
    return divided(product(own._cut(factor.level), factor), precise=True)


def before_arcsine(scale: float, moduli: tuple[int, ...]) -> float:
    """The scale of y with which `arcsine` ends at one, by the two moduli that it divides by."""
    return float((scale * prod(moduli) / 6) ** (1 / 3))


def _bounded(own: CkksCiphertext) -> CkksCiphertext:
    """A cosine is within [-1, 1], whatever bounds say."""
    bound = Bound.real(-1.0 - 2.0**-10, 1.0 + 2.0**-10)
    return own._with(own.data, bound=bound)


@lru_cache(maxsize=16)
def sine(width: int, error_log2: float) -> Sine:
    """The one of least depth, and then of fewest key switches, within an error."""
    found: list[tuple[int, int, Sine]] = []
    for doublings in _DOUBLINGS:
        for degree in _DEGREES:
            own = _interpolated(width, doublings, degree)
            if log2(own.error) <= error_log2:
                switches = own.polynomial.key_switches + doublings
                found.append((own.depth, switches, own))
                break
    return min(found, key=lambda each: each[:2])[2]


def _interpolated(width: int, doublings: int, degree: int) -> Sine:
    polynomial = chebyshev(
        lambda x: np.cos(2 * pi * (width * x - 0.25) / 2**doublings), degree, (-1.0, 1.0)
    )
    own = Sine(width, doublings, polynomial, 0.0)
    near = np.linspace(-1 / 256, 1 / 256, _POINTS)
    points = (np.arange(-width, width + 1)[:, np.newaxis] + near).ravel() / width
    points = points[np.abs(points) <= 1.0]
    exact = np.sin(2 * pi * width * points)
    error = float(np.abs(own.values(points) - exact).max())
    return Sine(width, doublings, polynomial, max(error, 2.0**-60))
