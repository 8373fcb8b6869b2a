"""Encoded values: polynomials in the NTT domain."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from cloakwork._core import Tensor
from cloakwork.lazy import public

if TYPE_CHECKING:
    from cloakwork.fhe.bgv.sizes import Sizes
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.encoding.packing import Packing
    from cloakwork.fhe.estimates.bounds import Bound


@public("cloakwork.fhe")
@dataclass(frozen=True, eq=False)
class Plaintext:
    """An encoded polynomial, or a batch of them.

    data     int64 [N, level + 1] or [B, N, level + 1], canonical residues, bit-reversed NTT order
    scale    CKKS: the polynomial is about scale times the values; BGV: 1
    factor   BGV: the polynomial is factor times the values, mod t; CKKS: 1
    size     CKKS: log2 of a bound on the absolute values of the slots
    sizes    BGV: of the polynomial itself, with its noise after a decryption; CKKS: None
    packing  where the values lie; None: a value in every slot
    bound    CKKS: a bound on the values
    rounding CKKS: log2 of the errors of slots, single and summed, in the units of `noise`:
             from the noise of a decryption, or from deterministic rounding of coefficients
    """

    context: Context
    data: Tensor
    level: int
    scale: float = 1.0
    factor: int = 1
    size: float = 0.0
    packing: Packing | None = None
    bound: Bound | None = None
    sizes: Sizes | None = None
    rounding: tuple[float, float] = (-inf, -inf)

    def __repr__(self) -> str:
        return f"Plaintext(shape={self.data.shape}, level={self.level})"
