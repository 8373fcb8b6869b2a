"""CKKS: approximate arithmetic on encrypted real and complex numbers.

Cheon, Kim, Kim and Song, ePrint 2016/421, in the residue form of ePrint 2018/931.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isclose, log2
from numbers import Complex, Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._core import Tensor
from cloakwork.errors import LevelError, ParamError, ScaleError
from cloakwork.fhe import embedding, noise, rows
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.bounds import Bound, Stated, log2_of
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.coefficients import room_log2
from cloakwork.fhe.context import Context, Levels
from cloakwork.fhe.estimates import (
    Estimated,
    known_bound,
    rounding_of,
    stated_bound,
)
from cloakwork.fhe.evaluation import CONJUGATION
from cloakwork.fhe.noise import total
from cloakwork.fhe.operands import as_float, is_number, real_numbers
from cloakwork.fhe.packing import packing_of
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.plaintext import Plaintext

# Scales this close count as one: a sum is then off by less than 2^-30 of its value.
_SCALE_TOLERANCE = 2.0**-30
# What rounding of floats leaves of two that are computed alike; estimates allow for it.
_EQUAL_SCALES = 2.0**-50
# A product with an integer this large brings any scale to any other within 2^-21 of it.
_LEAST_FACTOR = 1 << 20
# Integers up to here multiply without a scale of their own.
_SMALL_INTEGER = 1 << 30


class CkksContext(Context):
    """CKKS under certain parameters."""

    def __init__(self, parameters: Parameters, levels: Levels, bound: Stated | None) -> None:
        super().__init__(parameters, levels)
        self.bound = bound
        self.scales = self._scales()
        self.lowest = self._lowest() if self.automatic else 0

    def __reduce__(self) -> tuple[Any, ...]:
        from cloakwork.fhe.schemes import context_of

        return context_of, (self.parameters, self.levels, self.bound)

    def _scales(self) -> tuple[float, ...]:
        """The scale of each level: that of fresh ciphertexts at the top, then scale^2 / q."""
        scales = [self.parameters.scale]
        for q in reversed(self.parameters.moduli[1:]):
            scales.append(scales[-1] * scales[-1] / q)
        scales.reverse()
        if self.automatic and min(scales) < 1.0:
            raise ParamError(
                "scale_chain",
                f"scale 2^{log2_of(min(scales)):.1f} at level {scales.index(min(scales))}",
                'a scale of 1 or more: take moduli near the scale, or levels="manual"',
            )
        return tuple(scales)

    def _lowest(self) -> int:
        """The lowest level whose modulus holds its scale, with a bit for the sign."""
        size = 0.0
        for level, q in enumerate(self.parameters.moduli):
            size += log2(q)
            if log2(self.scales[level]) + 1 < size:
                return level
        raise ParamError("scale_chain", "moduli below the scale", "moduli near the scale")

    def encode(
        self,
        values: ArrayLike,
        *,
        level: int | None = None,
        scale: float | None = None,
        batch: bool = False,
    ) -> Plaintext:
        """Encode real or complex values, one a slot.

        Shape    [n], or with batch=True [B, n], n <= N / 2 (the other slots hold 0)
                 -> data [N, level + 1] or [B, N, level + 1]
        Scale    `scale`, by default that of the level (by hand: of the parameters)
        Noise    rounding: a slot is off by about sqrt(N / 12) / scale

        Raises EncodeError when there are too many values, or they do not fit or are not finite.
        """
        level = self.level_of(level, "encode")
        scale = self.scale_at(level) if scale is None else scale
        if not is_number(scale):
            raise ParamError("scale", repr(scale), "a number, 1 or more")
        # NumPy's shorter floats would keep what is computed from it as short.
        scale = float(scale)
        if scale < 1.0:
            raise ScaleError(
                "encode", "a scale of 1 or more", log2_of(scale), "choose a larger one"
            )
        slots = embedding.checked_values(values, self.slots, batch)
        basis, bound = self.tables.chain(level), Bound.of(slots, self.slots)
        return Plaintext(
            self,
            embedding.encode(slots, scale, basis, basis.modulus),
            level,
            scale=scale,
            size=bound.size,
            packing=packing_of(values, slots, self.whole),
            bound=bound,
            rounding=rounding_of(slots, scale, self.parameters),
        )

    def scale_at(self, level: int) -> float:
        """The scale of ciphertexts at a level: by hand, always the parameters'."""
        return self.scales[level] if self.automatic else self.parameters.scale

    def decode(self, plaintext: Plaintext) -> NDArray[np.complex128]:
        """Slots [N / 2] or [B, N / 2] of a plaintext at any level, over its scale."""
        return embedding.decode(plaintext.data, plaintext.scale, self.tables, plaintext.size)

    def ciphertext(
        self,
        plaintext: Plaintext,
        data: Tensor,
        key: str,
        noise: float,
        bound: Stated | None = None,
    ) -> CkksCiphertext:
        """A fresh ciphertext around its residues."""
        travels = stated_bound(plaintext, self.bound if bound is None else bound)
        made = CkksCiphertext(
            context=self,
            data=data,
            level=plaintext.level,
            noise=noise,
            key=key,
            scale=plaintext.scale,
            packing=plaintext.packing or self.whole,
            bound=travels,
        )
        error = made.error.plus_independent(made._encoding(plaintext, travels.size))
        return replace(made, **made._erring(error))

    def decrypted(self, ciphertext: Ciphertext, message: Tensor) -> Plaintext:
        """The plaintext around the residues of a ciphertext's message."""
        assert isinstance(ciphertext, CkksCiphertext)
        return Plaintext(
            self,
            message,
            ciphertext.level,
            scale=ciphertext.scale,
            size=ciphertext.size,
            packing=ciphertext.packing,
            rounding=(ciphertext.error.slot, ciphertext.error.joint),
        )

    def opened(self, ciphertext: Ciphertext, plaintext: Plaintext) -> NDArray[np.complex128]:
        """The slots of a decryption; NoiseError where no bit is left, or values outgrew a limit."""
        assert isinstance(ciphertext, CkksCiphertext)
        ciphertext.check_precision()
        found, basis = embedding.message_coefficients(
            plaintext.data, plaintext.scale, self.tables, plaintext.size
        )
        ciphertext.check_room(room_log2(found, basis))
        values = embedding.embed(found / plaintext.scale, self.parameters.degree)
        ciphertext.check_values(values)
        return values

    def circuit_noise(self, level: int, *, bound: float = 1.0, terms: int = 1) -> float:
        """log2 of what the error stays below of any circuit of these outlines, down to a level.

        bound   what all values stay below, of inputs and in between
        terms   the most products or rotations that one level adds up

        For `Keys.decrypt(noise_bits=...)`, where the circuit itself is not at hand; see
        `noise.reached`.
        """
        level = self.level_of(level, "circuit_noise")
        if not (0 < bound < inf and terms >= 1):
            raise ParamError("bound", bound, "a positive number, and one term or more")
        return noise.reached(self.parameters, level, bound, terms) + noise.TAIL_LOG2

    def shortened(self, ciphertext: Ciphertext) -> Ciphertext:
        """The ciphertext without limbs that its decryption does not need."""
        self.check(ciphertext, "decrypt")
        assert isinstance(ciphertext, CkksCiphertext)
        level = embedding.decoding_level(
            ciphertext.level, ciphertext.scale, self.tables, ciphertext.size
        )
        return ciphertext if level == ciphertext.level else ciphertext._cut(level)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CkksCiphertext(Estimated):
    """A CKKS ciphertext: complex numbers in N / 2 slots.

    scale   the message is about scale times the values; the rest is `Estimated`'s
    """

    context: CkksContext

    def rotate(self, step: int) -> Self:
        """Slot j becomes slot j + step, around the end: to the left for positive steps.

        Composed from the rotations that there are keys for, a key switch each.
        Raises MissingKeyError, naming what to add, where they do not reach.
        """
        return self._rotate(step)._turned_by(step)

    def conjugate(self) -> Self:
        """The complex conjugate of every slot, by one key switch."""
        element = self.context.element(CONJUGATION)
        return self._automorphism(element, "conjugation", "conjugation=True")

    def rescale(self) -> Self:
        """Divide by the last modulus, rounding to nearest.

        Level    level - 1
        Scale    scale / q_level.  With levels="auto", what is at its level's scale already stays
                 as it is
        Noise    that of before over q_level, and sqrt((1 + h) / 12) a coefficient for the
                 rounding, h = 2 N / 3 about the Hamming weight of the secret

        A product of three parts is relinearized in the same division, if there is a key.
        """
        if self.context.automatic and not self._pending:
            return self
        lowest = self.context.lowest
        if self.level <= lowest:
            hint = "all levels are used up: begin with a longer modulus chain"
            raise LevelError("rescale", f"level {lowest + 1} or more", self.level, hint)
        last = self.basis.moduli[-1]
        scale = self.scale / last
        if scale < 1.0:
            raise ScaleError(
                "rescale",
                f"a scale above the last modulus, 2^{log2(last):.2f}",
                log2(self.scale),
                "there is nothing to rescale: multiply first",
            )
        grown = self._divided_fields()
        return self._with(self._divided(), level=self.level - 1, scale=scale, **grown)

    def lower(self, level: int) -> Self:
        """The same values at a lower level.

        With levels="auto" at that level's scale, by a product with a constant and a rescaling;
        by hand limbs are dropped, and the scale stays.
        """
        lowest = self.context.lowest
        level = whole_number("level", level, f"a level from {lowest} to {self.level}")
        if not lowest <= level <= self.level:
            allowed = f"a target from {lowest} to {self.level}"
            raise LevelError("lower", allowed, level, "levels only fall")
        if level == self.level:
            return self
        if not self.context.automatic:
            return self._cut(level)
        own = self._settled()
        return own if own.level <= level else own._lowered(level)

    @property
    def _pending(self) -> bool:
        """Whether the scale is that of a product rather than that of the level."""
        return log2(self.scale) > 1.5 * log2(self.context.scales[self.level])

    def _settled(self) -> Self:
        """Rescaled while it is a product; two parts."""
        own = self
        while own._pending:
            own = own.rescale()
        return own.relinearize()

    def _lowered(self, level: int) -> Self:
        """From the scale of one level to that of a lower one."""
        above, target = self._cut(level + 1), self.context.scales[level]
        wanted = target * above.basis.moduli[-1]
        if wanted < self.scale:
            hint = "encode nearer to the scale of the level"
            raise ScaleError("lower", f"2^{log2(wanted):.2f} or less", log2(self.scale), hint)
        scaled = above._weighted(round(wanted / self.scale))._called(wanted)
        return replace(scaled.rescale(), scale=target)

    def _weighted(self, integer: int) -> Self:
        """The residues times an integer; the scale takes it in."""
        data = self._scaled_by(self.basis.constant(integer))
        grown = self.noise + log2(integer)
        return self._with(data, noise=grown, scale=self.scale * integer)

    def _called(self, scale: float) -> Self:
        """The same residues under a scale nearby: by what that is off they are wrong."""
        return replace(self, scale=scale, **self._off(abs(scale - self.scale)))

    def _alike(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        a, b = self._paired(op, other)
        if not self.context.automatic:
            a._same_level(op, b.level)
            a._same_scale(op, b.scale)
            return a, b
        while a.level != b.level:
            high, low = (a, b) if a.level > b.level else (b, a)
            high = high._towards(low)
            a, b = (high, b) if a.level > b.level else (a, high)
        return a._equalled(b)

    def _towards(self, low: Self) -> Self:
        """One step from a higher level to that of `low`."""
        if self._pending:
            return self.rescale()
        if low._pending and low.scale >= _LEAST_FACTOR * self.scale:
            factor = round(low.scale / self.scale)
            return self._cut(low.level)._weighted(factor)._called(low.scale)
        return self._lowered(low.level)

    def _equalled(self, other: Self) -> tuple[Self, Self]:
        """Both at one scale, which are at one level already."""
        if isclose(self.scale, other.scale, rel_tol=_SCALE_TOLERANCE):
            return self, other
        small, large = (self, other) if self.scale < other.scale else (other, self)
        ratio = large.scale / small.scale
        factor = round(ratio)
        if factor > 1 and isclose(factor, ratio, rel_tol=_SCALE_TOLERANCE):
            small = small._weighted(factor)._called(large.scale)
            return (small, large) if self.scale < other.scale else (large, small)
        if self.level <= self.context.lowest:
            self._same_scale("add", other.scale)
        target = self.context.scales[self.level - 1]
        return self._brought(target)._alike("add", other._brought(target))

    def _brought(self, target: float) -> Self:
        """A level lower: at this scale, or divided alone if it is a product already."""
        wanted = target * self.basis.moduli[-1]
        if self._pending and wanted < _LEAST_FACTOR * self.scale:
            return self.rescale()
        return self._weighted(round(wanted / self.scale))._called(wanted).rescale()

    def _as_traced(self, example: Ciphertext) -> None:
        super()._as_traced(example)
        assert isinstance(example, type(self))
        apart = abs(self.scale / example.scale - 1.0)
        if apart > _EQUAL_SCALES:
            known = f"the scale 2^{log2(example.scale):.9f} of the example"
            needed = f"{known}, not one that is off by 2^{log2(apart):.1f} of it"
            raise ScaleError("run", needed, log2(self.scale), "encode at the example's scale")

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
        # Errors that are one another's factors reach their largest at once.
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
        # Encoded again, the same values are off by the same.
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
        """Small integers need no scale, whole floats too; other numbers take that of the level."""
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
        Scale    times about the last modulus, so that rescaling brings that of the level below
        Noise    that of the batch, weighted; rounding of a weight is 2^-1 / q_level

        One fused multiply-and-sum a part; each weight is seen by all N positions through a view
        of stride 0.  Raises ParamError for weights that are not real or not finite.
        """
        own = self._settled() if self.context.automatic else self.relinearize()
        return rows.weighted_sums(own, real_numbers("weights", weights))

    def _matched(self, op: str, plaintext: Plaintext) -> Plaintext:
        found = self._at_level(op, plaintext)
        self._same_scale(op, found.scale)
        return found

    def _at_level(self, op: str, plaintext: Plaintext) -> Plaintext:
        """The plaintext's limbs at this level; by hand it must be at that level."""
        self.context.check(plaintext, op)
        self._check_packing(op, plaintext)
        if self.context.automatic and plaintext.level > self.level:
            data = plaintext.data[..., 0 : self.level + 1]
            return replace(plaintext, data=data, level=self.level)
        self._same_level(op, plaintext.level)
        return plaintext

    def _same_scale(self, op: str, scale: float) -> None:
        if not isclose(self.scale, scale, rel_tol=_SCALE_TOLERANCE):
            raise ScaleError(
                op,
                f"the scale 2^{log2(self.scale):.9f} of the first operand",
                log2_of(scale),
                "rescale, or encode at the first operand's scale",
            )

    def _product_scale(self, op: str, scale: float) -> None:
        """An error unless a message of size 1 fits below Q / 2 with the product's scale."""
        product = log2(self.scale) + log2(scale)
        if product + 1 < self.modulus_log2:
            return
        if self.context.automatic:
            raise LevelError(
                op,
                f"room for a product of scale 2^{product:.1f} below 2^{self.modulus_log2:.1f}",
                self.level,
                "all levels are used up: begin with a longer modulus chain",
            )
        raise ScaleError(
            op,
            f"less than half the modulus 2^{self.modulus_log2:.2f}",
            product,
            "rescale first, or begin with a longer chain",
        )

    def _state(self) -> str:
        return f", scale=2^{log2(self.scale):.2f}, precision={self.precision_estimate():.1f} bits"


def _values(other: Any, slots: int) -> NDArray[Any] | None:
    """Values for an encoding, a number's in every slot; None for what is none."""
    if isinstance(other, Complex):
        return np.full(slots, complex(other))
    if isinstance(other, np.ndarray | Sequence | Tensor) and not isinstance(other, str | bytes):
        return np.asarray(other)
    return None
