"""Bounds of encrypted values: intervals, disks, a mean.

Slots hold complex numbers.  Each lies in a rectangle, its real part from `low` to `high` and its
imaginary one up to `imaginary`, and in a disk, up to `magnitude`; the mean of the squares of all
slots is at most `rms` squared.  Every rule here holds for all values within its operands' bounds:
rectangles show that x * x is not negative, disks limit the growth of complex products, and the
mean distinguishes a few large slots from many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor, inf, isfinite, log2, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import ParamError
from cloakwork.fhe.operands import is_number
from cloakwork.lazy import public

# A user's bound: of |values|, or of real values in an interval.
Stated = float | tuple[float, float]
Floats = NDArray[np.float64]

# Covers the rounding of the floats in which bounds are computed.
_SLACK = 1.0 + 2.0**-40
# An excess of fewer bits over a power of two counts as rounding.
_ROUNDING = 1e-9


@public("cloakwork.fhe")
@dataclass(frozen=True, eq=False)
class Bound:
    """The bounds of the values in slots; see the module.

    low, high, imaginary, magnitude   [], or one per slot or per ciphertext of a batch: arrays that
                                      broadcast with [B, slots]
    rms                               of each ciphertext's slots together, at most
    given                             whether it was stated by a user, not computed
    """

    low: Floats
    high: Floats
    imaginary: Floats
    magnitude: Floats
    rms: float
    given: bool = False

    @classmethod
    def make(
        cls, low: Any, high: Any, imaginary: Any, magnitude: Any = inf, rms: float = inf
    ) -> Self:
        """A bound from numbers or arrays: their intersection, rounded outwards."""
        low, high, imaginary = (np.asarray(part, np.float64) for part in (low, high, imaginary))
        real = imaginary.ndim == 0 and not imaginary
        with np.errstate(over="ignore"):
            corner = np.maximum(-low, high)
            corner = np.maximum(corner, 0.0) if real else np.hypot(_widest(low, high), imaginary)
            size = np.asarray(np.minimum(corner, magnitude) * _SLACK)
        largest = min(float(rms), float(size.max(initial=0.0)))
        if real and np.ndim(magnitude) == 0 and magnitude == inf:
            return cls(low, high, imaginary, size, largest)
        low, high = np.asarray(np.maximum(low, -size)), np.asarray(np.minimum(high, size))
        return cls(low, high, np.asarray(np.minimum(imaginary, size)), size, largest)

    @classmethod
    def real(cls, low: float, high: float) -> Self:
        """Real numbers of an interval."""
        size = max(abs(low), abs(high))
        return cls(*_arrays(low, high, 0.0, size), size)

    @classmethod
    def circle(cls, magnitude: float, *, real: bool = False) -> Self:
        """Complex numbers up to a size, or real ones."""
        imaginary = 0.0 if real else magnitude
        return cls(*_arrays(-magnitude, magnitude, imaginary, magnitude), magnitude)

    @classmethod
    def of(cls, values: ArrayLike, slots: int) -> Self:
        """The bound of known values [n] or [B, n]; the other slots hold 0."""
        given = np.asarray(values, dtype=np.complex128)
        filled = np.zeros((*given.shape[:-1], slots), dtype=np.complex128)
        filled[..., : given.shape[-1]] = given
        sizes, im = np.abs(filled), np.abs(filled.imag)
        largest = float(sizes.max(initial=0.0))
        mean = np.square(sizes / (largest or 1.0)).mean(axis=-1).max(initial=0.0)
        real = np.ascontiguousarray(filled.real)
        imaginary = im if im.any() else np.zeros(())
        return cls(real, real, imaginary, sizes, largest * sqrt(float(mean)) * _SLACK)

    @classmethod
    def stated(cls, given: Stated) -> Self:
        """A user's bound; ParamError for an invalid one."""
        edges: tuple[Any, ...] = given if isinstance(given, tuple) else ()
        if len(edges) == 2 and all(map(is_number, edges)):
            low, high = map(float, edges)
            if low <= high:
                return cls.real(low, high)
        elif is_number(given) and given > 0:
            return cls.circle(float(given))
        raise ParamError("bound", repr(given), "a positive number, or a tuple (low, high)")

    def where(self, held: NDArray[np.bool_]) -> Self:
        """The same bound in some slots [slots], and 0 in the others."""
        if held.all():
            return self
        low, high, imaginary, magnitude = (np.where(held, edge, 0.0) for edge in self._edges())
        rms = min(self.rms, sqrt(float(held.mean())) * self.largest * _SLACK)
        return type(self)(low, high, imaginary, magnitude, rms)

    @property
    def largest(self) -> float:
        """The largest magnitude of all slots."""
        return float(self.magnitude.max(initial=0.0))

    @property
    def size(self) -> float:
        """log2 of the magnitude of all slots."""
        return log2_of(self.largest)

    @property
    def is_real(self) -> bool:
        """Whether no value has an imaginary part."""
        return not self.imaginary.any()

    def whole(self) -> Self:
        """One bound for all slots."""
        return replace(
            self,
            low=np.asarray(self.low.min()),
            high=np.asarray(self.high.max()),
            imaginary=np.asarray(self.imaginary.max()),
            magnitude=np.asarray(self.magnitude.max()),
        )

    def numbers(self) -> list[float]:
        """The common bound as low, high, imaginary, magnitude and rms."""
        return [*map(float, self.whole()._edges()), self.rms]

    def shown(self) -> Self:
        """One public bound for all slots: computed bounds are rounded outwards to powers of two.

        Exact bounds would reveal the weights with which they were computed.
        """
        own = self.whole()
        if self.given:
            return own
        low, high, *sizes = own.numbers()
        bottom = -_power_above(-low) if low < 0 else _power_below(low)
        top = _power_above(high) if high > 0 else -_power_below(-high)
        return self.from_numbers(bottom, top, *map(_power_above, sizes))

    def spread(self, *shape: int) -> Self:
        """The edges over a whole shape, [count, slots] or [count, 1]."""
        low, high, imaginary, magnitude = (np.broadcast_to(e, shape) for e in self._edges())
        return type(self)(low, high, imaginary, magnitude, self.rms)

    @classmethod
    def from_numbers(
        cls, low: float, high: float, imaginary: float, magnitude: float, rms: float
    ) -> Self:
        """The inverse of `numbers`."""
        return cls(*_arrays(low, high, imaginary, magnitude), rms)

    def picked(self, key: int | slice) -> Self:
        """The bound of one ciphertext of a batch, or of some."""
        low, high, imaginary, magnitude = (picked_edge(edge, key) for edge in self._edges())
        return type(self)(low, high, imaginary, magnitude, self.rms)

    def turned(self, step: int, slots: int) -> Self:
        """The bound after a rotation: slot j is the former slot j + step."""
        low, high, imaginary, magnitude = (rolled_edge(e, step, slots) for e in self._edges())
        return type(self)(low, high, imaginary, magnitude, self.rms)

    def holds(self, other: Self, slack: float = 1e-9) -> bool:
        """Whether this bound contains the other, up to rounding."""
        more = slack * self.magnitude
        return bool(
            (self.low - more <= other.low).all()
            and (other.high <= self.high + more).all()
            and (other.imaginary <= self.imaginary + more).all()
            and (other.magnitude <= self.magnitude + more).all()
            and other.rms <= self.rms * (1 + slack)
        )

    def meet(self, other: Self) -> Self | None:
        """The intersection of two bounds; None if it is empty."""
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        if (low > high).any():
            return None
        return self.make(
            low,
            high,
            np.minimum(self.imaginary, other.imaginary),
            np.minimum(self.magnitude, other.magnitude),
            min(self.rms, other.rms),
        )

    def __add__(self, other: Self) -> Self:
        """Sums of values slot by slot."""
        return self.make(
            added(self.low, other.low, -inf),
            added(self.high, other.high, inf),
            self.imaginary + other.imaginary,
            self.magnitude + other.magnitude,
            self.rms + other.rms,
        )

    def __neg__(self) -> Self:
        return replace(self, low=-self.high, high=-self.low)

    def __mul__(self, other: Self) -> Self:
        """Products of values slot by slot."""
        low, high = _products(self, other)
        rms = float(min(multiplied(self.rms, other.largest), multiplied(self.largest, other.rms)))
        if self.is_real and other.is_real:
            return self.make(low, high, 0.0, rms=rms)
        cross = multiplied(self.imaginary, other.imaginary)
        return self.make(
            added(low, -cross, -inf),
            added(high, cross, inf),
            multiplied(self._widest, other.imaginary) + multiplied(self.imaginary, other._widest),
            multiplied(self.magnitude, other.magnitude),
            rms,
        )

    def squared(self) -> Self:
        """Squares of values: those of real numbers are never negative."""
        found = self * self
        least = np.maximum(np.maximum(self.low, -self.high), 0.0)
        low = added(least * least, -multiplied(self.imaginary, self.imaginary), -inf)
        return replace(found, low=np.maximum(found.low, np.minimum(low, found.high)))

    def times(self, number: complex) -> Self:
        """Products with one known number."""
        return self * self.point(number)

    def plus(self, number: complex) -> Self:
        """Sums with one known number."""
        return self + self.point(number)

    @classmethod
    def point(cls, number: complex) -> Self:
        """One number in every slot."""
        value = complex(number)
        return cls.make(value.real, value.real, abs(value.imag), abs(value))

    @property
    def _widest(self) -> Floats:
        return _widest(self.low, self.high)

    def _edges(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.low, self.high, self.imaginary, self.magnitude

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bound):
            return NotImplemented
        pairs = zip(self._edges(), other._edges(), strict=True)
        same = all(np.array_equal(mine, theirs) for mine, theirs in pairs)
        return same and self.rms == other.rms

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __str__(self) -> str:
        own = self.whole()
        if self.is_real:
            return f"[{own.low:.4g}, {own.high:.4g}]"
        return f"complex numbers up to {own.magnitude:.4g}"


def linear(matrix: NDArray[Any], given: Bound, norm: Floats) -> Bound:
    """The bounds of a matrix [m, n] times values: edges [n, k] -> [m, k], k = 1 if all are equal.

    norm   [k]: the root of the sum of squares of the values by which a row is multiplied
    """
    re, im = np.real(matrix), np.imag(matrix)
    if not isfinite(given.largest):
        anything = np.full((len(matrix), 1), inf)
        real = given.is_real and not im.any()
        return Bound.make(-anything, anything, 0.0 * re[:, :1] if real else anything)
    rows = np.sqrt(np.square(np.abs(matrix)).sum(axis=1))
    up, down = np.maximum(re, 0.0), np.minimum(re, 0.0)
    cross = np.abs(im) @ given.imaginary
    return Bound.make(
        up @ given.low + down @ given.high - cross,
        up @ given.high + down @ given.low + cross,
        np.abs(re) @ given.imaginary + np.abs(im) @ given._widest,
        np.minimum(np.abs(matrix) @ given.magnitude, multiplied(rows[:, None], norm)),
    )


def multiplied(a: Any, b: Any) -> Floats:
    """The product; 0 times anything is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(np.multiply(a, b))
        unclear = np.isnan(found.sum())
    return np.where(np.isnan(found), 0.0, found) if unclear else found


def added(a: Any, b: Any, unknown: float) -> Floats:
    """The sum; a given value for infinities of opposite signs."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(np.add(a, b))
        unclear = np.isnan(found.sum())
    return np.where(np.isnan(found), unknown, found) if unclear else found


def _widest(low: Floats, high: Floats) -> Floats:
    """The largest magnitude in a real interval."""
    return np.maximum(np.maximum(-low, high), 0.0)


def _products(a: Bound, b: Bound) -> tuple[Floats, Floats]:
    """The least and the largest product of real parts."""
    first, second = multiplied(a.low, b.low), multiplied(a.high, b.low)
    low, high = np.minimum(first, second), np.maximum(first, second)
    if b.low is b.high:
        return low, high
    first, second = multiplied(a.low, b.high), multiplied(a.high, b.high)
    low = np.minimum(low, np.minimum(first, second))
    return low, np.maximum(high, np.maximum(first, second))


def _power_above(size: float) -> float:
    """The least power of two that is not less, up to rounding; infinity stays."""
    if _is_power(size) or size >= 2.0**1023:
        return size
    return 2.0 ** ceil(log2(size))


def _power_below(size: float) -> float:
    return size if _is_power(size) else 2.0 ** floor(log2(size))


def _is_power(size: float) -> bool:
    """Whether it is a power of two up to rounding, or 0 or infinity."""
    return size in (0.0, inf) or abs(log2(size) - round(log2(size))) < _ROUNDING


def _arrays(*numbers: float) -> tuple[Floats, Floats, Floats, Floats]:
    low, high, imaginary, magnitude = map(np.asarray, map(float, numbers))
    return low, high, imaginary, magnitude


def log2_of(value: float) -> float:
    """log2; -inf of 0 and below, inf of infinity and NaN."""
    if not isfinite(value):
        return inf
    return log2(value) if value > 0 else -inf


def picked_edge(edge: Floats, key: int | slice) -> Floats:
    """An array that broadcasts with [B, slots], for one ciphertext of the batch or some."""
    if edge.ndim < 2:
        return edge
    alike = len(edge) == 1 and isinstance(key, int)
    return np.asarray(edge[0 if alike else key]) if len(edge) > 1 or alike else edge


def rolled_edge(edge: Floats, step: int, slots: int) -> Floats:
    """An array that broadcasts with [B, slots], rotated to the left."""
    return np.roll(edge, -step, axis=-1) if edge.shape[-1:] == (slots,) else edge
