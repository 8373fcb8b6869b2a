"""CKKS under certain parameters: encoding, decoding, and the scale of each level."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log2

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._core import Tensor
from cloakwork.errors import ParamError, ScaleError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks.ciphertext import CkksCiphertext
from cloakwork.fhe.ckks.estimates import rounding_of, stated_bound
from cloakwork.fhe.context import Context, Levels
from cloakwork.fhe.encoding import embedding
from cloakwork.fhe.encoding.packing import packing_of
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.bounds import Bound, Stated, log2_of
from cloakwork.fhe.operands import is_number
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.coefficients import room_log2
from cloakwork.lazy import public


@public("cloakwork.fhe")
class CkksContext(Context):
    """CKKS under certain parameters."""

    def __init__(self, parameters: Parameters, levels: Levels, bound: Stated | None) -> None:
        super().__init__(parameters, levels)
        self.bound = bound
        self.scales = self._scales()
        self.lowest = self._lowest() if self.automatic else 0

    def _scales(self) -> tuple[float, ...]:
        """The scale of each level: that of fresh ciphertexts, below scale^2 / q, above it q."""
        scales, fresh = [self.parameters.scale], self.parameters.fresh_level
        for q in reversed(self.parameters.moduli[1 : fresh + 1]):
            scales.append(scales[-1] * scales[-1] / q)
        scales.reverse()
        if self.automatic and min(scales) < 1.0:
            raise ParamError(
                "scale_chain",
                f"scale 2^{log2_of(min(scales)):.1f} at level {scales.index(min(scales))}",
                'a scale of 1 or more: take moduli near the scale, or levels="manual"',
            )
        return (*scales, *map(float, self.parameters.moduli[fresh + 1 :]))

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
        """Encode real or complex values, one per slot.

        Shape    [n], or with batch=True [B, n], n <= N / 2 (the other slots hold 0)
                 -> data [N, level + 1] or [B, N, level + 1]
        Scale    `scale`, by default that of the level (with levels="manual": of the parameters)
        Noise    rounding: the error of a slot is about sqrt(N / 12) / scale

        Raises EncodeError when there are too many values, or they do not fit or are not finite.
        """
        level = self.level_of(level, "encode")
        scale = self.scale_at(level) if scale is None else scale
        if not is_number(scale):
            raise ParamError("scale", repr(scale), "a number, 1 or more")
        # NumPy's shorter floats would reduce the precision of results computed from it.
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
        """The scale of ciphertexts at a level; with levels="manual" always the parameters'."""
        return self.scales[level] if self.automatic else self.parameters.scale

    def decode(self, plaintext: Plaintext) -> NDArray[np.complex128]:
        """Slots [N / 2] or [B, N / 2] of a plaintext at any level, divided by its scale."""
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
        """The slots of a decryption; NoiseError if no precision is left, or a bound is exceeded."""
        assert isinstance(ciphertext, CkksCiphertext)
        ciphertext.check_precision()
        found, basis = embedding.message_coefficients(
            plaintext.data, plaintext.scale, self.tables, plaintext.size
        )
        ciphertext.check_room(room_log2(found, basis))
        own = self.parameters
        values = embedding.embed(found / plaintext.scale, own.degree, own.generator)
        ciphertext.check_values(values)
        return values

    def circuit_noise(self, level: int, *, bound: float = 1.0, terms: int = 1) -> float:
        """log2 of a bound on the error of any circuit with these properties, down to a level.

        bound   the bound of all values, of inputs and intermediate results
        terms   the largest number of products or rotations summed in one level

        For `Keys.decrypt(noise_bits=...)`, if the circuit itself is not available; see
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
