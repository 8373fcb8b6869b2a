"""Packing: the layout of a ciphertext's values in its slots.

A ciphertext has N / 2 slots (BGV: two rows of N / 2), and usually holds fewer values: one vector at
the start, several vectors, each at the start of a block, or one vector repeated in all blocks.
Ciphertexts know their packing, so that an array of values is applied to each vector, as NumPy
broadcasts by shape, and values packed for another matrix are refused instead of giving wrong
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import EncodeError, ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.lazy import public


@public("cloakwork.fhe")
@dataclass(frozen=True)
class Packing:
    """The layout of values in slots; see `context.packing`, `matrix.packing` and `matrix.pack`.

    slots, row   of the context; a rotation turns each row of slots by itself
    length       values of a vector
    period       slots from the start of one vector to that of the next: a power of two
    count        vectors, each in a block of `period` slots; None: one, without an axis for it
    tiled        the vector is repeated in every block; with a count, one a row

    Raises ParamError if it does not fit into the slots.
    """

    slots: int
    row: int
    length: int
    period: int
    count: int | None = None
    tiled: bool = False

    def __post_init__(self) -> None:
        for name in ("length", "period"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        if self.count is not None:
            object.__setattr__(self, "count", whole_number("count", self.count))
        if not 1 <= self.length <= self.period <= self.slots:
            allowed = f"1 to a period of {self.period}, within {self.slots} slots"
            raise ParamError("length", self.length, allowed)
        if self.period != self.slots and (
            self.row % self.period or self.period & (self.period - 1)
        ):
            raise ParamError("period", self.period, f"a power of two that divides {self.row}")
        room = self.slots // (self.row if self.tiled else self.period)
        if self.count is not None and not 1 <= self.count <= room:
            raise ParamError("count", self.count, f"1 to {room} vectors")
        if self.tiled and (self.period > self.row or self.count not in (None, room)):
            raise ParamError("tiled", self.count, f"{room} vectors, one a row, or one for all")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape as in NumPy: (length,), or (count, length)."""
        return (self.length,) if self.count is None else (self.count, self.length)

    @property
    def is_whole(self) -> bool:
        """Whether every slot holds a separate value."""
        return self.length == self.slots

    @property
    def layout(self) -> str:
        """Its name: "slots", "vector", "blocks" or "tiled"."""
        if self.is_whole:
            return "slots"
        if self.tiled:
            return "tiled"
        return "vector" if self.count is None else "blocks"

    def lay(self, values: NDArray[Any], op: str = "lay") -> NDArray[Any]:
        """An operand's values in slots [slots] or [B, slots]: as many as held, or one per slot.

        Values broadcast to the shape, as in NumPy; slots between vectors are 0.
        EncodeError for another shape.
        """
        if values.ndim in (1, 2) and values.shape[-1] == self.slots:
            return values
        return self.placed(values, op)

    def placed(self, values: NDArray[Any], op: str = "placed") -> NDArray[Any]:
        """The same for values of this shape alone."""
        batch = values.shape[: values.ndim - len(self.shape)]
        if len(batch) > 1 or not self._takes(values.shape):
            raise EncodeError(self._misfit(op, values.shape))
        spread = np.broadcast_to(values, (*batch, *self.shape))
        out = np.zeros((*batch, self.slots // self.period, self.period), dtype=values.dtype)
        if self.tiled and self.count is not None:
            rows = out.reshape(*batch, self.count, self.row // self.period, self.period)
            rows[..., : self.length] = spread[..., np.newaxis, :]
        elif self.tiled:
            out[..., : self.length] = spread[..., np.newaxis, :]
        elif self.count is None:
            out[..., 0, : self.length] = spread
        else:
            out[..., : self.count, : self.length] = spread
        return out.reshape(*batch, self.slots)

    def held(self, slots: NDArray[Any]) -> NDArray[Any]:
        """The values of this shape in slots [slots] or [B, slots]: the inverse of `placed`."""
        batch = slots.shape[:-1]
        if self.count is None:
            return slots[..., : self.length]
        if self.tiled:
            rows = slots.reshape(*batch, self.count, self.row // self.period, self.period)
            return rows[..., 0, : self.length]
        blocks = slots.reshape(*batch, self.slots // self.period, self.period)
        return blocks[..., : self.count, : self.length]

    def _takes(self, shape: tuple[int, ...]) -> bool:
        own = self.shape[-len(shape) :] if shape else ()
        return all(a in (1, b) for a, b in zip(shape[-len(own) :], own, strict=True))

    def _misfit(self, op: str, shape: tuple[int, ...]) -> str:
        length = shape[-1] if shape else 1
        padded = ""
        if self.is_whole and length < self.slots:
            padded = f"; np.pad(values, (0, {self.slots - length})) appends zeros"
        each = "" if self.is_whole else f", or a value for each of all {self.slots} slots"
        return (
            f"{op}: values of shape {shape}; this ciphertext holds {self}: give as many{each}, or "
            f"one number for all of them{padded}"
        )

    def joined(self, other: Packing, op: str) -> Packing:
        """The packing of a sum or product, slot by slot; ParamError for different packings."""
        if self == other or other._is_wider(self):
            return other
        if self._is_wider(other):
            return self
        hint = "values that lie alike; with_packing says so where they do"
        raise ParamError("packing", f"{self} and {other} for {op}", hint)

    def _is_wider(self, other: Packing) -> bool:
        """Whether it says of each slot at least as much: all of them, or one block alone."""
        alone = not (self.tiled or other.tiled) and self.length == other.length
        return self.is_whole or (alone and (self.count, other.count) == (1, None))

    def rotated(self, step: int) -> Packing:
        """The packing after a rotation; all slots, unless the layout is unchanged."""
        if step % self.row == 0 or (self.tiled and step % self.period == 0):
            return self
        return self.whole()

    def whole(self) -> Packing:
        """Every slot by itself."""
        return Packing(self.slots, self.row, self.slots, self.slots)

    def first(self) -> Self:
        """Only the first value of each vector."""
        return replace(self, length=1)

    def __str__(self) -> str:
        if self.is_whole:
            return f"all {self.slots} slots"
        vectors = "a vector" if self.count is None else _counted(self.count)
        where = {"vector": "", "blocks": f", one every {self.period} slots",
                 "tiled": f", repeated every {self.period} slots"}  # fmt: skip
        return f"{vectors} of {self.length}{where[self.layout]}"


def _counted(count: int) -> str:
    return f"{count} vector{'' if count == 1 else 's'}"


class PackedSlots(np.ndarray[Any, np.dtype[Any]]):
    """Slots laid out by `matrix.pack`: an array that carries its packing.

    Results computed from it, and views of it, are ordinary arrays.
    """

    packing: Packing | None = None

    @classmethod
    def of(cls, slots: NDArray[Any], packing: Packing) -> PackedSlots:
        """These slots under this packing."""
        own = np.ascontiguousarray(slots).view(cls)
        own.packing = packing
        return own


def packing_of(values: Any, given: NDArray[Any], whole: Packing) -> Packing:
    """The packing of packed slots, or of n values at the start."""
    found = getattr(values, "packing", None)
    if isinstance(found, Packing):
        return found
    return replace(whole, length=max(given.shape[-1], 1))


def check_axes(shape: tuple[int, ...], slots: int, batch: bool) -> None:
    """EncodeError unless the shape is [n], or [B, n] of a batch, with n at most the slots."""
    if batch and len(shape) != 2:
        raise EncodeError(f"values of shape {shape} with batch=True; give [B, n]")
    if not batch and len(shape) == 2:
        count, length = shape
        one = f"values.reshape(-1) holds all {count * length} in one"
        raise EncodeError(
            f"values of shape {shape}: batch=True makes {count} ciphertexts of {length} values"
            + (f", {one}" if count * length <= slots else "")
            + "; matrix.pack lays out vectors for a product"
        )
    if len(shape) > 2:
        raise EncodeError(f"values of {len(shape)} axes; give [n], or [B, n] with batch=True")
    if shape[-1] > slots:
        raise EncodeError(
            f"{shape[-1]} values on the last axis; there are {slots} slots: split them over a batch"
        )
