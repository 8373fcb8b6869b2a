"""Hashes over fields."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.tensors.conversion import asarray


def poseidon(inputs: Tensor | Sequence[int]) -> Tensor:
    """The Poseidon hash of each row of 1 to 16 elements of bn254.fr, as circomlib defines it.

    `[.., n]` gives `[..]`; rows are hashed eight at a time.

    >>> from cloakwork import zk
    >>> hex(int(zk.poseidon([1, 2])))
    '0x115cc0f5e7d690413df64c6b9662e9cf2a3617f2743245519e19607a4417189a'
    """
    rows = inputs if isinstance(inputs, Tensor) else asarray(inputs, dtype="bn254.fr")
    return ops.poseidon(rows)
