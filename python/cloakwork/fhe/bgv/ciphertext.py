"""BGV ciphertexts: the message is in the low digits; switching moduli keeps noise small."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Self

from cloakwork.fhe.bgv.integers import IntegerCiphertext
from cloakwork.fhe.bgv.sizes import Sizes
from cloakwork.lazy import public

if TYPE_CHECKING:
    from cloakwork.fhe.bgv.context import BgvContext


@public("cloakwork.fhe")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BgvCiphertext(IntegerCiphertext):
    """A BGV ciphertext: integers mod t in two rows of N / 2 slots.

    Its noise is the message and the errors together.  Every coefficient must stay below half the
    modulus of its level.
    """

    context: BgvContext

    def _budget(self, grown: Sizes) -> float:
        return self.modulus_log2 - 1 - grown.coefficient

    def _product_sizes(self, other: Self) -> Sizes:
        return self.sizes.times(other.sizes)

    def _placed(self, weight: int) -> tuple[int, float]:
        return weight, log2(max(abs(weight), 1))

    @property
    def _switched_factor(self) -> int:
        t = self.context.plain_modulus
        return self.factor * pow(self.basis.moduli[-1], -1, t) % t

    @property
    def _falls(self) -> bool:
        return 2 * (self.noise - self._divided_sizes().norm) >= log2(self.basis.moduli[-1])

    def lower(self, level: int) -> Self:
        """The same values at a lower level; moduli are switched while this reduces the noise."""
        level = self._level_below(level)
        own = self
        while own.level > level and own._divided_sizes().norm < own.noise:
            own = own.mod_switch()
        return own if own.level == level else own._cut(level)
