"""The inputs and results of a compiled model: how arrays become slots, and slots arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.layouts import Layout, laid_by
from cloakwork.errors import ModelError
from cloakwork.strict import Member

Floats = NDArray[np.float64]

_MOST_ELEMENTS = 1 << 28
MOST_SLOTS = 1 << 17
# Of all ciphertexts of a value: a small file must not cause large tables.
_MOST_LAID = 1 << 24
_MOST_EXPONENT = 200


@dataclass(frozen=True, eq=False)
class Port:
    """An input or a result.

    shape       without the batch axis
    low, high   of each element float64 [size], or [1] for all: inputs beyond are refused, and so
                are results, which the program cannot have computed
    layout      of the elements in slots; None: a ciphertext for each, with a sample in each slot
    error       of a result: what encrypted and plain values differ by, at most, on trial inputs
    units       what elements of an input are divided by before they are encrypted, and those of a
                result multiplied by after they are decrypted, float64 [size], or [1] for all, so
                that all have about one size: powers of two
    """

    name: str
    shape: tuple[int, ...]
    low: Floats
    high: Floats
    layout: Layout | None
    error: float = 0.0
    units: Floats = field(default_factory=lambda: np.ones(1))

    def __post_init__(self) -> None:
        for name in ("low", "high", "units"):
            given = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64)).ravel()
            object.__setattr__(self, name, given[:1] if (given == given[0]).all() else given)

    @property
    def size(self) -> int:
        """Elements of a sample."""
        return prod(self.shape)

    def capacity(self, slots: int) -> int:
        """The samples that one run takes, at most."""
        return slots if self.layout is None else 1

    def checked(self, given: ArrayLike, slots: int, *, clip: bool = False) -> Floats:
        """Samples [batch, size]; ModelError for another shape, too many, NaN, or beyond bounds.

        clip   bring values beyond the bounds to these
        """
        place, room = f"input {self.name!r}", self.capacity(slots)
        many = f"1 to {room} samples" if room > 1 else "one sample"
        expected = f"{place}: expected {many} of shape {list(self.shape)}"
        try:
            values = np.asarray(given)
        except ValueError as error:
            raise ModelError(f"{expected}, got values that make no array: {error}") from error
        if values.dtype.kind not in "fiub":
            raise ModelError(f"{expected}, got values of dtype {values.dtype}")
        if values.shape == self.shape:
            values = values[np.newaxis]
        if values.shape[1:] != self.shape or not 1 <= len(values) <= room:
            hint = "" if room > 1 else '; optimize="throughput" takes many'
            raise ModelError(
                f"{expected}, or a batch of them, got shape {list(values.shape)}{hint}"
            )
        samples = values.astype(np.float64).reshape(len(values), self.size)
        if not np.isfinite(samples).all():
            raise ModelError(f"{expected}, got NaN or infinity")
        if clip:
            return np.clip(samples, self.low, self.high)
        outside = np.argwhere((samples < self.low) | (samples > self.high))
        if len(outside):
            row, element = map(int, outside[0])
            low, high = self.range_of(element)
            index = ", ".join(map(str, np.unravel_index(element, self.shape)))
            raise ModelError(
                f"{place}: element [{index}] of sample {row} is outside of {low:.6g} to "
                f"{high:.6g}, the range for which the model was compiled: compile with wider "
                "bounds, a wider sample or a larger margin, or clip the values to the range"
            )
        return samples

    def range_of(self, element: int) -> tuple[float, float]:
        """The least and largest value of an element."""
        low, high = (edge[element if edge.size > 1 else 0] for edge in (self.low, self.high))
        return float(low), float(high)

    def scaled(self, values: ArrayLike) -> ArrayLike:
        """Samples [batch, *shape] in the units of what is encrypted; other values unchanged."""
        array = np.asarray(values)
        if array.shape[1:] != self.shape or array.dtype.kind not in "fiub" or len(self.units) == 1:
            return values
        return array / self.units.reshape(self.shape)

    @property
    def bound(self) -> tuple[float, float]:
        """The least and largest value of any slot: 0 where there is no element."""
        low, high = self.low / self.units, self.high / self.units
        return min(float(low.min()), 0.0), max(float(high.max()), 0.0)

    def slots_of(self, samples: Floats, slots: int) -> tuple[Floats, bool]:
        """Samples [batch, size] -> slots [n] or [ciphertexts, n], and whether these are a batch.

        Samples are divided by their units, and repeated in slots that are left, so that all slots
        hold values within bounds.
        """
        scaled = samples / self.units
        if self.layout is None:
            return np.ascontiguousarray(scaled[np.arange(slots) % len(scaled)].T), True
        placed = self.layout.place(scaled[0])
        return (placed[0], False) if self.layout.count == 1 else (placed, True)

    def values_of(self, slots: Floats, batch: int) -> Floats:
        """Decrypted slots -> [batch, *shape], in the units of what is encrypted."""
        if self.layout is None:
            found = slots[:, :batch].T
        else:
            found = self.layout.read(np.atleast_2d(slots))[np.newaxis]
        return np.ascontiguousarray(found).reshape(-1, *self.shape)

    def results_of(self, slots: Floats, batch: int) -> Floats:
        """Decrypted slots -> [batch, *shape]."""
        found = self.values_of(slots, batch)
        return found * (self.units[0] if len(self.units) == 1 else self.units.reshape(self.shape))

    def spread(self, slots: Floats) -> tuple[Floats, Floats]:
        """The least and largest value of each element [size] over all slots that hold it."""
        if self.layout is None:
            return slots.min(axis=1), slots.max(axis=1)
        values = np.atleast_2d(slots)
        held = self.layout.repeated(values.shape[1])
        low, high = np.full(self.size, np.inf), np.full(self.size, -np.inf)
        np.minimum.at(low, held[held >= 0], values[held >= 0])
        np.maximum.at(high, held[held >= 0], values[held >= 0])
        return low, high

    def to_json(self) -> dict[str, Any]:
        """As JSON's types; the inverse of `read`."""
        return {
            "shape": list(self.shape),
            "low": _shortest(self.low),
            "high": _shortest(self.high),
            "layout": None if self.layout is None else self.layout.to_json(),
            "error": self.error,
            "units": _shortest(self.units),
        }

    @classmethod
    def read(cls, name: str, note: Member) -> Port:
        """From a file; LoadError names the place."""
        # Files of version 1 have no units.
        more = ["units"] if "units" in note.named() else []
        shape, low, high, layout, error, *units = note.members(
            "shape", "low", "high", "layout", "error", *more
        )
        lengths = tuple(part.size(_MOST_ELEMENTS) for part in shape.parts())
        if not 0 < prod(lengths) < _MOST_ELEMENTS:
            raise shape.wrong("lengths of 1 or more")
        least, most = (_edges(part, prod(lengths)) for part in (low, high))
        deviation = float(error.of(float))
        if not ((least <= most).all() and isfinite(deviation) and deviation >= 0):
            raise low.wrong("low <= high, and a finite error of 0 or more")
        laid = None if layout.value is None else _layout(layout, prod(lengths))
        divided = _edges(units[0], prod(lengths)) if units else np.ones(1)
        parts, exponents = np.frexp(divided)
        if (parts != 0.5).any() or (np.abs(exponents) > _MOST_EXPONENT).any():
            raise units[0].wrong(f"powers of two up to 2^{_MOST_EXPONENT}")
        return cls(name, lengths, least, most, laid, deviation, divided)


def _shortest(edge: Floats) -> float | list[float]:
    return float(edge[0]) if edge.size == 1 else [float(value) for value in edge]


def _edges(note: Member, size: int) -> Floats:
    """A number for all elements, or one for each; LoadError for others."""
    parts = note.parts() if isinstance(note.value, list) else [note]
    found = np.array([float(part.of(float)) for part in parts])
    if len(found) not in (1, size) or not np.isfinite(found).all():
        raise note.wrong(f"a finite number, or {size} of them")
    return found


def _layout(note: Member, size: int) -> Layout:
    names = ("slots", "ciphertexts", "period", "size", "runs")
    slots, count, period, held, runs = note.members(*names)
    numbers = [part.size(_MOST_ELEMENTS) for part in (slots, count, period, held)]
    if numbers[3] != size or not 0 < numbers[1] * numbers[2] <= _MOST_LAID:
        raise held.wrong(f"a layout of {size} elements")
    if not 0 < numbers[0] <= MOST_SLOTS or not 0 < numbers[2] <= numbers[0]:
        raise slots.wrong("slots, and a period of them")
    triples = [[number.size(_MOST_ELEMENTS) for number in run.parts()] for run in runs.parts()]
    if any(len(triple) != 3 for triple in triples):
        raise runs.wrong("runs of three numbers")
    try:
        return laid_by(note.place, numbers[0], (numbers[1], numbers[2]), size, triples)
    except ModelError as error:
        raise note.wrong(str(error)) from error
