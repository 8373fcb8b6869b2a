"""CKKS ciphertexts: sums and products with ciphertexts, plaintexts, arrays and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2
from numbers import Complex, Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._core import Tensor
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import rows
from cloakwork.fhe.ckks.estimates import known_bound
from cloakwork.fhe.ckks.scales import Scaled
from cloakwork.fhe.encoding import embedding
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.bounds import log2_of
from cloakwork.fhe.estimates.noise import total
from cloakwork.fhe.keys.evaluation import CONJUGATION
from cloakwork.fhe.operands import as_float, real_numbers
from cloakwork.lazy import public

# Integers up to this value multiply without a scale.
_SMALL_INTEGER = 1 << 30


@public("cloakwork.fhe")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CkksCiphertext(Scaled):
    """A CKKS ciphertext: complex numbers in N / 2 slots.

    scale   the message is about scale times the values; for the other fields see `Estimated`
    """

    def rotate(self, step: int) -> Self:
        """Slot j becomes slot j + step, around the end: to the left for positive steps.

        Composed of rotations for which there are keys, with one key switch each.
        Raises MissingKeyError, which names the key to add, if they do not suffice.
        """
        return self._rotate(step)._turned_by(step)

    def conjugate(self) -> Self:
        """The complex conjugate of every slot, by one key switch."""
        element = self.context.element(CONJUGATION)
        return self._automorphism(element, "conjugation", "conjugation=True")

    def _factors(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        a, b = self._met(op, other)
        a._product_scale(op, b.scale)
        return a, b

    def _sum(self, other: Self) -> Self:
        data = self._raw_sum(other)
        own, added = self._over(data), other._over(data)
        own = replace(own, **own._off(abs(self.scale - other.scale), other.size))
        error = own.error.plus(added.error)
        return replace(own, bound=self.bound + other.bound, **own._erring(error))

    def _multiplied(self, other: Self, data: Tensor) -> Self:
        own, factor = self._over(data), other._over(data)
        mine = factor.error.met(self.bound.magnitude).scaled(log2(self.scale))
        theirs = own.error.met(other.bound.magnitude).scaled(log2(other.scale))
        # Errors that are factors of each other reach their maxima together.
        both = own._constant(self.noise + other.noise + noise.TAIL_LOG2)
        same = self.data is other.data
        return replace(
            own,
            scale=self.scale * other.scale,
            bound=self.bound.squared() if same else self.bound * other.bound,
            **own._erring(mine.plus(theirs, both)),
        )

    def _plus(self, other: Any) -> Any:
        if isinstance(other, Plaintext):
            return self._plus_plaintext(self._matched("add", other))
        if not isinstance(other, Real):
            values = _values(other, self.context.slots)
            if values is None:
                return NotImplemented
            values = self._laid("add", values)
            batch = values.ndim == 2
            return self._plus_plaintext(
                self.context.encode(values, level=self.level, scale=self.scale, batch=batch)
            )
        number = as_float(other)
        addend, _ = embedding.constant(number, self.scale, self.basis)
        return self._with(
            self._body_plus(addend), bound=self.bound.plus(number), **self._off(0.5, 0.0)
        )

    def _plus_plaintext(self, plaintext: Plaintext) -> Self:
        own = self._over(self._body_plus(plaintext.data))
        own = replace(own, **own._off(abs(self.scale - plaintext.scale), plaintext.size))
        # Encoding the same values again gives the same error.
        error = own._erring(own.error.plus(own._encoding(plaintext, plaintext.size)))
        return replace(own, bound=self.bound + known_bound(plaintext), **error)

    def _times(self, other: Any) -> Any:
        if isinstance(other, Plaintext):
            own = self._settled() if self.context.automatic else self
            return own._times_plaintext(own._at_level("multiply", other))
        if isinstance(other, Real):
            return self._times_number(as_float(other), isinstance(other, Integral))
        values = _values(other, self.context.slots)
        if values is None:
            return NotImplemented
        values = self._laid("multiply", values)
        own = self._settled() if self.context.automatic else self
        own._product_scale("multiply", own.context.scale_at(own.level))
        batch = values.ndim == 2
        return own._times_plaintext(own.context.encode(values, level=own.level, batch=batch))

    def _times_number(self, number: float, integral: bool) -> Self:
        """Small integers, also as floats, need no scale; other numbers use the level's scale."""
        if integral or (number.is_integer() and abs(number) <= _SMALL_INTEGER):
            size = log2_of(abs(number))
            data = self._scaled_by(self.basis.constant(int(number)))
            bound = self.bound.times(float(number))
            return self._with(data, noise=self.noise + size, bound=bound)
        own = self._settled() if self.context.automatic else self
        scale = own.context.scale_at(own.level)
        own._product_scale("multiply", scale)
        factor, actual = embedding.constant(number, scale, own.basis)
        grown = replace(own, noise=own.noise + log2_of(actual) + log2(scale))
        return own._with(
            own._scaled_by(factor),
            scale=own.scale * scale,
            bound=own.bound.times(number),
            **grown._off(own.scale / 2),
        )

    def _times_plaintext(self, plaintext: Plaintext) -> Self:
        self._product_scale("multiply", plaintext.scale)
        known, mine = known_bound(plaintext), self.size + log2(self.scale)
        own = self._over(self._scaled_by(plaintext.data))
        encoding = own._encoding(plaintext, plaintext.size)
        fresh = encoding.scaled(total(mine, self.noise + noise.TAIL_LOG2))
        grown = own.error.met(known.magnitude).scaled(log2(plaintext.scale))
        return replace(
            own,
            scale=self.scale * plaintext.scale,
            bound=self.bound * known,
            **own._erring(grown.plus(fresh)),
        )

    def add_constants(self, values: ArrayLike) -> Self:
        """Add one real number to all slots of each ciphertext of a batch: values [B].

        Raises ParamError for numbers that are not real or not finite, EncodeError for those that
        do not fit the modulus.
        """
        return rows.add_constants(self, real_numbers("values", values))

    def weighted_sums(self, weights: ArrayLike) -> Self:
        """Rows of a matrix times a batch: out[h] = sum over i of weights[h, i] * self[i].

        Shape    a batch of S, weights real [H, S] -> a batch of H
        Scale    times about the last modulus, so that rescaling gives the scale of the level below
        Noise    the weighted noise of the batch; rounding of a weight is 2^-1 / q_level

        One fused multiply-and-sum per part; all N positions read a weight through a view of
        stride 0.  Raises ParamError for weights that are not real or not finite.
        """
        own = self._settled() if self.context.automatic else self.relinearize()
        return rows.weighted_sums(own, real_numbers("weights", weights))

    def _matched(self, op: str, plaintext: Plaintext) -> Plaintext:
        found = self._at_level(op, plaintext)
        self._same_scale(op, found.scale)
        return found

    def _at_level(self, op: str, plaintext: Plaintext) -> Plaintext:
        """The plaintext's limbs at this level; with levels="manual" it must be at that level."""
        self.context.check(plaintext, op)
        self._check_packing(op, plaintext)
        if self.context.automatic and plaintext.level > self.level:
            data = plaintext.data[..., 0 : self.level + 1]
            return replace(plaintext, data=data, level=self.level)
        self._same_level(op, plaintext.level)
        return plaintext

    def _state(self) -> str:
        return f", scale=2^{log2(self.scale):.2f}, precision={self.precision_estimate():.1f} bits"


def _values(other: Any, slots: int) -> NDArray[Any] | None:
    """Values to encode, a number in every slot; None for an unsupported operand."""
    if isinstance(other, Complex):
        return np.full(slots, complex(other))
    if isinstance(other, np.ndarray | Sequence | Tensor) and not isinstance(other, str | bytes):
        return np.asarray(other)
    return None
