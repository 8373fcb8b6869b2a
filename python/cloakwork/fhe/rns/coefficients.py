"""The coefficients that a ciphertext hides, lifted from their residues to centred integers.

The centred value of x in [0, Q) is x + floor(Q / 2) mod Q, minus floor(Q / 2).  Both are taken in
digits: sums of their differences, from the high digit down, stay exact until the value itself
exceeds 2^53, whatever the size of Q.
"""

from __future__ import annotations

from math import log2

import numpy as np
from numpy.typing import NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.rns.tables import Basis, Tables

# Digits of this size are exact in float64 with room for their sums.
_BASE_LOG2 = 30


def digits(values: Tensor, tables: Tables) -> NDArray[np.int64]:
    """[B, N, k] residues in the NTT domain -> [B, digits, N] of x + floor(Q / 2) mod Q."""
    level = values.shape[-1] - 1
    basis = tables.chain(level)
    shifted = ops.modsum(basis.intt(values), basis.constant(basis.modulus // 2), basis.q)
    return np.asarray(
        ops.g_decomp_full_q(
            shifted.moveaxis(-1, -2).contiguous(),
            q=basis.q,
            q_inv=tables.q_inv(level),
            g_exp=-(-basis.modulus.bit_length() // _BASE_LOG2),
            g_base_bits=_BASE_LOG2,
        )
    )


def centred(found: NDArray[np.int64], basis: Basis) -> NDArray[np.float64]:
    """[B, digits, N] -> [B, N]: the nearest floats to the centred coefficients."""
    half, base = basis.modulus // 2, 1 << _BASE_LOG2
    total = np.zeros((found.shape[0], found.shape[2]))
    for place in reversed(range(found.shape[1])):
        total = total * float(base) + (found[:, place] - (half >> (place * _BASE_LOG2)) % base)
    return total


def modulo(found: NDArray[np.int64], basis: Basis, t: int) -> NDArray[np.int64]:
    """[B, digits, N] -> [B, N]: the centred coefficients mod t."""
    total = np.full((found.shape[0], found.shape[2]), -(basis.modulus // 2) % t, dtype=np.int64)
    for place in range(found.shape[1]):
        total = (total + found[:, place] % t * pow(2, _BASE_LOG2 * place, t)) % t
    return total


def room_log2(coefficients: NDArray[np.float64], basis: Basis) -> float:
    """Bits between the largest of all coefficients and half the modulus.

    Near 0 if all coefficients exceeded the modulus, as those of random phases do together.  A
    single coefficient that wrapped around may be anywhere, and leaves b bits with a chance of 2^-b.
    """
    largest = float(np.abs(coefficients).max(initial=0.0))
    return log2(basis.modulus) - 1 - log2(max(largest, 1.0))
