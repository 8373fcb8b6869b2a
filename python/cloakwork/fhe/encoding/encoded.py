"""Plaintexts over all limbs of a level, including special ones, for hoisted products."""

from __future__ import annotations

from math import log2, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import EncodeError
from cloakwork.fhe.bgv import BgvContext
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.encoding import embedding
from cloakwork.fhe.rns.layout import residues
from cloakwork.fhe.rns.tables import Basis, frozen
from cloakwork.tensors.conversion import asarray

# The number of rows encoded at a time: their floats take as much memory as their residues.
_CHUNK = 8


def encoded_values(
    context: CkksContext, rows: NDArray[np.complex128], level: int, scale: float
) -> Tensor:
    """[D, N / 2] numbers -> [D, N, special + level + 1], at a scale."""
    basis, modulus = context.tables.extended(level), prod(context.tables.chain(level).moduli)
    count = rows.shape[0]
    out = residues((count,), basis.degree, basis.limbs)
    for start in range(0, count, _CHUNK):
        chunk = rows[start : start + _CHUNK]
        values = embedding.encode(chunk, scale, basis, modulus)
        ops.copy(values, out=out[start : start + len(chunk)])
    return frozen(out)


def encoded_integers(context: BgvContext, rows: NDArray[np.int64], level: int) -> Tensor:
    """[D, N] integers mod t -> [D, N, special + level + 1]."""
    return frozen(context.batching.polynomials(rows, context.tables.extended(level)))


def coefficients_of(context: CkksContext, rows: NDArray[Any], scale: float) -> Tensor:
    """[D, N / 2] numbers -> [D, N] signed coefficients at a scale, for `expanded_values`.

    Raises EncodeError for coefficients of 2^62 or more.
    """
    degree = context.parameters.degree
    out = np.empty((len(rows), degree), dtype=np.int64)
    for place, row in enumerate(rows):
        values = embedding.embed_inverse(np.asarray(row, np.complex128), degree)
        integers, excess = embedding.scaled_integers(values, scale, 1 << 64)
        if excess:
            raise EncodeError(
                f"coefficients beyond 2^62 at the scale 2^{log2(scale):.1f}: take a smaller "
                "scale, or compact=False"
            )
        out[place] = integers
    return frozen(asarray(out))


def expanded_values(coefficients: Tensor, basis: Basis) -> Tensor:
    """[D, N] signed coefficients -> [D, N, k] residues in the NTT domain."""
    values = basis.reduce(coefficients)
    return basis.ntt(values, out=values)
