"""The diagonals of a matrix between two layouts.

Slot j of a result is to hold row f(j), and slot j + k of the input holds column c(j + k): a
diagonal of offset k can multiply the entry [f(j), c(j + k)] in slot j.  Every nonzero entry is put
into one such place, so that the sum over offsets, and over the slots of a row, is the product.
With f(j) = j mod m these are the extended diagonals of Juvekar, Vaikuntanathan and Chandrakasan
(ePrint 2018/073); with one slot for each row those of Halevi and Shoup (ePrint 2014/106).

Many layouts are compared, and the diagonals of few are used: of most only the offsets are found.
Entries get slots, in all repetitions of their row, when diagonals are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InternalError
from cloakwork.once import once

__all__ = ["Blocks", "Cover", "aligned", "applied", "swept"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
# By (output ciphertext, input ciphertext), by offset: values [period].
Blocks = dict[tuple[int, int], dict[int, Floats]]


class Placed(NamedTuple):
    """Entries in any order: [entries] each.

    block    the ciphertext of the result times the number of inputs, plus that of the input
    offset   between the slot of the column and that of the row
    slots    of the result, within the period
    """

    block: Integers
    offset: Integers
    slots: Integers
    values: Floats


@dataclass(frozen=True, eq=False)
class Cover:
    """The diagonals of a matrix between two layouts.

    shape     ciphertexts of the result and of the input
    period    slots after which diagonals repeat
    block     [diagonals], ascending
    offset    [diagonals], ascending within a block
    entries   finds the places of all entries; they may be many more than those of the matrix
    """

    shape: tuple[int, int]
    period: int
    block: Integers
    offset: Integers
    entries: Callable[[], Placed]

    @once
    def offsets(self) -> dict[tuple[int, int], list[int]]:
        """Of the diagonals of each block; a ciphertext without entries has one of zeros."""
        names, starts = np.unique(self.block, return_index=True)
        parts = np.split(self.offset, starts[1:])
        found: dict[tuple[int, int], list[int]] = {
            divmod(int(name), self.shape[1]): own.tolist()
            for name, own in zip(names, parts, strict=False)
        }
        empty = set(range(self.shape[0])) - {output for output, _ in found}
        return found | {(output, 0): [0] for output in empty}

    @property
    def blocks(self) -> Blocks:
        """The diagonals, made anew."""
        found: Blocks = {place: {} for place in self.offsets}
        block, offset, slots, values = self.entries()
        order = np.lexsort((offset, block))
        block, offset, slots, values = block[order], offset[order], slots[order], values[order]
        changes = (np.diff(block) != 0) | (np.diff(offset) != 0)
        starts = np.flatnonzero(np.concatenate([[block.size > 0], changes]))
        ends = np.append(starts, block.size)[1:]
        for start, end in zip(starts, ends, strict=True):
            diagonal = np.zeros(self.period)
            diagonal[slots[start:end]] = values[start:end]
            place = divmod(int(block[start]), self.shape[1])
            found[place][int(offset[start])] = diagonal
        return {place: own or {0: np.zeros(1)} for place, own in found.items()}


def _entries(matrix: Any) -> tuple[Integers, Integers, Floats]:
    """The rows, columns and values of the nonzero entries of a sparse matrix."""
    found = matrix.tocoo()
    kept = found.data != 0
    return found.row[kept].astype(np.int64), found.col[kept].astype(np.int64), found.data[kept]


def swept(matrix: Any, rows: int, contents: Integers) -> Cover:
    """The least offsets from 0 on, for dense matrices: slot j holds row j mod `rows`, to be summed.

    matrix     a sparse one without duplicates, of at most so many rows
    contents   [inputs, p]: the column of each slot, negative for none; repeats after p slots
    """
    block, offset, _, _ = _nearest(matrix, rows, contents)
    names = np.unique(block * rows + offset)
    entries = partial(_nearest, matrix, rows, contents)
    inputs, period = contents.shape
    return Cover((1, inputs), period, names // rows, names % rows, entries)


def _nearest(matrix: Any, rows: int, contents: Integers) -> Placed:
    """Each entry where its column is the least number of slots after one of its row."""
    row, column, values = _entries(matrix)
    period = contents.shape[1]
    # By occurrences of each column: the one whose distance from a slot of the row is least.
    held = np.flatnonzero(contents.ravel() >= 0)
    held = held[np.argsort(contents.ravel()[held], kind="stable")]
    names = contents.ravel()[held]
    first, last = (np.searchsorted(names, column, side) for side in ("left", "right"))
    if (first == last).any() or (row >= rows).any():
        raise InternalError("a matrix between two layouts has entries without a diagonal")
    least = np.full(row.size, rows)
    place = np.zeros(row.size, dtype=np.int64)
    for number in range(int((last - first).max(initial=0))):
        other = held[np.minimum(first + number, last - 1)]
        offset = (other % period - row) % rows
        # The same element in two ciphertexts is taken from the first.
        nearer = offset < least
        least, place = np.where(nearer, offset, least), np.where(nearer, other, place)
    return Placed(place // period, least, (place % period - least) % period, values)


def aligned(
    matrix: Any, rows: tuple[Integers, int], columns: tuple[Integers, int], slots: int
) -> Cover:
    """The offsets between the slots of each row and a slot of each column: for sparse matrices.

    rows, columns   their places, ciphertext * slots + slot, and the period of the layout; a row
                    also stands in the repetitions within the period of the columns
    """
    (target, own), (source, period) = rows, columns
    shape = int(target.max()) // slots + 1, int(source.max()) // slots + 1
    # Copy k of a row stands k times the period of rows after the first.
    copies, step = max(period // own, 1), min(own, period)
    row, column, _ = _entries(matrix)
    block = target[row] // slots * shape[1] + source[column] // slots
    names = np.unique(block * step + (source[column] - target[row]) % step)
    moved = (np.arange(copies)[:, np.newaxis] * step + names % step).ravel()
    block, offset = np.tile(names // step, copies), (moved + period // 2) % period - period // 2
    order = np.lexsort((offset, block))

    def entries() -> Placed:
        row, column, values = _entries(matrix)
        place = (target[row] + own * np.arange(copies)[:, np.newaxis]).ravel()
        given, values = np.tile(source[column], copies), np.tile(values, copies)
        offset = (given % slots - place % slots + period // 2) % period - period // 2
        block, whole = place // slots * shape[1] + given // slots, max(own, period)
        return Placed(block, offset, place % slots % whole, values)

    return Cover(shape, max(own, period), block[order], offset[order], entries)


def applied(blocks: Blocks, vectors: Floats, outputs: int) -> Floats:
    """The result of the diagonals on slots [inputs, slots]: for tests and for plain runs."""
    out = np.zeros((outputs, vectors.shape[1]))
    for (output, given), own in blocks.items():
        for offset, values in own.items():
            tiled = np.tile(values, vectors.shape[1] // values.size)
            out[output] += tiled * np.roll(vectors[given], -offset)
    return out
