"""Matrices as sums of rotations: their nonzero diagonals, in baby and giant steps.

A matrix M times a vector x in slots is the sum over offsets k of diag_k * rotate(x, k), with
diag_k[i] = M[i, i + k] (Halevi and Shoup, ePrint 2014/106).  With k = g n + b it is

    sum over g of rotate(sum over b of rotate(diag_k, -g n) * rotate(x, b), g n),

which takes about 2 sqrt(diagonals) rotations instead of one per diagonal: baby steps b and giant
steps g n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.estimates.bounds import Bound, linear

Layout = Literal["blocks", "tiled"]
Values = NDArray[Any]

# The cost of a giant step in baby steps, which share digits and skip the division.
_GIANT_COST = 4.0
# Kinds of gaps between chained giant steps that have keys.
_GAPS_MOST = 4


@dataclass(frozen=True)
class Diagonals:
    """The nonzero diagonals of a matrix by offset, and the layout of vectors in slots.

    row      slots that rotate together
    period   a power of two that holds rows and columns: the slots of a vector
    layout   "blocks": a vector every `period` slots.  "tiled": one vector, repeated every
             `period` slots; offsets then wrap around it, so that there are half as many
    """

    matrix: Values
    row: int
    period: int
    layout: Layout

    def offsets(self) -> list[int]:
        """The offsets with nonzero entries M[i, i + offset]."""
        rows, columns = np.nonzero(self.matrix)
        found = columns - rows
        if self.layout == "tiled" or self.period == self.row:
            found = (found + self.period // 2) % self.period - self.period // 2
        return [int(offset) for offset in np.unique(found)]

    def slots(self, offset: int) -> Values:
        """[row]: the diagonal in every block."""
        height, width = self.matrix.shape
        rows = np.arange(min(height, self.period))
        columns = rows + offset
        if self.layout == "tiled" or self.period == self.row:
            columns %= self.period
        inside = (columns >= 0) & (columns < width)
        block = np.zeros(self.period, dtype=self.matrix.dtype)
        block[rows[inside]] = self.matrix[rows[inside], columns[inside]]
        return np.tile(block, self.row // self.period)


@dataclass(frozen=True)
class Steps:
    """Baby and giant steps of some offsets.

    babies   distinct b, ascending
    giants   by g n, ascending, the places of its babies, and their offsets
    """

    babies: tuple[int, ...]
    giants: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]

    @property
    def rotations(self) -> list[int]:
        """Steps that need a key."""
        return sorted({*self.babies, *(giant for giant, _ in self.giants)} - {0})

    @property
    def cost(self) -> float:
        """Of its rotations, in baby steps."""
        giants = sum(giant != 0 for giant, _ in self.giants)
        return sum(baby != 0 for baby in self.babies) + _GIANT_COST * giants


def steps_of(offsets: Iterable[int], count: int) -> Steps:
    """Offsets divided into giant steps of `count` baby steps each."""
    by_giant: dict[int, list[int]] = {}
    for offset in sorted(offsets):
        by_giant.setdefault(offset // count * count, []).append(offset)
    babies = sorted({offset - giant for giant, own in by_giant.items() for offset in own})
    place = {baby: number for number, baby in enumerate(babies)}
    giants = tuple(
        (giant, tuple((place[offset - giant], offset) for offset in own))
        for giant, own in sorted(by_giant.items())
    )
    return Steps(tuple(babies), giants)


def best_steps(offsets: list[int], row: int, baby_steps: int | None) -> Steps:
    """The cheapest division over all powers of two, or that into `baby_steps`."""
    if baby_steps is not None:
        return steps_of(offsets, checked_baby_steps(baby_steps, row))
    widths = [1 << log for log in range(row.bit_length())]
    return min((steps_of(offsets, width) for width in widths), key=lambda steps: steps.cost)


class Term(NamedTuple):
    """A diagonal of a map: the place of its rotated input, and its own."""

    place: int
    input: int
    offset: int


class Sum(NamedTuple):
    """The terms of an output in one giant step."""

    output: int
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class MapSteps:
    """Baby and giant steps of a map from several ciphertexts to several.

    All inputs take the same baby steps; input i after baby step number b stands at place
    b * inputs + i.

    giants   by g n, ascending, or descending if chained: of each output that has diagonals there,
             its terms by place
    stride   0, or n if giant steps are chained: sums are rotated by n after each addition, as in
             Horner's rule, so that one key serves all of them
    """

    inputs: int
    outputs: int
    babies: tuple[int, ...]
    giants: tuple[tuple[int, tuple[Sum, ...]], ...]
    stride: int = 0

    @property
    def turns(self) -> list[tuple[int, ...]]:
        """Rotations of sums, one after the other: after each giant step, the last to its place.

        For chained steps alone.
        """
        places = [giant for giant, _ in self.giants]
        gaps = [a - b for a, b in pairwise(places)]
        single = jumps([gap // self.stride for gap in gaps])
        between = [(gap,) if single else (self.stride,) * (gap // self.stride) for gap in gaps]
        return [*between, tuple(step for step in places[-1:] if step)]

    @property
    def rotations(self) -> list[int]:
        """Steps that need a key."""
        if self.stride:
            return sorted({*self.babies, *(step for own in self.turns for step in own)} - {0})
        return sorted({*self.babies, *(giant for giant, _ in self.giants)} - {0})

    @property
    def sums(self) -> list[tuple[int, Sum]]:
        """All sums with their giant step, in the order of evaluation."""
        return [(giant, each) for giant, sums in self.giants for each in sums]

    @property
    def turned(self) -> int:
        """The number of rotations of sums."""
        if self.stride:
            return self.outputs * sum(map(len, self.turns))
        return sum(len(sums) for giant, sums in self.giants if giant)

    @property
    def cost(self) -> float:
        """Of its rotations, in baby steps."""
        babies = self.inputs * sum(baby != 0 for baby in self.babies)
        return babies + _GIANT_COST * self.turned


def jumps(gaps: Sequence[int]) -> bool:
    """Whether chained giant steps cross gaps, in strides, by one rotation with a key of its own.

    For a few kinds of gaps, where that halves the rotations.
    """
    return len(set(gaps)) <= _GAPS_MOST and sum(gaps) >= 2 * len(gaps) > 0


def map_steps_of(
    offsets: Mapping[tuple[int, int], Iterable[int]],
    shape: tuple[int, int],
    count: int,
    *,
    chained: bool = False,
) -> MapSteps:
    """Offsets by (output, input), divided into giant steps of `count` baby steps each."""
    outputs, inputs = shape
    babies = sorted({offset % count for own in offsets.values() for offset in own})
    number = {baby: place for place, baby in enumerate(babies)}
    giants: dict[int, dict[int, list[Term]]] = {}
    for (output, given), own in offsets.items():
        for offset in own:
            place = number[offset % count] * inputs + given
            sums = giants.setdefault(offset - offset % count, {})
            sums.setdefault(output, []).append(Term(place, given, offset))
    found = tuple(
        (giant, tuple(Sum(output, tuple(sorted(terms))) for output, terms in sorted(sums.items())))
        for giant, sums in sorted(giants.items(), reverse=chained)
    )
    return MapSteps(inputs, outputs, tuple(babies), found, count if chained else 0)


def best_map_steps(
    offsets: Mapping[tuple[int, int], Iterable[int]],
    shape: tuple[int, int],
    row: int,
    baby_steps: int | None = None,
    *,
    chained: bool = False,
) -> MapSteps:
    """The cheapest division over all powers of two, or that into `baby_steps`."""
    if baby_steps is not None:
        count = checked_baby_steps(baby_steps, row)
        return map_steps_of(offsets, shape, count, chained=chained)
    widths = [1 << log for log in range(row.bit_length())]
    found = (map_steps_of(offsets, shape, width, chained=chained) for width in widths)
    return min(found, key=lambda steps: steps.cost)


def checked_baby_steps(count: Any, row: int) -> int:
    """The number of baby steps; ParamError outside of 1 to the slots of a row."""
    found = whole_number("baby_steps", count, f"1 to {row}")
    if not 1 <= found <= row:
        raise ParamError("baby_steps", count, f"1 to {row}")
    return found


def blockwise(cut: Diagonals, given: Bound, spectral: float) -> Bound:
    """The bounds of a matrix's products with the vectors of all blocks; 0 between them.

    spectral   the largest singular value of the matrix as it acts on slots
    """
    shape = np.broadcast_shapes(given.low.shape, given.imaginary.shape, given.magnitude.shape, (1,))
    slots = cut.row
    blocks = (*shape[:-1], slots // cut.period, cut.period)
    height, width = cut.matrix.shape

    def columns(edge: Values, least: bool) -> Values:
        """[width, blocks]; a tile reads its neighbours, so that tiles are taken together."""
        own = np.broadcast_to(edge, (*shape[:-1], slots)).reshape(blocks)[..., :width]
        if cut.layout == "tiled":
            own = own.min(axis=-2, keepdims=True) if least else own.max(axis=-2, keepdims=True)
        return np.moveaxis(own, -1, 0).reshape(width, -1)

    def placed(edge: Values) -> Values:
        """[height, blocks] -> [..., slots]."""
        out = np.zeros((edge.shape[1], cut.period))
        out[:, :height] = edge.T
        spread = (*shape[:-1], -1, cut.period)
        return np.broadcast_to(out.reshape(spread), blocks).reshape(*shape[:-1], slots)

    low, high = columns(given.low, True), columns(given.high, False)
    sizes, im = columns(given.magnitude, False), columns(given.imaginary, False)
    with np.errstate(over="ignore"):
        norm = np.minimum(np.sqrt(np.square(sizes).sum(axis=0)), given.rms * sqrt(slots))
    found = linear(cut.matrix, Bound(low, high, im, sizes, given.rms), norm)
    magnitude = placed(found.magnitude)
    rms = min(spectral * given.rms, float(np.sqrt(np.square(magnitude).mean(axis=-1)).max()))
    return Bound.make(
        placed(found.low), placed(found.high), placed(found.imaginary), magnitude, rms
    )
