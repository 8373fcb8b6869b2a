"""BFV under certain parameters."""

from __future__ import annotations

from math import log2

from cloakwork._core import Tensor
from cloakwork.fhe.bfv.ciphertext import BfvCiphertext
from cloakwork.fhe.bfv.scaling import Scalings
from cloakwork.fhe.bgv import batching
from cloakwork.fhe.bgv.integer_context import IntegerContext
from cloakwork.fhe.bgv.integers import known_sizes, sized
from cloakwork.fhe.bgv.sizes import any_message, drawn
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.context import Levels
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.parameters import Parameters
from cloakwork.lazy import public


@public("cloakwork.fhe")
class BfvContext(IntegerContext):
    """BFV under certain parameters."""

    def __init__(self, parameters: Parameters, levels: Levels) -> None:
        super().__init__(parameters, levels)
        self.scalings = Scalings(self.tables)

    def message(self, plaintext: Plaintext) -> Tensor:
        """The plaintext times Q / t."""
        weight, _ = self._placed(plaintext.level)
        return batching.times(plaintext.data, weight, self.tables.chain(plaintext.level))

    def _placed(self, level: int) -> tuple[int, float]:
        """The nearest integer to Q / t, and log2 of its distance."""
        t, modulus = self.plain_modulus, self.tables.chain(level).modulus
        weight = (2 * modulus + t) // (2 * t)
        return weight, log2(abs(modulus - t * weight)) - log2(t)

    def ciphertext(
        self,
        plaintext: Plaintext,
        data: Tensor,
        key: str,
        noise: float,
        bound: Stated | None = None,
    ) -> BfvCiphertext:
        """A fresh ciphertext around its residues."""
        self._no_bound(bound)
        # As under BGV; the rounding of Q / t times it is an error.
        message = any_message(self.parameters).most(known_sizes(plaintext))
        _, share = self._placed(plaintext.level)
        sizes = message.scaled(share).plus(drawn(self.parameters, noise))
        return BfvCiphertext(
            context=self,
            data=data,
            level=plaintext.level,
            key=key,
            factor=plaintext.factor,
            packing=plaintext.packing or self.whole,
            **sized(sizes),
        )

    def decrypted(self, ciphertext: Ciphertext, message: Tensor) -> Plaintext:
        """The plaintext in the low digits, as BGV has it: t times the phase is t e mod Q.

        That is -Q m mod t (Alperin-Sheriff and Peikert, ePrint 2013/372).
        """
        assert isinstance(ciphertext, BfvCiphertext)
        t, basis = self.plain_modulus, ciphertext.basis
        return Plaintext(
            self,
            batching.times(message, t, basis),
            ciphertext.level,
            factor=-ciphertext.factor * basis.modulus % t,
            sizes=ciphertext.sizes.scaled(log2(t)),
            packing=ciphertext.packing,
        )

    def describe(self) -> str:
        """The parameters in words, with their security and their costs."""
        limbs = self.scalings.whole.limbs
        return f"{super().describe()}\nproducts: over {limbs} further moduli of 49 bits"
