"""Plaintexts and ciphertexts: a tensor of residues with its level and scale."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import cloakwork as cw


@dataclass(frozen=True, eq=False)
class Plaintext:
    """An encoded polynomial, or a batch of them.

    data    int64 [..., N, level + 1], NTT domain, natural order, canonical residues
    scale   the polynomial is about scale times the values
    """

    data: cw.Tensor
    level: int
    scale: float

    def __repr__(self) -> str:
        return f"Plaintext({_summary(self.data, self.level, self.scale)})"


@dataclass(frozen=True, eq=False)
class Ciphertext:
    """(c0, c1) with c0 + c1 s = scale * message + noise mod q_0 ... q_level, or a batch of them.

    data    int64 [..., 2, N, level + 1], NTT domain, natural order, canonical residues
    """

    data: cw.Tensor
    level: int
    scale: float

    def __repr__(self) -> str:
        return f"Ciphertext({_summary(self.data, self.level, self.scale)})"


def component(data: cw.Tensor, index: int) -> cw.Tensor:
    """View [..., N, k] of c0 (index 0) or c1 (index 1) of [..., 2, N, k]."""
    return data[(slice(None),) * (data.ndim - 3) + (index, slice(None), slice(None))]


def _summary(data: cw.Tensor, level: int, scale: float) -> str:
    return f"shape={tuple(data.shape)}, level={level}, scale=2^{log2(scale):.2f}"
