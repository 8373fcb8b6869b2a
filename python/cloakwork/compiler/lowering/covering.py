"""The diagonals of a matrix between two layouts.

Slot j of a result is to hold row f(j), and slot j + k of the input holds column c(j + k): a
diagonal of offset k can multiply the entry [f(j), c(j + k)] in slot j.  Every nonzero entry is put
into one such place, so that the sum over offsets, and over the slots of a row, is the product.
With f(j) = j mod m these are the extended diagonals of Juvekar, Vaikuntanathan and Chandrakasan
(ePrint 2018/073); with one slot for each row those of Halevi and Shoup (ePrint 2014/106).

Many layouts are compared, and the diagonals of few are used: entries become arrays of slots when
these are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InternalError
from cloakwork.once import once

__all__ = ["Blocks", "Cover", "aligned", "applied", "swept"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
# By (output ciphertext, input ciphertext), by offset: values [period].
Blocks = dict[tuple[int, int], dict[int, Floats]]


@dataclass(frozen=True, eq=False)
class Cover:
    """The place of each entry, [entries], sorted by block and offset.

    shape    ciphertexts of the result and of the input: an entry's block is its output times the
             number of inputs, plus its input
    period   slots after which diagonals repeat
    slots    of the result, within the period
    """

    shape: tuple[int, int]
    period: int
    block: Integers
    offset: Integers
    slots: Integers
    values: Floats

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        period: int,
        places: tuple[Integers, Integers, Integers],
        values: Floats,
    ) -> Cover:
        """Of blocks, offsets and slots in any order."""
        block, offset, slots = places
        order = np.lexsort((offset, block))
        return cls(shape, period, block[order], offset[order], slots[order], values[order])

    @once
    def _starts(self) -> Integers:
        """Where each diagonal begins."""
        changes = (np.diff(self.block) != 0) | (np.diff(self.offset) != 0)
        return np.flatnonzero(np.concatenate([[self.block.size > 0], changes]))

    @once
    def offsets(self) -> dict[tuple[int, int], list[int]]:
        """Of the diagonals of each block; a ciphertext without entries has one of zeros."""
        found: dict[tuple[int, int], list[int]] = {}
        pairs = zip(self.block[self._starts], self.offset[self._starts], strict=True)
        for block, offset in pairs:
            found.setdefault(divmod(int(block), self.shape[1]), []).append(int(offset))
        empty = set(range(self.shape[0])) - {output for output, _ in found}
        return found | {(output, 0): [0] for output in empty}

    @property
    def blocks(self) -> Blocks:
        """The diagonals, made anew."""
        found: Blocks = {place: {} for place in self.offsets}
        ends = np.append(self._starts, self.block.size)[1:]
        for start, end in zip(self._starts, ends, strict=True):
            diagonal = np.zeros(self.period)
            diagonal[self.slots[start:end]] = self.values[start:end]
            place = divmod(int(self.block[start]), self.shape[1])
            found[place][int(self.offset[start])] = diagonal
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
    row, column, values = _entries(matrix)
    inputs, period = contents.shape
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
    slots = (place % period - least) % period
    return Cover.of((1, inputs), period, (place // period, least, slots), values)


def aligned(
    matrix: Any, rows: tuple[Integers, int], columns: tuple[Integers, int], slots: int
) -> Cover:
    """The offsets between the slots of each row and a slot of each column: for sparse matrices.

    rows, columns   their places, ciphertext * slots + slot, and the period of the layout; a row
                    also stands in the repetitions within the period of the columns
    """
    (target, own), (source, period) = rows, columns
    row, column, values = _entries(matrix)
    copies = max(period // own, 1)
    place = (target[row] + own * np.arange(copies)[:, np.newaxis]).ravel()
    given, values = np.tile(source[column], copies), np.tile(values, copies)
    offset = (given % slots - place % slots + period // 2) % period - period // 2
    shape = int(target.max()) // slots + 1, int(source.max()) // slots + 1
    block, whole = place // slots * shape[1] + given // slots, max(own, period)
    return Cover.of(shape, whole, (block, offset, place % slots % whole), values)


def applied(blocks: Blocks, vectors: Floats, outputs: int) -> Floats:
    """What the diagonals do to slots [inputs, slots]: for tests and for plain runs."""
    out = np.zeros((outputs, vectors.shape[1]))
    for (output, given), own in blocks.items():
        for offset, values in own.items():
            tiled = np.tile(values, vectors.shape[1] // values.size)
            out[output] += tiled * np.roll(vectors[given], -offset)
    return out
