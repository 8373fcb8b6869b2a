"""The diagonals of a matrix between two layouts.

Slot j of a result is to hold row f(j), and slot j + k of the input holds column c(j + k): a
diagonal of offset k can multiply the entry [f(j), c(j + k)] in slot j.  Every nonzero entry is put
into one such place, so that the sum over offsets, and over the slots of a row, is the product.
With f(j) = j mod m these are the extended diagonals of Juvekar, Vaikuntanathan and Chandrakasan
(ePrint 2018/073); with one slot for each row those of Halevi and Shoup (ePrint 2014/106).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InternalError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
# By (output ciphertext, input ciphertext), by offset: values [period].
Blocks = dict[tuple[int, int], dict[int, Floats]]


@dataclass
class Entries:
    """The nonzero entries of a matrix [m, n], by their sorted keys r n + c."""

    columns: int
    keys: Integers
    values: Floats
    covered: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.covered = np.zeros(self.keys.size, dtype=np.bool_)

    @classmethod
    def of(cls, matrix: Any) -> Entries:
        """Of a sparse matrix without duplicates."""
        found = matrix.tocoo()
        keys = found.row.astype(np.int64) * matrix.shape[1] + found.col
        order = np.argsort(keys, kind="stable")
        kept = order[found.data[order] != 0]
        return cls(matrix.shape[1], keys[kept], np.asarray(found.data[kept], dtype=np.float64))

    @property
    def is_covered(self) -> bool:
        """Whether every entry has a place."""
        return bool(self.covered.all())

    def take(self, rows: Integers, columns: Integers) -> Floats | None:
        """[p] the entries, not yet covered, of pairs of a row and a column; None if there are none.

        rows, columns   [p], negative for nothing
        """
        slots = np.flatnonzero((rows >= 0) & (columns >= 0))
        wanted = rows[slots] * self.columns + columns[slots]
        index = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        hit = (self.keys[index] == wanted) & ~self.covered[index]
        index, first = np.unique(index[hit], return_index=True)
        if not index.size:
            return None
        self.covered[index] = True
        out = np.zeros(rows.size)
        out[slots[hit][first]] = self.values[index]
        return out


def swept(entries: Entries, rows: Integers, contents: Integers) -> Blocks:
    """Offsets 0, 1, 2, ... until all entries are covered: for dense matrices.

    rows       [outputs, p]: the row of each slot; of those with equal slots all are summed later
    contents   [inputs, p]: the column of each slot; both repeat after p slots
    """
    found: Blocks = {}
    period = rows.shape[1]
    for offset in range(period):
        if entries.is_covered:
            break
        for given, own in enumerate(contents):
            turned = np.roll(own, -offset)
            for output, each in enumerate(rows):
                values = entries.take(each, turned)
                if values is not None:
                    found.setdefault((output, given), {})[offset] = values
    if not entries.is_covered:
        raise InternalError("a matrix between two layouts has entries without a diagonal")
    return found


def aligned(
    entries: Entries, rows: tuple[Integers, int], columns: tuple[Integers, int], slots: int
) -> Blocks:
    """The offsets between the slots of each row and a slot of each column: for sparse matrices.

    rows, columns   their places, ciphertext * slots + slot, and the period of the layout; a row
                    also stands in the repetitions within the period of the columns
    """
    (target, own), (source, period) = rows, columns
    row, column = _pairs(entries)
    copies = max(period // own, 1)
    place = (target[row] + own * np.arange(copies)[:, np.newaxis]).ravel()
    given, values = np.tile(source[column], copies), np.tile(entries.values, copies)
    whole = max(own, period)
    offset = (given % slots - place % slots + period // 2) % period
    inputs = int(source.max()) // slots + 1
    block = place // slots * inputs + given // slots
    found: Blocks = {}
    for value, chosen in _groups(block * period + offset):
        diagonal = np.zeros(whole)
        diagonal[place[chosen] % slots % whole] = values[chosen]
        number, shift = divmod(value, period)
        found.setdefault(divmod(number, inputs), {})[shift - period // 2] = diagonal
    entries.covered[:] = True
    return found


def _pairs(entries: Entries) -> tuple[Integers, Integers]:
    """The row and the column of every entry."""
    return entries.keys // entries.columns, entries.keys % entries.columns


def _groups(keys: Integers) -> Iterator[tuple[int, Integers]]:
    """Each key with the indices at which it stands."""
    if not keys.size:
        return
    order = np.argsort(keys, kind="stable")
    values, starts = np.unique(keys[order], return_index=True)
    for value, own in zip(values, np.split(order, starts[1:]), strict=True):
        yield int(value), own


def applied(blocks: Blocks, vectors: Floats, outputs: int) -> Floats:
    """What the diagonals do to slots [inputs, slots]: for tests and for plain runs."""
    out = np.zeros((outputs, vectors.shape[1]))
    for (output, given), own in blocks.items():
        for offset, values in own.items():
            tiled = np.tile(values, vectors.shape[1] // values.size)
            out[output] += tiled * np.roll(vectors[given], -offset)
    return out
