"""BGV under certain parameters."""

from __future__ import annotations

from cloakwork._core import Tensor
from cloakwork.fhe.bgv.ciphertext import BgvCiphertext
from cloakwork.fhe.bgv.integer_context import IntegerContext
from cloakwork.fhe.bgv.integers import known_sizes, sized
from cloakwork.fhe.bgv.sizes import any_message, drawn
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.lazy import public


@public("cloakwork.fhe")
class BgvContext(IntegerContext):
    """BGV under certain parameters."""

    def ciphertext(
        self,
        plaintext: Plaintext,
        data: Tensor,
        key: str,
        noise: float,
        bound: Stated | None = None,
    ) -> BgvCiphertext:
        """A fresh ciphertext around its residues."""
        self._no_bound(bound)
        # Encoded values are no larger than any message; decrypted ones contain their noise.
        message = any_message(self.parameters).most(known_sizes(plaintext))
        sizes = message.plus(drawn(self.parameters, noise))
        return BgvCiphertext(
            context=self,
            data=data,
            level=plaintext.level,
            key=key,
            factor=plaintext.factor,
            packing=plaintext.packing or self.whole,
            **sized(sizes),
        )

    def decrypted(self, ciphertext: Ciphertext, message: Tensor) -> Plaintext:
        """The plaintext around the residues of a ciphertext's message."""
        assert isinstance(ciphertext, BgvCiphertext)
        return Plaintext(
            self,
            message,
            ciphertext.level,
            factor=ciphertext.factor,
            sizes=ciphertext.sizes,
            packing=ciphertext.packing,
        )
