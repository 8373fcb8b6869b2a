"""The base of BGV's and BFV's ciphertexts: exact sums and products mod t.

Both hide a polynomial mod t and an error.  BGV has the polynomial in the low digits, the error a
multiple of t; BFV has it at the top of the modulus.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isqrt, log2
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cloakwork._core import Tensor
from cloakwork.errors import LevelError, NoiseError, ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.bgv import batching
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ciphertext.data import ESTIMATE_SLACK
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.keys.evaluation import CONJUGATION

if TYPE_CHECKING:
    from cloakwork.fhe.bgv.integer_context import IntegerContext
from cloakwork.fhe.bgv.sizes import Sizes, constant, drawn, unknown


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class IntegerCiphertext(Ciphertext):
    """Encrypted integers mod t, in two rows of N / 2 slots.

    factor        the message is factor times the values, mod t
    noise         log2 of a bound on the norm of the noise
    coefficient   the same for every coefficient of the noise
    value         the same for every value in the embedding; see `Sizes`

    BGV's noise is the message and the errors together, BFV's the errors alone.
    """

    context: IntegerContext
    factor: int
    coefficient: float
    value: float

    def __post_init__(self) -> None:
        """NoiseError for a ciphertext that would not decrypt."""
        self.check_room("this result", self.sizes)

    @property
    def sizes(self) -> Sizes:
        """The sizes of the message and the errors together."""
        return Sizes(self.coefficient, self.noise, self.value)

    def noise_budget(self) -> float:
        """Bits by which the noise may still grow; at 0 or less decryption may fail."""
        return self._budget(self.sizes)

    @abstractmethod
    def _budget(self, grown: Sizes) -> float:
        """The budget with noise of these sizes."""

    @abstractmethod
    def _product_sizes(self, other: Self) -> Sizes:
        """The sizes of the noise of a product."""

    @abstractmethod
    def _placed(self, weight: int) -> tuple[int, float]:
        """The factor of a polynomial to be added `weight` times, and its share of noise.

        The share is log2 of the sizes of the noise over those of the polynomial.
        """

    @property
    @abstractmethod
    def _switched_factor(self) -> int:
        """The factor after a division by the last modulus."""

    @property
    @abstractmethod
    def _falls(self) -> bool:
        """Whether a product leaves more room, or runs faster, a level lower."""

    def coefficient_noise(self) -> float:
        """log2 of a bound on every coefficient, except with a chance of 2^-40."""
        return self.coefficient

    def check_room(self, op: str, grown: Sizes) -> None:
        """NoiseError unless coefficients stay below half the modulus of its level."""
        budget = self._budget(grown)
        if budget < 0:
            hint = f"begin with a longer modulus chain (this one is at level {self.level})"
            raise NoiseError(op, budget, hint)

    def rotate_rows(self, step: int) -> Self:
        """In both rows slot j becomes slot j + step: to the left for positive steps.

        Composed of rotations for which there are keys, with one key switch each.
        Raises MissingKeyError, which names the key to add, if they do not suffice.
        """
        return self._rotate(step)._turned_by(step)

    rotate = rotate_rows

    def rotate_columns(self) -> Self:
        """The two rows change places, by one key switch."""
        element = self.context.element(CONJUGATION)
        turned = self._automorphism(element, "exchange of the rows", "conjugation=True")
        alike = self.packing.tiled and self.packing.count is None
        return turned if alike else replace(turned, packing=self.context.whole)

    def mod_switch(self) -> Self:
        """Divide by the last modulus, and the noise with it.

        Level    level - 1
        Noise    the noise before, divided by q_level, and sqrt((1 + h) / 12) per coefficient for
                 the rounding, under BGV t times that; h, about 2 N / 3, is the Hamming weight of
                 the secret

        With a key, a product of three parts is relinearized in the same division.
        """
        if self.level == 0:
            raise LevelError("mod_switch", "level 1 or more", 0, "begin with a longer chain")
        grown = self._divided_sizes()
        return self._with(
            self._divided(), level=self.level - 1, factor=self._switched_factor, **sized(grown)
        )

    def _level_below(self, level: int) -> int:
        """A level to go down to; errors for others."""
        level = whole_number("level", level, f"a level from 0 to {self.level}")
        if not 0 <= level <= self.level:
            raise LevelError("lower", f"a target from 0 to {self.level}", level, "levels only fall")
        return level

    def _settled(self) -> Self:
        """Relinearized, and at the best level for a product."""
        own = self if self._fuses_divisions else self.relinearize()
        while own.level and own._falls:
            own = own.mod_switch()
        return own.relinearize()

    def _divided_sizes(self) -> Sizes:
        """The sizes after a division by the last modulus."""
        return self.sizes.scaled(-log2(self.basis.moduli[-1])).plus(self._rounded())

    def _rounded(self) -> Sizes:
        """The sizes of the rounding of this division."""
        squared = self.parts == 3 and not self._fuses_divisions
        return drawn(self.context.parameters, self._divided_noise(-inf), 2 if squared else 1)

    def _switched_noise(self) -> dict[str, Any]:
        return sized(self.sizes.plus(self.switch_sizes()))

    def switch_sizes(self) -> Sizes:
        """The sizes of the error that a key switch adds."""
        parameters = self.context.parameters
        return drawn(parameters, noise.key_switch(parameters, self.level))

    def _alike(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        a, b = self._paired(op, other)
        if self.context.automatic:
            level = min(a.level, b.level)
            a, b = a.lower(level), b.lower(level)
        else:
            a._same_level(op, b.level)
        if a.factor == b.factor:
            return a, b
        return a._balanced(b)

    def _balanced(self, other: Self) -> tuple[Self, Self]:
        """Both operands times small integers that make their factors equal."""
        t = self.context.plain_modulus
        mine, theirs = small_ratio(self.factor * pow(other.factor, -1, t) % t, t)
        factor = self.factor * mine % t
        a, b = self._times_integer(mine), other._times_integer(theirs)
        return replace(a, factor=factor), replace(b, factor=factor)

    def _as_traced(self, example: Ciphertext) -> None:
        super()._as_traced(example)
        assert isinstance(example, type(self))
        if self.factor != example.factor:
            hint = "bring it to its level as the example was brought there"
            raise ParamError("factor", self.factor, f"{example.factor}, as in the example; {hint}")
        if not self.sizes.within(example.sizes, ESTIMATE_SLACK):
            hint = "trace with an example as noisy as inputs"
            allowed = f"2^{example.coefficient:.1f} or less; {hint}"
            raise ParamError("noise", f"2^{self.coefficient:.1f}", allowed)

    def _factors(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        a, b = self._met(op, other)
        a.check_room(op, a._product_sizes(b))
        return a, b

    def _sum(self, other: Self) -> Self:
        grown = self.sizes.plus(other.sizes)
        self.check_room("add", grown)
        return self._with(self._raw_sum(other), **sized(grown))

    def _multiplied(self, other: Self, data: Tensor) -> Self:
        return self._with(
            data,
            factor=self.factor * other.factor % self.context.plain_modulus,
            **sized(self._product_sizes(other)),
        )

    def _plus(self, other: Any) -> Any:
        if isinstance(other, Integral):
            # A constant polynomial is that constant in every slot, and in the NTT domain.
            number = centred(int(other) * self.factor, self.context.plain_modulus)
            weight, share = self._placed(number)
            grown = self.sizes.plus(constant(1).scaled(share))
            self.check_room("add", grown)
            return self._with(self._body_plus(self.basis.constant(weight)), **sized(grown))
        plaintext = self._encoded("add", other, self.factor)
        if plaintext is None:
            return NotImplemented
        ratio = self.factor * pow(plaintext.factor, -1, self.context.plain_modulus)
        weight, share = self._placed(centred(ratio, self.context.plain_modulus))
        data = plaintext.data
        if weight != 1:
            data = batching.times(data, weight, self.basis)
        grown = self.sizes.plus(known_sizes(plaintext).scaled(share))
        self.check_room("add", grown)
        return self._with(self._body_plus(data), **sized(grown))

    def _times(self, other: Any) -> Any:
        if isinstance(other, Integral):
            return self._times_integer(centred(int(other), self.context.plain_modulus))
        plaintext = self._encoded("multiply", other, 1)
        if plaintext is None:
            return NotImplemented
        grown = self.sizes.times(known_sizes(plaintext))
        self.check_room("multiply", grown)
        factor = self.factor * plaintext.factor % self.context.plain_modulus
        return self._with(self._scaled_by(plaintext.data), factor=factor, **sized(grown))

    def _times_integer(self, integer: int) -> Self:
        grown = self.sizes.scaled(log2(max(abs(integer), 1)))
        self.check_room("multiply", grown)
        return self._with(self._scaled_by(self.basis.constant(integer)), **sized(grown))

    def _encoded(self, op: str, other: Any, factor: int) -> Plaintext | None:
        """The plaintext of an operand at this level; None for an unsupported operand."""
        if isinstance(other, Plaintext):
            self.context.check(other, op)
            self._check_packing(op, other)
            if self.context.automatic and other.level > self.level:
                data = other.data[..., 0 : self.level + 1]
                return replace(other, data=data, level=self.level)
            self._same_level(op, other.level)
            return other
        if not isinstance(other, np.ndarray | Sequence | Tensor) or isinstance(other, str | bytes):
            return None
        values = self._laid(op, np.asarray(other))
        return self.context.encode(values, level=self.level, factor=factor, batch=values.ndim == 2)

    def _state(self) -> str:
        return f", budget={self.noise_budget():.1f} bits"


def sized(sizes: Sizes) -> dict[str, Any]:
    """The fields of a ciphertext that hold its sizes."""
    return {"noise": sizes.norm, "coefficient": sizes.coefficient, "value": sizes.value}


def known_sizes(plaintext: Plaintext) -> Sizes:
    """A plaintext's own sizes; if it has none, those of arbitrary residues."""
    parameters = plaintext.context.parameters
    whole = log2(plaintext.context.tables.chain(plaintext.level).modulus)
    return plaintext.sizes or unknown(parameters, whole + log2(parameters.degree) / 2)


def centred(number: int, modulus: int) -> int:
    """The congruent number of least magnitude."""
    return (number + modulus // 2) % modulus - modulus // 2


def small_ratio(ratio: int, modulus: int) -> tuple[int, int]:
    """(u, v) of about sqrt(t) with v = u * ratio mod t: half of Euclid's algorithm."""
    remainder, rest = modulus, ratio
    before, weight = 0, 1
    while abs(rest) > isqrt(modulus):
        quotient = remainder // rest
        remainder, rest = rest, remainder - quotient * rest
        before, weight = weight, before - quotient * weight
    return weight, rest
