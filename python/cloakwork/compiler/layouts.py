"""Layouts: the slots in which the elements of a value stand, with copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import ModelError
from cloakwork.once import once

if TYPE_CHECKING:
    from cloakwork.compiler.nodes import Geometry

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# No element: the slot's number means nothing, and is bounded.
NOTHING = -1


@dataclass(frozen=True)
class Grid:
    """Where the pixels of images stand: multiplexed, channels between the pixels.

    Pixel (y, x) of channel c stands gap y rows and gap x columns after the first, in a frame of
    `height` x `width` slots; gap^2 channels share a frame (Lee and others, ePrint 2021/783).
    """

    height: int
    width: int
    gap: int

    def places(self, channels: int, height: int, width: int, slots: int) -> Integers | None:
        """[channels height width]; None where pixels do not fit into the frame."""
        gap, frame = self.gap, self.height * self.width
        if (height - 1) * gap >= self.height or (width - 1) * gap >= self.width or frame > slots:
            return None
        c, y, x = np.meshgrid(*map(np.arange, (channels, height, width)), indexing="ij")
        number, inside = c // gap**2, c % gap**2
        rows, columns = y * gap + inside // gap, x * gap + inside % gap
        if rows.max() >= self.height or columns.max() >= self.width:
            return None
        each = slots // frame
        whole = number // each * slots + number % each * frame
        return np.asarray(whole + rows * self.width + columns, dtype=np.int64).ravel()

    def after(self, geometry: Geometry) -> Grid:
        """The grid of the results of a convolution whose inputs stand in this one."""
        stride = geometry.strides[0]
        return Grid(self.height, self.width, self.gap * stride)


@dataclass(frozen=True, eq=False)
class Layout:
    """The element in each slot of a value's ciphertexts.

    slots     of a ciphertext, a power of two
    contents  int64 [ciphertexts, period]: the element in each slot, NOTHING for none; period, a
              divisor of the slots, repeats in a ciphertext
    size      elements, each in one slot or more
    grid      of images: where their pixels stand
    """

    slots: int
    contents: Integers
    size: int
    grid: Grid | None = None

    @classmethod
    def dense(cls, size: int, slots: int, period: int | None = None) -> Self:
        """Element after element, repeated every least power of two that holds them."""
        count = -(-size // slots)
        least = power_above(size) if count == 1 else slots
        contents = np.full(count * max(least, period or 1), NOTHING)
        contents[:size] = np.arange(size)
        return cls(slots, contents.reshape(count, -1), size)

    @classmethod
    def shifted(cls, size: int, slots: int, rows: int, copies: int) -> Self | None:
        """Copies that stand so that each serves other diagonals of a matrix [rows, size].

        A block of a copy begins with rows - 1 empty slots; copy number b stands ceil(rows / copies)
        b slots further left.  With rows a power of two, the sum over all slots that are `rows`
        apart of the first ceil(rows / copies) diagonals is the whole product.  None if there is no
        room for as many copies.
        """
        block, width = -(-(size + rows - 1) // rows) * rows, -(-rows // copies)
        copies = -(-rows // width)
        if block * copies > slots:
            return None
        contents = np.full(slots, NOTHING)
        for copy in range(copies):
            start = copy * block + rows - 1 - copy * width
            contents[start : start + size] = np.arange(size)
        return cls(slots, contents[np.newaxis], size)

    @classmethod
    def of(cls, places: ArrayLike, slots: int, period: int) -> Self:
        """Elements at distinct places, ciphertext * slots + slot, repeated every `period`."""
        given = np.asarray(places, dtype=np.int64)
        count = int(given.max()) // slots + 1
        contents = np.full((count, period), NOTHING)
        contents[given // slots, given % slots] = np.arange(given.size)
        return cls(slots, contents, given.size)

    @classmethod
    def beside(cls, matrix: Any, given: Layout) -> Self | None:
        """Each row of a sparse matrix where the first of its columns stands in a given layout.

        Rows of the same first column take the slots of that block of columns, then the next free
        ones a power of two further: sums over few elements, copies, and one matrix for many tokens
        then have as few offsets as one of their blocks.  None where that has no room, for several
        ciphertexts, and for rows without entries.
        """
        held = np.diff(matrix.indptr)
        if given.count > 1 or not given.is_single or not held.all():
            return None
        places = given.places[matrix.indices]
        first = np.minimum.reduceat(places, matrix.indptr[:-1])
        last = np.maximum.reduceat(places, matrix.indptr[:-1])
        width = np.where(last - first + 1 == held, held, 1)
        order = np.argsort(first, kind="stable")
        begins = np.flatnonzero(np.diff(first[order], prepend=NOTHING))
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size) - np.repeat(begins, np.diff([*begins, order.size]))
        for log in range(given.slots.bit_length()):
            found = first + rank % width + (rank // width << log)
            end = int(found.max()) + 1
            if end > given.slots:
                return None
            if np.unique(found).size == found.size:
                return cls.of(found, given.slots, power_above(end))
        return None

    @classmethod
    def images(cls, shape: tuple[int, int, int], slots: int, grid: Grid) -> Self | None:
        """Channels, height and width of images in a grid; None if they do not fit."""
        places = grid.places(*shape, slots)
        if places is None:
            return None
        period = power_above(int(places.max()) + 1) if places.max() < slots else slots
        return cls(slots, cls.of(places, slots, period).contents, places.size, grid)

    @property
    def count(self) -> int:
        """Ciphertexts."""
        return len(self.contents)

    @property
    def period(self) -> int:
        """Slots after which the contents repeat."""
        return int(self.contents.shape[1])

    @once
    def places(self) -> Integers:
        """[size]: the first place of each element, ciphertext * slots + slot."""
        flat = self.contents.ravel()
        held = np.flatnonzero(flat >= 0)[::-1]
        found = np.full(self.size, NOTHING)
        found[flat[held]] = held // self.period * self.slots + held % self.period
        return found

    @once
    def is_single(self) -> bool:
        """Whether each element stands in one slot of a period."""
        return bool((self.contents >= 0).sum() == self.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout) or self.count != other.count:
            return False
        period = max(self.period, other.period)
        return self.slots == other.slots and bool(
            (self.repeated(period) == other.repeated(period)).all()
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def repeated(self, period: int) -> Integers:
        """Contents [ciphertexts, period] over a multiple of the period."""
        return np.tile(self.contents, (1, period // self.period))

    def place(self, values: Floats, fill: float = 0.0) -> Floats:
        """Values [..., size] -> slots [..., ciphertexts, slots], `fill` in slots without any."""
        given = np.concatenate([values, np.full((*values.shape[:-1], 1), fill)], axis=-1)
        return np.tile(given[..., self.contents], (1,) * values.ndim + (self.slots // self.period,))

    def read(self, slots: NDArray[Any]) -> Floats:
        """Slots [..., ciphertexts, slots] -> values [..., size], from the first place of each."""
        flat = slots.reshape(*slots.shape[:-2], self.count * self.slots)
        return np.asarray(flat[..., self.places])

    def selected(self, elements: Integers) -> Self:
        """The layout of the value whose element i is this value's `elements[i]`, all different."""
        names = np.full(self.size + 1, NOTHING)
        names[elements] = np.arange(elements.size)
        return type(self)(self.slots, names[self.contents], elements.size)

    def to_json(self) -> dict[str, Any]:
        """Runs of successive elements: [place, element, length]."""
        flat = self.contents.ravel()
        joined = np.zeros(flat.size + 1, dtype=np.bool_)
        joined[1:-1] = (np.diff(flat) == 1) & (flat[:-1] >= 0)
        starts = np.flatnonzero(~joined[:-1] & (flat >= 0))
        ends = np.flatnonzero(~joined[1:] & (flat >= 0))
        runs = [[int(s), int(flat[s]), int(e - s + 1)] for s, e in zip(starts, ends, strict=True)]
        return {
            "slots": self.slots,
            "ciphertexts": self.count,
            "period": self.period,
            "size": self.size,
            "runs": runs,
        }


def laid_by(place: str, slots: int, shape: tuple[int, int], size: int, runs: Any) -> Layout:
    """The layout of `to_json`'s numbers; ModelError for those of no layout."""
    count, period = shape
    if slots % period or (count > 1 and period != slots):
        raise ModelError(f"{place}: expected a period that divides {slots} slots, found {period}")
    flat = np.full(count * period, NOTHING)
    for start, first, length in runs:
        room = min(flat.size - start, size - first)
        if not (start >= 0 and first >= 0 and 1 <= length <= room):
            raise ModelError(f"{place}: expected a run within the layout, found {length} slots")
        flat[start : start + length] = np.arange(first, first + length)
    made = Layout(slots, flat.reshape(count, period), size)
    if (made.places < 0).any():
        missing = int(np.argmin(made.places))
        raise ModelError(f"{place}: expected a slot for each element, found none for {missing}")
    return made


def power_above(number: int) -> int:
    """The least power of two that is not less."""
    return 1 << max(number - 1, 0).bit_length()
