"""Estimates of CKKS ciphertexts: bounds of their values and errors.

Bounds and errors are updated by every operation, and hold for all values within the inputs' bounds.
Nothing here computes on residues.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, inf, isnan, log2
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._core import Tensor
from cloakwork.errors import EncodeError, NoiseError, ParamError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ciphertext.data import ESTIMATE_SLACK
from cloakwork.fhe.ckks.slot_errors import EVEN, Share, SlotError
from cloakwork.fhe.encoding.embedding import rounding
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.bounds import Bound, Stated, log2_of
from cloakwork.fhe.estimates.noise import independent, total
from cloakwork.fhe.operands import real_numbers
from cloakwork.fhe.parameters import Parameters

# Beyond the precision of any float.
_MOST_BITS = 1000.0
# Values are rounded to floats before they are compared with their bound.
_BOUND_SLACK = 1e-9
OUTGROWN = (
    "values exceeded the bounds of the ciphertext: state the bounds of inputs, or begin with a "
    "longer first modulus; decrypt(..., check=False) skips this check"
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Estimated(Ciphertext):
    """A ciphertext of approximate numbers.

    scale       the message is about scale times the values
    bound       the bounds of the values
    coherence   log2, 0 or more: the excess over `noise` of the error of a sum of slots with weights
                whose squares add up to 1; 0 while the errors of slots are independent
    alike       log2, 0 or more: the further excess for a sum over all ciphertexts of a batch; 0
                while their errors are independent, log2(B) / 2 if they are equal
    share       the share of `noise` in the error of each slot, if the slots differ
    """

    scale: float
    bound: Bound
    coherence: float = 0.0
    alike: float = 0.0
    share: Share = field(default_factory=lambda: EVEN)

    @property
    def size(self) -> float:
        """log2 of the bound of the absolute values."""
        return self.bound.size

    @property
    def error(self) -> SlotError:
        """The errors of slots, single and together."""
        joint = self.noise + self.coherence
        return SlotError(self.noise, joint, joint + self.alike, self.share.values)

    def with_bound(self, low: ArrayLike, high: ArrayLike | None = None) -> Self:
        """The same values with a known bound: |value| <= low, or real from low to high.

        Numbers apply to all slots, arrays to the values that it holds, or to each slot.

        Operations keep bounds that hold for all inputs; training data, or the mathematics of a
        circuit, often give tighter ones.  The previous bounds stay valid, too.  The bound is only
        checked when `decrypt` sees the values of the result; with `decrypt(queries=...)`,
        security depends on it, as errors grow with values.

        Raises ParamError for an invalid bound, or a bound that excludes all values.
        """
        edges = (low,) if high is None else (low, high)
        given = [real_numbers("bound", edge) for edge in edges]
        stated = self._said([self._spread(edge) for edge in given])
        found = self.bound.meet(stated)
        if found is None:
            raise ParamError("bound", str(stated), f"a bound that intersects {self.bound}")
        return replace(self, bound=found)

    def _spread(self, edge: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number, or one per slot: infinite where no bound is given."""
        if edge.ndim == 0:
            return edge
        whole = edge.shape[-1] == self.context.slots
        held = True if whole else self.packing.placed(np.ones(self.packing.shape)) > 0
        return np.where(held, self._laid("with_bound", edge), inf)

    def _said(self, edges: list[NDArray[np.float64]]) -> Bound:
        """The bound of |values|, or of real values in an interval."""
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
        """The fields of an error, limited to that of equal errors in all slots."""
        coherence = _more(error.joint - error.slot, self.context.slots)
        alike = _more(error.whole - error.slot - coherence, self._count)
        share = Share(error.share)
        return {"noise": error.slot, "coherence": coherence, "alike": alike, "share": share}

    @property
    def _count(self) -> int:
        """Ciphertexts of the batch, or 1."""
        return self.batch or 1

    def _fresh(self, slot: float) -> SlotError:
        """The error that a division, a key switch or an encoding adds to each slot."""
        return SlotError.fresh(slot, self._count)

    def _encoding(self, plaintext: Plaintext, size: float) -> SlotError:
        """Rounding of a plaintext's coefficients, and the float transform's own error."""
        floats = size + log2(plaintext.scale) + noise.FLOAT_LOG2
        fresh = independent(noise.encoding(self.context.parameters), floats)
        slot, joint = (max(fresh, known) for known in plaintext.rounding)
        return self._shared(SlotError.even(slot, joint))

    def _shared(self, error: SlotError) -> SlotError:
        """An error that is the same in all ciphertexts of a batch."""
        return replace(error, whole=error.joint + log2(self._count) / 2)

    def _constant(self, slot: float) -> SlotError:
        """A systematic error, which may be the same everywhere."""
        return SlotError.constant(slot, self.context.slots, self._count)

    def _over(self, data: Tensor) -> Self:
        """With the residues of a result; if it became a batch, all of it has the same error."""
        found = self._with(data)
        return replace(found, **found._erring(self.error.repeated(found._count / self._count)))

    def _switched_noise(self) -> dict[str, Any]:
        switch = noise.key_switch(self.context.parameters, self.level)
        return self._erring(self.error.plus_independent(self._fresh(switch)))

    def __neg__(self) -> Self:
        return replace(super().__neg__(), bound=-self.bound)

    def _turned(self, data: Tensor, element: int) -> Self:
        found, slots = super()._turned(data, element), self.context.slots
        step = self.context.rotation_steps(element) or 0
        error = found._erring(found.error.turned(step, slots))
        return replace(found, bound=self.bound.turned(step, slots), **error)

    def _picked(self, key: int | slice) -> Self:
        found = super()._picked(key)
        error = found._erring(self.error.picked(key))
        return replace(found, bound=self.bound.picked(key), **error)

    def strided_sum(self, count: int, stride: int) -> Self:
        """The same for slots that are `stride` apart, with the packing kept."""
        found = super().strided_sum(count, stride)
        if count * stride > self.context.slots:
            return found
        # Every slot is summed once.
        own, slots = self.error, self.context.slots
        switch = noise.key_switch(self.context.parameters, self.level)
        switch += log2(self._switches(count, stride)) / 2
        shares = np.broadcast_to(own.share, np.broadcast_shapes(own.share.shape, (slots,)))
        squares = min(float(np.square(shares).sum(axis=-1).max()), count)
        sums = min(own.slot + log2(count), own.joint + log2_of(squares) / 2)
        grown = own.scaled(log2(count)).plus_independent(self._fresh(switch + log2(count) / 2))
        slot = min(independent(sums, switch), found.noise)
        return replace(found, **self._erring(SlotError(slot, grown.joint, grown.whole)))

    def _switches(self, count: int, stride: int) -> int:
        """An upper bound of the key switches whose errors are in a slot of `strided_sum`."""
        found = count if self.parts == 3 else 1
        for size in (1 << log for log in range(count.bit_length())):
            if 2 * size <= count:
                # Sums of 2 size slots, of which there are so many, take a rotation each.
                found += len(self.keys.route(size * stride, self.level)) * -(-count // (2 * size))
            if count & size and count % size:
                found += len(self.keys.route(count % size * stride, self.level))
        return found

    def precision_estimate(self) -> float:
        """Bits b such that every slot is within 2^-b of the exact result.

        It holds for all inputs within their `bound`, except with a chance of about 2^-15; it is
        sharper if the bounds are tight: see `with_bound`.
        -inf if the values may have outgrown the modulus.
        """
        return self._bits() if self._room_log2() >= 0 else -inf

    def _bits(self) -> float:
        """The same for values that did not outgrow the modulus."""
        error = self.noise + noise.TAIL_LOG2 - log2(self.scale)
        return -total(error, self.size + noise.FLOAT_LOG2, -_MOST_BITS)

    def coefficient_noise(self) -> float:
        """log2 of a bound on the noise of every coefficient, except with a chance of 2^-15.

        A coefficient is a sum of slots, with phases as weights: errors that are equal, such as
        those of x * x.conjugate(), add up in it.
        """
        return self.error.joint - log2(self.context.slots) / 2 + noise.TAIL_LOG2

    def _room_log2(self) -> float:
        """Bits between the largest coefficients and the limit of unambiguous decryption."""
        # A coefficient is at most the mean of all slots' sizes.
        message = log2_of(self.bound.rms) + log2(self.scale)
        largest = total(message, self.coefficient_noise())
        return self.modulus_log2 - 1 - noise.WRAPPED_LOG2 - largest

    def check_room(self, found: float) -> None:
        """NoiseError where values may have outgrown the modulus, of which `found` bits are left.

        This follows from their bounds.  The coefficients found cannot show it: equal values are all
        in one coefficient, and moduli are so near powers of two that 2^k of them wrap around to 0.
        """
        room = self._room_log2()
        if room < 0:
            hint = (
                "begin with a longer first modulus, or state tighter bounds of the values: "
                "with_bound(...); decrypt(..., check=False) skips this check"
            )
            what = "values within their bounds may outgrow the modulus, which leaves {}"
            raise NoiseError("decrypt", room, hint, what)
        if found < noise.WRAPPED_LOG2:
            what = "the coefficients leave too little of the modulus"
            raise NoiseError("decrypt", None, OUTGROWN, what)

    def check_precision(self) -> None:
        """NoiseError if the estimate leaves no precision, neither after nor before the point."""
        bits = self._bits()
        if bits + max(self.size, 0.0) <= 0:
            hint = (
                "begin with a larger scale, or state tighter bounds of values: with_bound(...); "
                "decrypt(..., check=False) skips this check"
            )
            raise NoiseError("decrypt", bits, hint, "the estimate leaves {} of precision")

    def check_values(self, values: NDArray[np.complex128]) -> None:
        """NoiseError unless values are within their bounds, up to the error."""
        own = self.bound
        beyond = np.maximum.reduce([
            *np.broadcast_arrays(own.low - values.real, values.real - own.high),
            np.abs(values.imag) - own.imaginary,
            np.abs(values) - own.magnitude,
        ])  # fmt: skip
        # A small excess over the estimate comes from rounding, or is a rare chance.
        more = _BOUND_SLACK * own.largest + 4 * 2.0 ** -max(self._bits(), -_MOST_BITS)
        most = float(beyond.max(initial=0.0))
        if most > more:
            what = f"values are beyond their bound, {own}, by more than their error"
            raise NoiseError("decrypt", None, OUTGROWN, what)

    def _divided_fields(self) -> dict[str, Any]:
        fresh, last = self._divided_noise(-inf), log2(self.basis.moduli[-1])
        return self._erring(self.error.scaled(-last).plus_independent(self._fresh(fresh)))

    def _off(self, scale: float, size: float | None = None) -> dict[str, Any]:
        """The noise with a systematic error of at most the values times a scale."""
        if not scale:
            return self._erring(self.error)
        most = (self.size if size is None else size) + log2(scale) - noise.TAIL_LOG2
        return self._erring(self.error.plus(self._constant(most)))

    def _as_traced(self, example: Ciphertext) -> None:
        super()._as_traced(example)
        assert isinstance(example, type(self))
        if not example.bound.holds(self.bound):
            allowed = f"{_in_words(example.bound)} or less; trace with the bound of inputs"
            raise ParamError("bound", _in_words(self.bound), allowed)
        own, most = self.error, example.error
        shares = (self.share.values <= example.share.values + ESTIMATE_SLACK).all()
        pairs = ((own.joint, most.joint), (own.whole, most.whole))
        if any(got > allowed + ESTIMATE_SLACK for got, allowed in pairs) or not shares:
            together = f"2^{most.whole:.1f} or less, all slots together, and as in the example"
            raise ParamError("noise", f"2^{own.whole:.1f}", together)


def _more(found: float, count: int) -> float:
    """The excess of joint errors over single ones: at most that of `count` equal errors."""
    return 0.0 if isnan(found) else min(max(found, 0.0), log2(count) / 2)


def _in_words(bound: Bound) -> str:
    return f"{bound} (root mean square {bound.rms:.4g})"


def stated_bound(plaintext: Plaintext, given: Stated | None) -> Bound:
    """The bound of a fresh ciphertext; EncodeError for values beyond a stated bound."""
    known, held = known_bound(plaintext), _held(plaintext)
    if given is None:
        size = ceil(max(known.size - _BOUND_SLACK, 0.0))
        widest = Bound.circle(2.0**size, real=known.is_real).where(held)
        return replace(widest, given=True)
    stated = Bound.stated(given)
    if not isinstance(given, tuple) and known.is_real:
        stated = Bound.circle(stated.largest, real=True)
    found = stated.where(held)
    if not found.holds(known):
        raise EncodeError(
            f"values of up to 2^{ceil(known.size)}, beyond their bound: {stated}; state a "
            "wider one, encrypt(values, bound=...), or take smaller values"
        )
    return replace(found, given=True)


def known_bound(plaintext: Plaintext) -> Bound:
    """The bound of a plaintext's values: of the encoded values, or by its size."""
    return plaintext.bound or Bound.circle(2.0**plaintext.size)


def _held(plaintext: Plaintext) -> NDArray[np.bool_]:
    """[slots]: which of them hold values; the others hold 0."""
    packing = plaintext.packing
    if packing is None or packing.is_whole:
        return np.ones(plaintext.context.slots, dtype=np.bool_)
    return np.asarray(packing.placed(np.ones(packing.shape)) > 0)


def rounding_of(slots: NDArray[Any], scale: float, parameters: Parameters) -> tuple[float, float]:
    """(slot, joint) of `SlotError`: the systematic error of rounding these values.

    Small coefficients of few values are so regular that their rounding is regular, too: the error
    of one value is about N / (pi^2 sqrt(2 scale / N)).
    """
    largest = np.abs(slots).max(axis=-1)
    smallest = float(largest[largest > 0].min(initial=inf))
    if log2(scale) + log2_of(smallest) >= 2 * log2(parameters.degree):
        return -inf, -inf
    off = np.square(rounding(slots, scale, parameters.degree, parameters.generator))
    chance = 2.0 ** (2 * (noise.encoding(parameters) + noise.TAIL_LOG2))
    more = float(np.maximum(off - chance, 0.0).sum(axis=-1).max())
    most = float(off.max()), chance + more
    slot, joint = (log2_of(square) / 2 - noise.TAIL_LOG2 for square in most)
    return slot, joint
