"""What a CKKS ciphertext says of itself: where its values lie, and how far they are off.

Bounds and errors go along with every operation, and hold for all values that the inputs' bounds
admit.  Nothing here touches residues.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, inf, isnan, log2
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._core import Tensor
from cloakwork.errors import EncodeError, NoiseError, ParamError
from cloakwork.fhe import noise
from cloakwork.fhe.bounds import Bound, Stated, log2_of
from cloakwork.fhe.ciphertext import ESTIMATE_SLACK, Ciphertext
from cloakwork.fhe.noise import independent, total
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.plaintext import Plaintext
from cloakwork.fhe.slot_errors import EVEN, Share, SlotError

# No float tells more of a number.
_MOST_BITS = 1000.0
# Bits of room that values which outgrew the modulus leave by chance, 2^-15.
_SURE_ROOM = 15.0
# Values are rounded to floats before they are compared with their bound.
_BOUND_SLACK = 1e-9
OUTGROWN = (
    "values outgrew what the ciphertext says of them: state the bounds of inputs, or begin with a "
    "longer first modulus; decrypt(..., check=False) returns what is there"
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Estimated(Ciphertext):
    """A ciphertext of approximate numbers.

    scale       the message is about scale times the values
    bound       where the values lie
    coherence   log2, 0 or more: by how much more than `noise` the error of a sum of slots may be,
                with weights whose squares add up to 1; 0 while errors of slots are independent
    share       of `noise` that the error of each slot may be, where they are not alike
    """

    scale: float
    bound: Bound
    coherence: float = 0.0
    share: Share = field(default_factory=lambda: EVEN)

    @property
    def size(self) -> float:
        """log2 of what the absolute values stay below."""
        return self.bound.size

    @property
    def error(self) -> SlotError:
        """What slots are off, one by one and together."""
        return SlotError(self.noise, self.noise + self.coherence, self.share.values)

    def with_bound(self, low: ArrayLike, high: ArrayLike | None = None) -> Self:
        """The same values, of which you know more: |value| <= low, or real from low to high.

        Numbers are for all slots, arrays for the values that it holds, or a number a slot.

        Operations keep bounds that hold for all inputs; training data, or the mathematics of a
        circuit, often say more.  Both hold then: what is known already stays.  Nothing checks
        this before `decrypt` looks at the values of the result.

        Raises ParamError for what is no bound, or leaves no value.
        """
        given = [np.asarray(edge, np.float64) for edge in (low, high) if edge is not None]
        stated = self._said([self._spread(edge) for edge in given])
        found = self.bound.meet(stated)
        if found is None:
            raise ParamError("bound", str(stated), f"one that meets {self.bound}")
        return replace(self, bound=found)

    def _spread(self, edge: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number, or one a slot: infinite where nothing is said."""
        if not np.isfinite(edge).all():
            raise ParamError("bound", edge, "finite numbers")
        if edge.ndim == 0:
            return edge
        whole = edge.shape[-1] == self.context.slots
        held = True if whole else self.packing.placed(np.ones(self.packing.shape)) > 0
        return np.where(held, self._laid("with_bound", edge), inf)

    def _said(self, edges: list[NDArray[np.float64]]) -> Bound:
        """Of |values|, or of real values from the one to the other."""
        if len(edges) == 2:
            low, high = -np.where(np.isinf(edges[0]), inf, -edges[0]), edges[1]
            if (low > high).any():
                raise ParamError("bound", "low > high", "low <= high")
            return Bound.make(low, high, 0.0)
        (size,) = edges
        if (size < 0).any() or not size.any():
            raise ParamError("bound", size, "positive numbers")
        return Bound.make(-size, size, 0.0 if self.bound.is_real else size, size)

    def _erring(self, error: SlotError) -> dict[str, Any]:
        """The fields of an error; no more than that of equal errors in all slots."""
        most, more = log2(self.context.slots) / 2, error.joint - error.slot
        coherence = 0.0 if isnan(more) else min(max(more, 0.0), most)
        return {"noise": error.slot, "coherence": coherence, "share": Share(error.share)}

    def _switched_noise(self) -> dict[str, Any]:
        switch = noise.key_switch(self.context.parameters, self.level)
        return self._erring(self._beside(self.error, switch))

    def _beside(self, error: SlotError, fresh: float) -> SlotError:
        """With what a division or a key switch adds: equal in ciphertexts of a batch that are."""
        alike = log2(self.batch or 1) / 2
        return error.plus_independent(SlotError.even(fresh, fresh + alike))

    def __neg__(self) -> Self:
        return replace(super().__neg__(), bound=-self.bound)

    def _turned(self, data: Tensor, element: int) -> Self:
        found, slots = super()._turned(data, element), self.context.slots
        step = self.context.rotation_steps(element) or 0
        error = self._erring(found.error.turned(step, slots))
        return replace(found, bound=self.bound.turned(step, slots), **error)

    def _picked(self, key: int | slice) -> Self:
        error = self._erring(self.error.picked(key))
        return replace(super()._picked(key), bound=self.bound.picked(key), **error)

    def strided_sum(self, count: int, stride: int) -> Self:
        """The same of slots that are `stride` apart; what it holds is taken to stay."""
        found = super().strided_sum(count, stride)
        if count * stride > self.context.slots:
            return found
        # Every slot counts once.
        own, slots = self.error, self.context.slots
        switch = noise.key_switch(self.context.parameters, self.level)
        switch += log2(self._switches(count, stride)) / 2
        shares = np.broadcast_to(own.share, np.broadcast_shapes(own.share.shape, (slots,)))
        squares = min(float(np.square(shares).sum(axis=-1).max()), count)
        sums = min(own.slot + log2(count), own.joint + log2_of(squares) / 2)
        joint = independent(own.joint + log2(count), switch + log2(count) / 2)
        even = SlotError.even(min(independent(sums, switch), found.noise), joint)
        return replace(found, **self._erring(even))

    def _switches(self, count: int, stride: int) -> int:
        """Key switches whose errors are in a slot of `strided_sum`, or more."""
        found = count if self.parts == 3 else 1
        for size in (1 << log for log in range(count.bit_length())):
            if 2 * size <= count:
                # Sums of 2 size slots, of which there are so many, take a rotation each.
                found += len(self.keys.route(size * stride)) * -(-count // (2 * size))
            if count & size and count % size:
                found += len(self.keys.route(count % size * stride))
        return found

    def precision_estimate(self) -> float:
        """Bits b such that every slot is within 2^-b of the exact result.

        It holds for all inputs within their `bound`, but with a chance of about 2^-15; it is
        the sharper the nearer values come to their bounds: see `with_bound`.
        -inf if the values may have outgrown the modulus.
        """
        return self._bits() if self._room_log2() >= 0 else -inf

    def _bits(self) -> float:
        """The same of values that did not outgrow the modulus."""
        error = self.noise + noise.TAIL_LOG2 - log2(self.scale)
        return -total(error, self.size + noise.FLOAT_LOG2, -_MOST_BITS)

    def _room_log2(self) -> float:
        """Bits between what coefficients may reach and where they could not be told from more."""
        # A coefficient is at most the mean of all slots' sizes.
        message = log2_of(self.bound.rms) + log2(self.scale)
        largest = total(message, self.coefficient_noise())
        return self.modulus_log2 - 1 - noise.WRAPPED_LOG2 - largest

    def check_room(self, found: float) -> None:
        """NoiseError where values may have outgrown the modulus, of which `found` bits are left.

        Their bounds say whether they can.  Where they can, what is found tells: what outgrew a
        modulus is anywhere within it, and leaves so much room with a chance of 2^-15.
        """
        room = self._room_log2()
        if room < 0 and found < _SURE_ROOM:
            hint = (
                "begin with a longer first modulus, or say what is known of the values: "
                "with_bound(...); decrypt(..., check=False) returns what is there"
            )
            what = "values within their bounds may outgrow the modulus, which leaves {}"
            raise NoiseError("decrypt", room, hint, what)
        if found < noise.WRAPPED_LOG2:
            what = "the coefficients leave {} of the modulus"
            raise NoiseError("decrypt", found, OUTGROWN, what)

    def check_precision(self) -> None:
        """NoiseError where the estimate leaves no bit, neither after the point nor before it."""
        bits = self._bits()
        if bits + max(self.size, 0.0) <= 0:
            hint = (
                "begin with a larger scale, or say what is known of the values: with_bound(...); "
                "decrypt(..., check=False) returns what is there"
            )
            raise NoiseError("decrypt", bits, hint, "the estimate leaves {} of precision")

    def check_values(self, values: NDArray[np.complex128]) -> None:
        """NoiseError unless values are within what is said of them, and its error."""
        own = self.bound
        beyond = np.maximum.reduce([
            *np.broadcast_arrays(own.low - values.real, values.real - own.high),
            np.abs(values.imag) - own.imaginary,
            np.abs(values) - own.magnitude,
        ])  # fmt: skip
        # Little more than the estimate says is what rounding adds, or one chance in many.
        more = _BOUND_SLACK * own.largest + 4 * 2.0 ** -max(self._bits(), -_MOST_BITS)
        most = float(beyond.max(initial=0.0))
        if most > more:
            what = f"values beyond their bound, {own}, by more than their error, leave {{}}"
            raise NoiseError("decrypt", log2(more) - log2(most), OUTGROWN, what)

    def _divided_fields(self) -> dict[str, Any]:
        fresh, last = self._divided_noise(-inf), log2(self.basis.moduli[-1])
        return self._erring(self._beside(self.error.scaled(-last), fresh))

    def _off(self, scale: float, size: float | None = None) -> dict[str, Any]:
        """The noise with an error of no more than values times a scale, which is no chance."""
        if not scale:
            return self._erring(self.error)
        most = (self.size if size is None else size) + log2(scale) - noise.TAIL_LOG2
        same = SlotError.even(most, most + log2(self.context.slots) / 2)
        return self._erring(self.error.plus(same))

    def _as_traced(self, example: Ciphertext) -> None:
        super()._as_traced(example)
        assert isinstance(example, type(self))
        if not example.bound.holds(self.bound):
            allowed = f"{example.bound} or less; trace with the bound that inputs will have"
            raise ParamError("bound", str(self.bound), allowed)
        joint, allowed_joint = self.error.joint, example.error.joint
        shares = (self.share.values <= example.share.values + ESTIMATE_SLACK).all()
        if joint > allowed_joint + ESTIMATE_SLACK or not shares:
            allowed = f"2^{allowed_joint:.1f} or less, all slots together, and as in the example"
            raise ParamError("noise", f"2^{joint:.1f}", allowed)


def stated_bound(plaintext: Plaintext, given: Stated | None) -> Bound:
    """The bound that travels; EncodeError for values beyond one that was stated."""
    known, held = known_bound(plaintext), _held(plaintext)
    if given is None:
        size = ceil(max(known.size - _BOUND_SLACK, 0.0))
        return Bound.circle(2.0**size, real=known.is_real).where(held)
    stated = Bound.stated(given)
    if not isinstance(given, tuple) and known.is_real:
        stated = Bound.circle(stated.largest, real=True)
    found = stated.where(held)
    if not found.holds(known):
        raise EncodeError(
            f"values of up to 2^{ceil(known.size)}, beyond their bound: {stated}; state a "
            "wider one, encrypt(values, bound=...), or take smaller values"
        )
    return found


def known_bound(plaintext: Plaintext) -> Bound:
    """Where the values of a plaintext lie: those that it was made of, or what its size says."""
    return plaintext.bound or Bound.circle(2.0**plaintext.size)


def _held(plaintext: Plaintext) -> NDArray[np.bool_]:
    """[slots]: which of them hold values; the others hold 0."""
    packing = plaintext.packing
    if packing is None or packing.is_whole:
        return np.ones(plaintext.context.slots, dtype=np.bool_)
    return np.asarray(packing.placed(np.ones(packing.shape)) > 0)


def encoding_noise(parameters: Parameters, size: float, scale: float) -> float:
    """Rounding of coefficients, and the float transform's own error."""
    return independent(noise.encoding(parameters), size + log2(scale) + noise.FLOAT_LOG2)
