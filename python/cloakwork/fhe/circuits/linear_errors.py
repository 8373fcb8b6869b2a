"""How diagonals change the bounds and the errors of the slots that they multiply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import log2, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.ckks.estimates import rounding_of
from cloakwork.fhe.ckks.slot_errors import Norms, SlotError, shortened
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.bounds import Bound, added, log2_of, multiplied
from cloakwork.fhe.parameters import Parameters

Floats = NDArray[np.float64]
# Diagonals [p] by offset, by (output, input); each repeats in all slots.
Blocks = Mapping[tuple[int, int], Mapping[int, NDArray[Any]]]

# Radii as near as this are one.
_ALIKE = 1 - 2.0**-30


def repeated(values: NDArray[Any], slots: int) -> NDArray[Any]:
    """[p] -> [slots]."""
    return np.tile(values, slots // len(values))


def _is_circle(given: Bound) -> bool:
    """Whether all slots have complex numbers up to one radius, up to roundings of it."""
    size = given.magnitude
    alike = float(size.max()) * _ALIKE <= float(size.min())
    edges = (-given.low, given.high, given.imaginary)
    return alike and all(float(edge.min()) >= float(size.max()) * _ALIKE for edge in edges)


class MapNorms:
    """Norms of a map of slots that is given by diagonals, computed without its matrix.

    sums, squares   [outputs, slots]: of each row's |entries|, and of their squares
    most, fourth    [outputs, slots]: the largest square of a row, the sum of fourth powers
    """

    def __init__(self, blocks: Blocks, shape: tuple[int, int], slots: int) -> None:
        outputs, inputs = shape
        self._blocks, self._shape, self._slots = blocks, shape, slots
        self.sums, self.squares, self.most, fourth = np.zeros((4, outputs, slots))
        columns = np.zeros((inputs, slots))
        for (output, given), own in blocks.items():
            for offset, values in own.items():
                size = np.abs(repeated(values, slots))
                square = np.square(size)
                self.sums[output] += size
                self.squares[output] += square
                fourth[output] += np.square(square)
                np.maximum(self.most[output], square, out=self.most[output])
                columns[given] += np.roll(size, offset)
        self.fourth = fourth
        spectral = sqrt(float(self.sums.max()) * float(columns.max()))
        self.norms = Norms(
            sums=log2_of(float(self.sums.max())),
            rows=log2_of(sqrt(float(self.squares.max()))),
            fresh=log2_of(shortened(self.squares, self.fourth, self.most)),
            spectral=log2_of(min(spectral, sqrt(float(self.squares.sum())))),
        )

    def of_shares(self, share: Floats) -> Norms:
        """The norms where errors have shares that broadcast with [inputs, slots]."""
        if share.min() >= 1.0:
            return self.norms
        spread = np.broadcast_to(share, (self._shape[1], self._slots))
        sums, squares = np.zeros((2, self._shape[0], self._slots))
        for (output, given), own in self._blocks.items():
            for offset, values in own.items():
                size = np.abs(repeated(values, self._slots))
                weighted = size * np.roll(spread[given], -offset)
                sums[output] += weighted
                squares[output] += np.square(weighted)
        return replace(
            self.norms,
            sums=log2_of(float(sums.max())),
            rows=log2_of(sqrt(float(squares.max()))),
            spectral=min(self.norms.spectral, log2_of(sqrt(float(squares.sum())))),
        )

    def bound(self, given: Bound) -> Bound:
        """The bounds [outputs, slots] of the results, for inputs [inputs, slots] within theirs."""
        whole = given.spread(self._shape[1], self._slots)
        if _is_circle(whole):
            return self._in_circles(float(whole.magnitude.max()), given)
        low, high, imaginary, size = np.zeros((4, *self.sums.shape))
        for (output, own_input), own in self._blocks.items():
            edges = [
                e[own_input] for e in (whole.low, whole.high, whole.imaginary, whole.magnitude)
            ]
            for offset, short in own.items():
                values = repeated(short, self._slots)
                least, most, im, reach = (np.roll(edge, -offset) for edge in edges)
                real, cross = np.real(values), multiplied(np.abs(np.imag(values)), im)
                a, b = multiplied(real, least), multiplied(real, most)
                low[output] = added(low[output], np.minimum(a, b) - cross, -np.inf)
                high[output] = added(high[output], np.maximum(a, b) + cross, np.inf)
                widest = np.maximum(np.maximum(-least, most), 0.0)
                imaginary[output] += multiplied(np.abs(real), im)
                imaginary[output] += multiplied(np.abs(np.imag(values)), widest)
                size[output] += multiplied(np.abs(values), reach)
        return self._made((low, high, imaginary), size, given)

    def _in_circles(self, radius: float, given: Bound) -> Bound:
        """The same for complex numbers up to a radius in all slots, without a look at offsets."""
        size = multiplied(self.sums, radius)
        return self._made((-size, size, size), size, given)

    def _made(self, edges: tuple[Floats, Floats, Floats], size: Floats, given: Bound) -> Bound:
        # Schwarz's inequality for a row of one ciphertext, and the mean over all slots.
        norm = given.rms * sqrt(self._slots * self._shape[1])
        size = np.minimum(size, multiplied(np.sqrt(self.squares), norm))
        mean = 2.0**self.norms.spectral * given.rms * sqrt(self._shape[1])
        found = np.sqrt(np.square(size).mean(axis=-1).max()) if np.isfinite(size).all() else np.inf
        return Bound.make(*edges, size, min(float(found), mean))


class Effect(NamedTuple):
    """How a map changes errors.

    norms       of its rows
    given       the same where the errors of inputs have shares
    rounding    of its encoded diagonals
    giants      giant steps
    diagonals   products with plaintexts
    joins       whether a result takes several ciphertexts of a batch
    """

    norms: Norms
    given: Norms
    rounding: SlotError
    giants: int
    diagonals: int
    joins: bool = False


def product_error(own: CkksCiphertext, effect: Effect, scale: float) -> SlotError:
    """The error of a map's results at the scale of the product; `scale` is of the diagonals."""
    norms = effect.norms
    switch = noise.key_switch(own.context.parameters, own.level)
    last = switch + log2(max(effect.giants, 1)) / 2
    # Every diagonal is rounded independently, and multiplies a different slot.
    whole = own.bound.rms * sqrt(own.context.slots)
    met = min(own.size + log2(max(effect.diagonals, 1)) / 2, log2_of(whole))
    rounded = effect.rounding.scaled(met + log2(own.scale))
    floats = own.size + log2(own.scale) + norms.sums + log2(scale) + noise.FLOAT_LOG2
    # Errors of key switching are rotated and weighted as the input's are.
    fresh = own._fresh(switch)
    switched = replace(norms.grown(fresh), slot=switch + norms.fresh)
    grows = effect.given.grown_over_batch if effect.joins else effect.given.grown
    weighted = grows(own.error).plus_independent(switched).scaled(log2(scale))
    error = weighted.plus_independent(own._shared(rounded), own._fresh(last))
    return error.plus(own._constant(floats))


def rounding_of_diagonals(
    rows: Iterable[NDArray[Any]], scale: float, parameters: Parameters
) -> SlotError:
    """The error of coefficients of a diagonal, by chance or as regular as those of few values."""
    chance = noise.encoding(parameters)
    found = [(chance, chance), *(rounding_of(row, scale, parameters) for row in rows)]
    slot, joint = (max(parts) for parts in zip(*found, strict=True))
    return SlotError.even(slot, joint)
