"""A plaintext matrix times encrypted vectors.

>>> import numpy as np
>>> from cloakwork import fhe
>>> context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
>>> matrix = fhe.Matrix(context, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
>>> keys = context.keygen(rotations=matrix.rotations)
>>> result = keys.decrypt(matrix @ keys.encrypt([1.0, 0.0, -1.0]))
>>> np.round(result[:2].real, 4).tolist()
[-2.0, -2.0]
"""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.errors import EncodeError, LevelError, ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.bgv.batching import checked_integers
from cloakwork.fhe.bgv.integer_context import IntegerContext
from cloakwork.fhe.bgv.integers import IntegerCiphertext, sized
from cloakwork.fhe.bgv.sizes import Sizes, constant
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.circuits import diagonals
from cloakwork.fhe.circuits.diagonals import Diagonals, Layout, blockwise
from cloakwork.fhe.circuits.hoisting import hoisted_sums, plain_sums
from cloakwork.fhe.circuits.linear_errors import Effect, product_error, rounding_of_diagonals
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.ckks.slot_errors import Norms, SlotError
from cloakwork.fhe.encoding.encoded import encoded_integers, encoded_values
from cloakwork.fhe.encoding.packing import PackedSlots, Packing
from cloakwork.fhe.estimates.bounds import log2_of
from cloakwork.fhe.places import on_its_device
from cloakwork.lazy import public
from cloakwork.once import once
from cloakwork.sending import Constant

_Some = TypeVar("_Some", bound=Ciphertext)

# Norms of matrices, and their squares, must be finite floats.
_LARGEST_LOG2 = 500.0


@public("cloakwork.fhe")
class Matrix(Constant):
    """A plaintext matrix M [m, n] for `matrix @ ciphertext`; numbers, under BGV integers mod t.

    The slots of a row are cut into blocks of `period`, the least power of two that holds m and n:

    layout "blocks"   each block holds a vector in its first n slots, and gets M times it in its
                      first m; one vector alone is that of block 0
    layout "tiled"    every block holds the same vector, n slots and zeros; half as many diagonals.
                      The result is tiled again

    `pack` lays out vectors, `unpack` reads results.  BGV's two rows are treated alike.
    Ciphertexts know their packing: `matrix @ x + bias` adds the bias to every vector, and a matrix
    that needs another packing refuses them.  Matrices applied in sequence need one `period`, the
    largest of theirs.

    By diagonals in baby and giant steps, with double hoisting where there are special moduli
    (Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, ePrint 2020/1203): baby steps share their
    digits and stay multiples of the special moduli while diagonals multiply them; one division per
    giant step.  Zero diagonals cost nothing.

    rotations    the steps for which `context.keygen` must make keys
    period       a larger period, for matrices applied in sequence
    baby_steps   rotations between giant steps, by default the cheapest number

    It is encoded once per level, at the first product, and kept: 8 N (level + 1 + special) bytes
    per diagonal.
    """

    _stays = "it holds encodings of one context: send the context and the values, and make it there"

    # NumPy's arrays leave `@` to the matrix, which refuses arrays.
    __array_ufunc__ = None

    def __init__(
        self,
        context: CkksContext | IntegerContext,
        values: ArrayLike,
        *,
        layout: Layout = "blocks",
        period: int | None = None,
        baby_steps: int | None = None,
    ) -> None:
        if layout not in ("blocks", "tiled"):
            raise ParamError("layout", layout, '"blocks" or "tiled"')
        self.context = context
        row = context.parameters.degree // 2
        matrix = _checked(context, values, row)
        self._diagonals = Diagonals(matrix, row, _period(matrix, row, period), layout)
        self._steps = diagonals.best_steps(self._diagonals.offsets(), row, baby_steps)
        self._encoded: dict[int, tuple[Tensor, ...]] = {}
        self._roundings: dict[float, SlotError] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        height, width = self._diagonals.matrix.shape
        return height, width

    @property
    def period(self) -> int:
        """Slots of a vector: a power of two that holds rows and columns."""
        return self._diagonals.period

    @property
    def diagonals(self) -> int:
        """The number of nonzero diagonals: products with plaintexts."""
        return sum(len(own) for _, own in self._steps.giants)

    @property
    def rotations(self) -> list[int]:
        """Steps that need a key: for `context.keygen(rotations=...)`."""
        row = self._diagonals.row
        steps = {step % row for step in self._steps.rotations} - {0}
        return sorted(step - row if step > row // 2 else step for step in steps)

    @property
    def packing(self) -> Packing:
        """The packing of its operands: a vector per block; if tiled, one vector for all."""
        tiled = self._diagonals.layout == "tiled"
        count = None if tiled else self._vectors
        return self.context.packing(self.shape[1], period=self.period, count=count, tiled=tiled)

    def pack(self, vectors: ArrayLike) -> PackedSlots:
        """[n] or [count, n] vectors, or [B, count, n] for a batch -> slots to encrypt.

        "blocks" takes as many as there are blocks, "tiled" one, or one a row of slots.
        """
        given = np.asarray(vectors)
        width, room = self.shape[1], self._vectors
        count = 1 if given.ndim == 1 else given.shape[-2] if given.ndim in (2, 3) else 0
        if given.shape[-1:] != (width,) or not 1 <= count <= room:
            raise EncodeError(
                f"vectors of shape {given.shape}; expected [{width}] or [count, {width}], count "
                f"from 1 to {room}: more go to another ciphertext, [B, count, {width}] of a batch"
            )
        packing = self._packing_of(count if given.ndim > 1 else None)
        if packing.count is None and given.ndim > 1:
            given = given[..., 0, :]
        return PackedSlots.of(packing.placed(given, "pack"), packing)

    def _packing_of(self, count: int | None) -> Packing:
        """Of so many vectors; None: one, without an axis for it."""
        if self._diagonals.layout == "tiled":
            return replace(self.packing, count=None if count == 1 else count)
        if count is None:
            return self.context.packing(self.shape[1])
        return replace(self.packing, count=count)

    def _result(self, held: Packing) -> Packing:
        """The packing of results; ParamError for operands with another packing."""
        width, period, tiled = self.shape[1], self.period, self._diagonals.layout == "tiled"
        alone = held.period == held.slots and not held.tiled and not tiled
        repeated = held.tiled and period % held.period == 0
        blocks = not (held.tiled or tiled) and held.period == period
        if held.length != width or not (alone or repeated or blocks):
            raise ParamError("packing", f"{held} for {self!r}", self._wanted(held))
        if alone:
            return self.context.packing(self.shape[0])
        return replace(held, length=self.shape[0], period=period)

    def _wanted(self, held: Packing) -> str:
        where = (
            f"repeated every {self.period} slots"
            if self._diagonals.layout == "tiled"
            else (f"alone, or one every {self.period} slots")
        )
        hint = "encrypt(matrix.pack(vectors))"
        if held.length == self.shape[1] and held.period not in (self.period, held.slots):
            largest = max(self.period, held.period)
            hint = f"make the matrices with period={largest}"
        return f"vectors of {self.shape[1]}, {where}: {hint}, or x.with_packing(...) if they lie so"

    def unpack(self, slots: ArrayLike) -> NDArray[Any]:
        """Slots [slots] of a result -> [count, m]: a vector a block, or if tiled, a row."""
        given = np.asarray(slots)
        if given.shape != (self.context.slots,):
            raise ParamError("slots", given.shape, f"[{self.context.slots}]")
        blocks = given.reshape(self.context.slots // self.period, self.period)
        if self._diagonals.layout == "tiled":
            blocks = blocks[:: self._diagonals.row // self.period]
        return np.ascontiguousarray(blocks[:, : self.shape[0]])

    @property
    def _vectors(self) -> int:
        width = self.period if self._diagonals.layout == "blocks" else self._diagonals.row
        return self.context.slots // width

    @on_its_device
    def __matmul__(self, ciphertext: _Some) -> _Some:
        """M times each vector of a ciphertext, or of a batch of ciphertexts.

        Level    stays; under CKKS the scale is that of a product, as after `*`: `rescale` follows
        Noise    the input's times a norm of the rows: the root of the sum of squares while the
                 errors of slots are independent, the sum of |entries| at most; and rounding
        Bound    from the entries: each row's largest and smallest sum

        Raises ParamError for vectors packed otherwise, MissingKeyError, naming the rotations,
        LevelError, NoiseError, before any work.
        """
        if not isinstance(ciphertext, Ciphertext):
            return NotImplemented
        self.context.check(ciphertext, "matrix @ ciphertext")
        packing = self._result(ciphertext.packing)
        ciphertext.keys.require(self.rotations, 0, "matrix")
        ciphertext = replace(ciphertext, packing=packing)
        if isinstance(ciphertext, CkksCiphertext):
            return cast("_Some", self._times_ckks(ciphertext))
        assert isinstance(ciphertext, IntegerCiphertext)
        return cast("_Some", self._times_bgv(ciphertext))

    def _times_ckks(self, ciphertext: CkksCiphertext) -> CkksCiphertext:
        own = ciphertext._settled() if self.context.automatic else ciphertext.relinearize()
        scale = self._scale(own.level)
        if own.level == 0:
            raise LevelError("matrix @ ciphertext", "level 1 or more", 0, "begin with more moduli")
        own._product_scale("matrix @ ciphertext", scale)
        return own._with(
            self._sums(own),
            scale=own.scale * scale,
            bound=blockwise(self._diagonals, own.bound, 2.0**self._norms.spectral),
            **own._erring(product_error(own, self._effect(own, scale), scale)),
        )

    def _effect(self, own: CkksCiphertext, scale: float) -> Effect:
        return Effect(
            self._norms,
            self._norms.of_shares(self._diagonals.matrix, self._shares(own)),
            self._rounding(scale),
            giants=len(self._steps.giants),
            diagonals=self.diagonals,
        )

    def _rounding(self, scale: float) -> SlotError:
        """The error of a diagonal's coefficients, by chance or as regular as of few values."""
        if scale not in self._roundings:
            rows = map(self._diagonals.slots, self._diagonals.offsets())
            found = rounding_of_diagonals(rows, scale, self.context.parameters)
            self._roundings[scale] = found
        return self._roundings[scale]

    def _shares(self, own: CkksCiphertext) -> NDArray[np.float64]:
        """[n]: the largest share of an error that each column meets, in any block."""
        share, width = own.share.values, self.shape[1]
        if share.ndim == 0:
            return np.ones(width)
        spread = np.broadcast_to(share, np.broadcast_shapes(share.shape, (own.context.slots,)))
        return np.asarray(spread.reshape(-1, self.period).max(axis=0)[:width])

    @once
    def _norms(self) -> Norms:
        """Of the matrix acting on all slots: adjacent blocks, or tiles."""
        found = Norms.of(self._diagonals.matrix)
        if self._diagonals.layout == "blocks":
            return found
        # Neighbours read the values of a tile, too: rows and columns are not reduced.
        columns = Norms.of(self._diagonals.matrix.T).sums
        return replace(found, spectral=(found.sums + columns) / 2)

    def _times_bgv(self, ciphertext: IntegerCiphertext) -> IntegerCiphertext:
        own = ciphertext.relinearize()
        switch = own.switch_sizes()
        last = switch.scaled(log2(len(self._steps.giants) + 1))
        grown = own.sizes.plus(switch).times(self._sizes).plus(last)
        own.check_room("matrix @ ciphertext", grown)
        return own._with(self._sums(own), **sized(grown))

    @once
    def _sizes(self) -> Sizes:
        """BGV: the sum of the sizes of all diagonals."""
        assert isinstance(self.context, IntegerContext)
        found = [constant(0)]
        for giant, own in self._steps.giants:
            found += self.context.batching.sizes(self._rows(giant, own))
        return found[0].plus(*found[1:])

    def _sums(self, own: Ciphertext) -> Tensor:
        """The residues of the product, of a ciphertext of two parts."""
        own.keys.require(self.rotations, own.level, "matrix")
        if own.context.parameters.special:
            return hoisted_sums(own, self._steps, self._at(own.level))
        return plain_sums(own, self._steps, self._at(own.level))

    def _scale(self, level: int) -> float:
        """The scale with which rescaling gives that of the level below, or the previous one."""
        assert isinstance(self.context, CkksContext)
        if self.context.automatic:
            return self.context.scales[level]
        return float(self.context.parameters.moduli[level])

    def prepare(self, level: int | None = None) -> None:
        """Encode now for a level, by default the highest, instead of at the first product."""
        self._at(self.context.level_of(level, "prepare"))

    def _at(self, level: int) -> tuple[Tensor, ...]:
        """The diagonals of each giant step, [count, N, special + level + 1]."""
        if level not in self._encoded:
            self._encoded[level] = _core.unrecorded(lambda: self._encode(level))
        return self._encoded[level]

    def _encode(self, level: int) -> tuple[Tensor, ...]:
        return tuple(self._encode_giant(giant, own, level) for giant, own in self._steps.giants)

    def _encode_giant(self, giant: int, own: tuple[tuple[int, int], ...], level: int) -> Tensor:
        rows = self._rows(giant, own)
        if isinstance(self.context, CkksContext):
            return encoded_values(self.context, rows, level, self._scale(level))
        return encoded_integers(self.context, rows, level)

    def _rows(self, giant: int, own: tuple[tuple[int, int], ...]) -> NDArray[Any]:
        """[count, slots]: the diagonals of a giant step; BGV's rows of slots are alike."""
        rows = np.stack([np.roll(self._diagonals.slots(offset), giant) for _, offset in own])
        return np.tile(rows, (1, self.context.slots // rows.shape[1]))

    def __repr__(self) -> str:
        height, width = self.shape
        return f"Matrix({height} x {width}, diagonals={self.diagonals}, rotations={self.rotations})"


def _period(matrix: NDArray[Any], row: int, asked: int | None) -> int:
    """The least power of two that holds rows and columns, or the given one."""
    least = 1 << int(max(matrix.shape) - 1).bit_length()
    if asked is None:
        return least
    asked = whole_number("period", asked, f"a power of two from {least} to {row}")
    if not least <= asked <= row or asked & (asked - 1):
        raise ParamError("period", asked, f"a power of two from {least} to {row}")
    return asked


def _checked(context: CkksContext | IntegerContext, values: ArrayLike, row: int) -> NDArray[Any]:
    """The matrix as complex numbers, or integers mod t; EncodeError for other entries."""
    given = np.asarray(values)
    if given.ndim != 2 or 0 in given.shape or max(given.shape) > row:
        raise EncodeError(f"a matrix of shape {given.shape}; expected [m, n], each from 1 to {row}")
    if isinstance(context, IntegerContext):
        integers = checked_integers(given, given.shape[1], batch=True)
        t = context.plain_modulus
        return (integers + t // 2) % t - t // 2
    matrix = np.asarray(given, dtype=np.complex128)
    if not np.isfinite(matrix).all():
        raise EncodeError("entries that are not finite: NaN and infinity have no encoding")
    size = log2_of(float(np.abs(matrix).max())) + log2(max(matrix.shape))
    if size >= _LARGEST_LOG2:
        raise EncodeError(f"a matrix of norm 2^{size:.0f}, which no modulus holds; take less")
    return matrix
