"""Linear maps of slots, given by their diagonals: one ciphertext, or several to several.

>>> import numpy as np
>>> from cloakwork import fhe
>>> context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
>>> double, next_slot = np.full(4096, 2.0), np.full(4096, 1.0)
>>> transform = fhe.LinearTransform(context, {0: double, 1: next_slot})
>>> keys = context.keygen(rotations=transform.rotations)
>>> result = keys.decrypt(transform @ keys.encrypt([1.0, 10.0, 100.0]))
>>> np.round(result[:3].real, 4).tolist()
[12.0, 120.0, 200.0]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.errors import EncodeError, LevelError, ParamError
from cloakwork.fhe.arguments import numbers, whole_number
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.circuits.diagonals import MapSteps, Sum, Term, best_map_steps
from cloakwork.fhe.circuits.hoisting import joined_sums
from cloakwork.fhe.circuits.linear_errors import (
    Effect,
    MapNorms,
    product_error,
    repeated,
    rounding_of_diagonals,
)
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.ckks.slot_errors import SlotError
from cloakwork.fhe.encoding.encoded import (
    coefficients_of,
    encoded_values,
    expanded_values,
    periodic_values,
)
from cloakwork.fhe.encoding.packing import Packing
from cloakwork.fhe.estimates.bounds import log2_of
from cloakwork.fhe.places import on_its_device
from cloakwork.fhe.rns.layout import batched, like
from cloakwork.lazy import public
from cloakwork.once import once
from cloakwork.sending import Constant

# Fourth powers of entries must be finite floats.
_LARGEST_LOG2 = 200.0


@public("cloakwork.fhe")
class LinearMap(Constant):
    """Any linear map of the slots of I ciphertexts to those of O: `map @ batch`.

    Slot j of output o is the sum over inputs i and offsets k of

        blocks[o, i][k][j] * slot (j + k) mod (N / 2) of input i

    blocks       {(o, i): {offset: values}}: offsets are integers, taken mod N / 2; values [p] real
                 or complex, p a divisor of N / 2: repeated to fill all slots
    shape        (O, I): outputs and inputs, each from 1
    packing      of the results, by default a value in every slot
    baby_steps   rotations between giant steps, by default the cheapest number
    chained      take giant steps one after the other, by the key of a single one: as fast where
                 they have no gaps, and fewer keys
    compact      keep the diagonals as coefficients, 8 N bytes each instead of 8 N (level + 1 +
                 special), less if they repeat, and transform them at every product: slower by a
                 transform a limb

    By diagonals in baby and giant steps with double hoisting (Bossuat, Mouchet, Troncoso-Pastoriza
    and Hubaux, ePrint 2020/1203); all outputs share the baby steps of an input, and all inputs the
    giant step of an output.  Diagonals of zeros cost nothing.

    Raises ParamError for a context without special moduli, a shape or blocks that do not fit;
    EncodeError for values that are not finite numbers, or too large.
    """

    _stays = "it holds encodings of one context: send the context and the values, and make it there"

    # NumPy's arrays leave `@` to the map, which refuses arrays.
    __array_ufunc__ = None

    def __init__(
        self,
        context: CkksContext,
        blocks: Mapping[tuple[int, int], Mapping[int, ArrayLike]],
        shape: tuple[int, int],
        *,
        packing: Packing | None = None,
        baby_steps: int | None = None,
        chained: bool = False,
        compact: bool = False,
    ) -> None:
        _check_context(context)
        self.context, self.compact = context, compact
        outputs, inputs = (whole_number("shape", length, "1 or more each") for length in shape)
        if min(outputs, inputs) < 1:
            raise ParamError("shape", shape, "outputs and inputs, each 1 or more")
        self.shape = (outputs, inputs)
        if packing is not None and (packing.slots, packing.row) != (context.slots, context.slots):
            raise ParamError("packing", packing, f"one of {context.slots} slots")
        self.packing = context.whole if packing is None else packing
        self._blocks = _checked_blocks(blocks, self.shape, context.slots)
        offsets = {place: list(own) for place, own in self._blocks.items()}
        self._steps = best_map_steps(
            offsets, self.shape, context.slots, baby_steps, chained=chained
        )
        self._encoded: dict[tuple[int, float], tuple[Tensor, ...]] = {}
        self._roundings: dict[float, SlotError] = {}

    @property
    def diagonals(self) -> int:
        """The number of nonzero diagonals: products with plaintexts."""
        return sum(map(len, self._blocks.values()))

    @property
    def rotations(self) -> list[int]:
        """Steps that need a key, each between -N / 4 and N / 4: for `keygen(rotations=...)`."""
        row = self.context.slots
        steps = {step % row for step in self._steps.rotations} - {0}
        return sorted(step - row if step > row // 2 else step for step in steps)

    @property
    def steps(self) -> MapSteps:
        """Its baby and giant steps."""
        return self._steps

    def __matmul__(self, ciphertexts: CkksCiphertext) -> CkksCiphertext:
        """The map of a batch of I ciphertexts, a batch of O; see `apply`."""
        if not isinstance(ciphertexts, Ciphertext):
            return NotImplemented
        return self.apply(ciphertexts)

    @on_its_device
    def apply(self, ciphertexts: CkksCiphertext, *, scale: float | None = None) -> CkksCiphertext:
        """The map of a batch of I ciphertexts, a batch of O; of a single one where I = O = 1.

        scale    of the encoded diagonals, by default the one with which rescaling gives the scale
                 of the level below (with levels="manual": the last modulus)
        Level    stays; the scale is that of a product, as after `*`: `rescale` follows
        Noise    the input's times a norm of the rows, and rounding; see `Matrix`
        Bound    from the diagonals and the bounds of the inputs, slot by slot

        Raises ParamError for another number of ciphertexts, MissingKeyError, naming the rotations,
        LevelError, before any work.
        """
        own = self._checked_operand(ciphertexts)
        scale = self._scale(own.level) if scale is None else float(scale)
        own._product_scale("map @ ciphertexts", scale)
        batch = own._with(batched(own.data))
        data = like(joined_sums(batch, self._steps, self._rows(own.level, scale)), own.data)
        error = product_error(own, self._effect(own, scale), scale)
        found = own._with(data, packing=self.packing)
        bound = self._norms.bound(own.bound)
        if own.batch is None:
            bound = bound.picked(0)
        return found._with(data, scale=own.scale * scale, bound=bound, **found._erring(error))

    def _checked_operand(self, given: CkksCiphertext) -> CkksCiphertext:
        self.context.check(given, "map @ ciphertexts")
        inputs = self.shape[1]
        if given.batch != inputs and not (given.batch is None and self.shape == (1, 1)):
            held = "one ciphertext" if given.batch is None else f"a batch of {given.batch}"
            raise ParamError("batch", held, f"a batch of {inputs} for {self!r}")
        given.keys.require(self.rotations, 0, "map")
        own = given._settled() if self.context.automatic else given.relinearize()
        own.keys.require(self.rotations, own.level, "map")
        if own.level == 0:
            raise LevelError("map @ ciphertexts", "level 1 or more", 0, "begin with more moduli")
        return own

    @once
    def _norms(self) -> MapNorms:
        return MapNorms(self._blocks, self.shape, self.context.slots)

    def _effect(self, own: CkksCiphertext, scale: float) -> Effect:
        norms = self._norms
        return Effect(
            norms.norms,
            norms.of_shares(own.share.values),
            self._rounding(scale),
            giants=len(self._steps.giants),
            diagonals=self.diagonals,
            joins=self.shape[1] > 1,
        )

    def _rounding(self, scale: float) -> SlotError:
        if scale not in self._roundings:
            slots, blocks = self.context.slots, self._blocks.values()
            rows = (repeated(values, slots) for own in blocks for values in own.values())
            found = rounding_of_diagonals(rows, scale, self.context.parameters)
            self._roundings[scale] = found
        return self._roundings[scale]

    def _scale(self, level: int) -> float:
        if self.context.automatic:
            return self.context.scales[level]
        return float(self.context.parameters.moduli[level])

    def prepare(self, level: int | None = None, *, scale: float | None = None) -> None:
        """Encode now for a level, by default the highest, instead of at the first product."""
        level = self.context.level_of(level, "prepare")
        self._at(level, self._scale(level) if scale is None else float(scale))

    def _rows(self, level: int, scale: float) -> Iterator[Tensor]:
        """The diagonals of each sum, [count, N, special + level + 1]."""
        held = self._at(level, scale)
        if not self.compact:
            return iter(held)
        basis = self.context.tables.extended(level)
        return (expanded_values(rows, basis) for rows in held)

    def _at(self, level: int, scale: float) -> tuple[Tensor, ...]:
        key = (0 if self.compact else level, scale)
        if key not in self._encoded:
            sums = self._steps.sums
            self._encoded[key] = _core.unrecorded(
                lambda: tuple(self._encode(giant, own, level, scale) for giant, own in sums)
            )
        return self._encoded[key]

    def _encode(self, giant: int, own: Sum, level: int, scale: float) -> Tensor:
        rows = np.stack([
            np.roll(self._whole(own.output, term), giant) for term in own.terms
        ])  # fmt: skip
        if self.compact:
            return coefficients_of(self.context, rows, scale)
        period = _period(rows)
        found = None
        if period < self.context.slots:
            found = periodic_values(self.context, rows[:, :period], level, scale)
        return encoded_values(self.context, rows, level, scale) if found is None else found

    def _whole(self, output: int, term: Term) -> NDArray[Any]:
        return repeated(self._blocks[output, term.input][term.offset], self.context.slots)

    def __repr__(self) -> str:
        outputs, inputs = self.shape
        counts = f"diagonals={self.diagonals}, rotations={len(self.rotations)}"
        return f"{type(self).__name__}({outputs} from {inputs}, {counts})"


@public("cloakwork.fhe")
class LinearTransform(LinearMap):
    """Any linear map of the slots of one ciphertext: `transform @ ciphertext`.

    Slot j of the result is the sum over offsets k of diagonals[k][j] * slot (j + k) mod (N / 2).

    diagonals   {offset: values [p]}, p a divisor of N / 2; the other options are `LinearMap`'s
    """

    def __init__(
        self,
        context: CkksContext,
        diagonals: Mapping[int, ArrayLike],
        *,
        packing: Packing | None = None,
        baby_steps: int | None = None,
        chained: bool = False,
        compact: bool = False,
    ) -> None:
        blocks = {(0, 0): diagonals}
        steps = {"baby_steps": baby_steps}
        super().__init__(
            context, blocks, (1, 1), packing=packing, chained=chained, compact=compact, **steps
        )


def _check_context(context: Any) -> None:
    if not isinstance(context, CkksContext):
        raise ParamError("context", type(context).__name__, "one of CKKS: fhe.ckks(...)")
    if not context.parameters.special:
        raise ParamError("special", "no moduli", "special moduli, for hoisted rotations")


def _checked_blocks(
    blocks: Mapping[tuple[int, int], Mapping[int, ArrayLike]], shape: tuple[int, int], slots: int
) -> dict[tuple[int, int], dict[int, NDArray[Any]]]:
    """The nonzero diagonals without repeats, by offset from -slots / 2 to slots / 2."""
    found: dict[tuple[int, int], dict[int, NDArray[Any]]] = {}
    for place, own in blocks.items():
        if not (0 <= place[0] < shape[0] and 0 <= place[1] < shape[1]):
            allowed = f"(output, input) below {shape}"
            raise ParamError("blocks", repr(place), allowed)
        held: dict[int, NDArray[Any]] = {}
        for offset, values in own.items():
            step = whole_number("offset", offset, "an integer") % slots
            step = step - slots if step > slots // 2 else step
            if step in held:
                raise ParamError("offset", offset, f"offsets that differ mod {slots}")
            diagonal = _checked_diagonal(values, slots, offset)
            if diagonal.any():
                held[step] = diagonal
        found[place] = held
    largest = max((np.abs(v).max() for own in found.values() for v in own.values()), default=0.0)
    count = sum(map(len, found.values()))
    if log2_of(float(largest)) + log2(max(count, 1)) >= _LARGEST_LOG2:
        raise EncodeError(
            f"entries of up to 2^{log2_of(float(largest)):.0f}, which no modulus holds"
        )
    return found


def _period(rows: NDArray[Any]) -> int:
    """The least power of two after which all rows repeat, of a power of two columns."""
    while rows.shape[1] > 1:
        first, second = np.split(rows, 2, axis=1)
        if not np.array_equal(first, second):
            break
        rows = first
    return int(rows.shape[1])


def _checked_diagonal(values: ArrayLike, slots: int, offset: int) -> NDArray[Any]:
    given = numbers(values)
    length = given.shape[0] if given.ndim == 1 else 0
    if not 1 <= length <= slots or slots % length:
        raise EncodeError(
            f"the diagonal of offset {offset} has the shape {given.shape}; expected [p], p a "
            f"divisor of the {slots} slots"
        )
    kind = np.complex128 if given.dtype.kind == "c" else np.float64
    diagonal = np.asarray(given, dtype=kind)
    if not np.isfinite(diagonal).all():
        raise EncodeError(f"the diagonal of offset {offset} holds NaN or infinity")
    whole = repeated(diagonal, slots)
    return whole[: _period(whole[np.newaxis])].copy()
