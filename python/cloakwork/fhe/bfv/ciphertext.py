"""BFV ciphertexts: the message stands at the top of the modulus, and products are divided there."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Self

from cloakwork._core import Tensor
from cloakwork.fhe.bfv import scaling
from cloakwork.fhe.bgv.integers import IntegerCiphertext
from cloakwork.fhe.bgv.sizes import Sizes, drawn
from cloakwork.fhe.estimates import noise
from cloakwork.lazy import public

if TYPE_CHECKING:
    from cloakwork.fhe.bfv.context import BfvContext

# Under "auto", moduli go while the rounding of their division is this many bits below the noise:
# the budget shrinks by less than a tenth of a bit, and everything after it takes less time.
_MARGIN = 4.0


@public("cloakwork.fhe")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BfvCiphertext(IntegerCiphertext):
    """A BFV ciphertext: integers mod t in two rows of N / 2 slots.

    c0 + c1 s = (Q / t) m + e mod Q.  Its noise is e, every coefficient of which must stay below
    Q / 2 t.
    """

    context: BfvContext

    def _budget(self, grown: Sizes) -> float:
        return self.modulus_log2 - log2(self.context.plain_modulus) - 1 - grown.coefficient

    def _placed(self, weight: int) -> tuple[int, float]:
        """The nearest integer to Q / t times the weight; its rounding times the polynomial stays.

        It is 1 / t where the moduli are 1 mod t, as `fhe.bfv` chooses them.
        """
        t, modulus = self.context.plain_modulus, self.basis.modulus
        placed = (modulus * weight * 2 + t) // (2 * t)
        return placed, log2(max(abs(modulus * weight - t * placed), 1)) - log2(t)

    @property
    def _switched_factor(self) -> int:
        return self.factor

    @property
    def _falls(self) -> bool:
        divided = self.sizes.scaled(-log2(self.basis.moduli[-1]))
        return self._rounded().within(divided, -_MARGIN)

    def lower(self, level: int) -> Self:
        """The same values under fewer moduli, which makes the ciphertext smaller."""
        level, own = self._level_below(level), self
        while own.level > level:
            own = own.mod_switch()
        return own

    def _tensor(self, a: Tensor, b: Tensor) -> Tensor:
        return scaling.product(a, b, self.context.scalings.at(self.level))

    def _tensor_square(self, a: Tensor) -> Tensor:
        return self._tensor(a, a)

    def _product_sizes(self, other: Self) -> Sizes:
        """The noise of a product.

        With phases a = (Q / t) m + e + Q r over the integers, and b = (P / t) n + f + P u, where f
        is P / Q times its error and a rounding: t / P times their product is, mod Q,

            (Q / t) m n  +  e (n + t u)  +  (Q / P) f (m + t r)  +  (t / P) e f

        and a rounding.  m + t r is t / Q times a, the phase of residues as large as Q.
        """
        parameters, t = self.context.parameters, log2(self.context.plain_modulus)
        chain, further = self.basis, self.context.scalings.further(self.level)
        ratio = log2(chain.modulus) - log2(further.modulus)
        spread_q = drawn(parameters, noise.rounding(parameters, chain.limbs)).scaled(t)
        spread_p = drawn(parameters, noise.rounding(parameters, further.limbs)).scaled(t)
        mine = self.sizes
        rounded = drawn(parameters, noise.rounding(parameters, chain.limbs)).scaled(ratio)
        theirs = other.sizes.plus(rounded)
        within = t - log2(chain.modulus)
        last = drawn(parameters, noise.rounding(parameters, further.limbs, 3), 2)
        return mine.times(spread_p.plus(theirs.scaled(within))).plus(
            theirs.times(spread_q.plus(mine.scaled(within))),
            mine.times(theirs).scaled(within),
            last,
        )
