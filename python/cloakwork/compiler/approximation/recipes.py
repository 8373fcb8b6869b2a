"""Ways to compute a function by polynomials, from cheap to exact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.functions import FUNCTIONS
from cloakwork.errors import ParamError
from cloakwork.fhe.approximation.comparison import gates, sign
from cloakwork.fhe.approximation.composition import Composition
from cloakwork.fhe.approximation.errors import largest_error
from cloakwork.fhe.approximation.fitting import fitted
from cloakwork.fhe.circuits.polynomial import Polynomial

__all__ = ["JUMPS", "Recipe", "Wanted", "ladder", "precise"]

Floats = NDArray[np.float64]
_UNIT = (-1.0, 1.0)
_DEGREES = (1, 2, 3, 5, 7, 9, 11, 13, 15, 19, 23, 27, 31, 39, 47, 55, 63, 79, 95, 111, 127)
_HIGH_DEGREES = (159, 191, 223, 255)
# Higher degrees are tried where the error is still this share of the largest value.
_ROUGH, _EXACT = 1e-3, 1e-8
_GATE_ERRORS = (1e-3, 3e-4, 1e-4, 3e-5)
_SIGN_ERRORS = (0.1, 0.02, 0.002)
# Steps are tried that tell apart up to so many bits less than the sample needs.
_FEWER_BITS, _BITS, _BITS_MAX = 7, 10, 13
_EXTENSIONS, _EXTENDED_DEGREES = range(1, 9), (5, 7, 11, 15, 23, 31, 47)
# The half length of a domain from which on extensions are tried.
_WIDE = 16.0
# Functions with a jump at 0: (w, c) of w sign(x) + c.
JUMPS = {"sign": (1.0, 0.0), "step": (0.5, 0.5)}
# f(x) = a x + b |x|.
_PIECEWISE = {"abs": (0.0, 1.0), "relu": (0.5, 0.5)}
# Functions that are constant but near 0; and functions that are x times such a one.
_SATURATING = ("erf", "sigmoid", "tanh")
_GATED: dict[str, Callable[[Floats], Floats]] = {
    "gelu": lambda x: 0.5 + 0.5 * FUNCTIONS["erf"].define(x / np.sqrt(2.0)),
    "gelu_tanh": lambda x: 0.5 + 0.5 * np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)),
    "silu": FUNCTIONS["sigmoid"].define,
}


@dataclass(frozen=True)
class Wanted:
    """A function on a domain.

    parameters   pairs of name and value
    bits         of a jump at 0: values of |x| / half length down to 2^-bits are told apart
    """

    kind: str
    parameters: tuple[tuple[str, float], ...]
    low: float
    high: float
    bits: int = 0

    @property
    def middle(self) -> float:
        """The middle of the domain."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        """Half the length of the domain."""
        return (self.high - self.low) / 2

    @property
    def jumps(self) -> bool:
        """Whether it has a jump at 0 within the domain."""
        return self.kind in JUMPS and self.low < 0 < self.high

    def values(self, x: Floats) -> Floats:
        """The function of x, by its definition."""
        return np.asarray(FUNCTIONS[self.kind].define(x, **dict(self.parameters)))

    def of_unit(self, u: Floats) -> Floats:
        """The function of u = (x - middle) / half."""
        return self.values(self.middle + self.half * u)


@dataclass(frozen=True)
class Recipe:
    """A composition of u = (x - middle) / half, which has the domain (-1, 1).

    method   "polynomial", "step" (x times a step), "sign", or "extension" of a domain
    error    the largest on the domain, measured; of signs and steps outside of |x| < gap
    """

    wanted: Wanted
    composition: Composition
    method: str
    error: float
    gap: float = 0.0

    def __call__(self, x: Floats) -> Floats:
        """The values, in float64."""
        return self.composition((x - self.wanted.middle) / self.wanted.half)

    def cost(self, level_cost: float) -> float:
        """Levels and key switches, in key switches."""
        return level_cost * self.composition.depth + self.composition.key_switches


@lru_cache(maxsize=512)
def ladder(wanted: Wanted) -> tuple[Recipe, ...]:
    """Recipes of different cost and error, at least one; ParamError if none can be made."""
    if wanted.jumps:
        most = min(max(wanted.bits, 1), _BITS)
        return tuple(_signs(wanted, range(max(most - _FEWER_BITS, 1), most + 1)))
    found = [*_polynomials(wanted)]
    if not found:
        allowed = "a narrower domain: its values are not finite, or too large for binary64"
        raise ParamError("domain", f"[{wanted.low:.6g}, {wanted.high:.6g}]", allowed)
    if found[-1].error > _EXACT * _scale(wanted):
        found += _extensions(wanted)
    return tuple(found)


@lru_cache(maxsize=512)
def precise(wanted: Wanted) -> tuple[Recipe, ...]:
    """Further recipes, more exact and dearer than those of `ladder`; perhaps none."""
    if wanted.jumps:
        return tuple(_signs(wanted, range(_BITS + 1, min(wanted.bits, _BITS_MAX) + 1)))
    return tuple(_gates(wanted))


def _scale(wanted: Wanted) -> float:
    return float(np.abs(wanted.of_unit(np.linspace(-1, 1, 257))).max())


def _polynomials(wanted: Wanted) -> Iterator[Recipe]:
    scale, error = _scale(wanted), inf
    for degree in (*_DEGREES, *_HIGH_DEGREES):
        if error <= _EXACT * scale or (degree > _DEGREES[-1] and error <= _ROUGH * scale):
            break
        found = fitted(wanted.of_unit, degree, _UNIT)
        assert found.error is not None
        if found.error < error:
            error = found.error
            yield Recipe(wanted, Composition([found], error=error), "polynomial", error)


def _signs(wanted: Wanted, range_of_bits: Iterable[int]) -> Iterator[Recipe]:
    """On a symmetric domain."""
    weight, shift = JUMPS[wanted.kind]
    for bits in range_of_bits:
        for error in _SIGN_ERRORS:
            found = sign(float(bits), error).scaled(weight, shift)
            assert found.error is not None
            gap = wanted.half * 2.0**-bits
            yield Recipe(wanted, found, "sign", found.error, gap)


def _gates(wanted: Wanted) -> Iterator[Recipe]:
    """A x + b |x| on a symmetric domain."""
    slope = dict(wanted.parameters).get("slope", 0.0)
    pair = _PIECEWISE.get(wanted.kind)
    if wanted.kind == "leaky_relu":
        pair = ((1 + slope) / 2, (1 - slope) / 2)
    if pair is None or wanted.middle != 0.0 or pair[1] == 0.0:
        return
    a, b = pair
    for error in _GATE_ERRORS:
        for relu in gates(1.0, error):
            # |u| is 2 relu(u) - u.
            made = relu.scaled(2 * b * wanted.half, (a - b) * wanted.half)
            assert made.error is not None
            yield Recipe(wanted, made, "step", made.error)


def _extensions(wanted: Wanted) -> Iterator[Recipe]:
    """Functions of wide domains, folded into narrow ones (Cheon, Kim and Park, ePrint 2022/280).

    The cubic 2 u - 32/27 u^3 has its values in [-1, 1]; up to u = 3/4 it rises, and beyond it stays
    above 0.81, where the function is as constant as it is there.
    """
    gate = _GATED.get(wanted.kind)
    inner = wanted.values if wanted.kind in _SATURATING else gate
    if inner is None or wanted.middle != 0.0 or wanted.half < _WIDE:
        return
    cubic = Polynomial([0.0, 10 / 9, 0.0, -8 / 27], "chebyshev")
    for count in _EXTENSIONS:
        for degree in _EXTENDED_DEGREES:
            base = fitted(_unfolded(inner, wanted.half, count), degree, _UNIT)
            made = Composition([cubic] * count + [base])
            if gate is not None:
                made = Composition(made.scaled(wanted.half).stages, "gate")
            degree = 4 * sum(made.degrees)
            error = largest_error(wanted.of_unit, made, (_UNIT,), degree)
            yield Recipe(wanted, made, "extension", error)


def _unfolded(
    function: Callable[[Floats], Floats], half: float, count: int
) -> Callable[[Floats], Floats]:
    """The function of the x that `count` cubics bring to v, on their rising part."""

    def found(v: Floats) -> Floats:
        for _ in range(count):
            v = 1.5 * np.sin(np.arcsin(np.clip(v, -1.0, 1.0)) / 3)
        return function(half * v)

    return found
