"""Plaintexts over all limbs of a level, including special ones, for hoisted products."""

from __future__ import annotations

from math import log2, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import EncodeError
from cloakwork.fhe.bgv.integer_context import IntegerContext
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


def periodic_values(
    context: CkksContext, rows: NDArray[Any], level: int, scale: float
) -> Tensor | None:
    """[D, p] numbers, repeated in all slots -> [D, 2 p, special + level + 1], for `filled`.

    Such plaintexts are polynomials in X^(N / 2 p): in the order of the transform each of their 2 p
    values stands N / 2 p times in a row.  None for coefficients of 2^62 or more.
    """
    basis, count = context.tables.extended(level), 2 * rows.shape[1]
    modulus = prod(context.tables.chain(level).moduli)
    values = embedding.embed_inverse(np.asarray(rows, np.complex128), count)
    integers, excess = embedding.scaled_integers(values, scale, modulus)
    if excess:
        return None
    return frozen(expanded_values(asarray(-integers), basis))


def filled(rows: Tensor, basis: Basis) -> Tensor:
    """[D, N, k] of [D, N / run, k]: each value `run` times in a row."""
    count, values, limbs = rows.shape
    if values == basis.degree:
        return rows
    run = basis.degree // values
    out = residues((count,), basis.degree, limbs)
    spread = rows.moveaxis(-1, -2).unsqueeze(3).expand(3, run)
    ops.copy(spread, out=out.moveaxis(-1, -2).reshape(count, limbs, values, run, copy=False))
    return out


def encoded_integers(context: IntegerContext, rows: NDArray[np.int64], level: int) -> Tensor:
    """[D, N] integers mod t -> [D, N, special + level + 1]."""
    return frozen(context.batching.polynomials(rows, context.tables.extended(level)))


def coefficients_of(context: CkksContext, rows: NDArray[Any], scale: float) -> Tensor:
    """[D, N / 2] numbers -> [D, n] coefficients at a scale, times -1, for `expanded_values`.

    n is N, or 2 p for rows that all repeat every p numbers: polynomials in X^(N / n).
    Raises EncodeError for coefficients of 2^62 or more.
    """
    given = _period(np.asarray(rows))
    degree = 2 * given.shape[1]
    out = np.empty((len(given), degree), dtype=np.int64)
    for place, row in enumerate(given):
        values = embedding.embed_inverse(np.asarray(row, np.complex128), degree)
        integers, excess = embedding.scaled_integers(values, scale, 1 << 64)
        if excess:
            raise EncodeError(
                f"coefficients beyond 2^62 at the scale 2^{log2(scale):.1f}: take a smaller "
                "scale, or compact=False"
            )
        np.negative(integers, out=out[place])
    return frozen(asarray(out))


def expanded_values(coefficients: Tensor, basis: Basis) -> Tensor:
    """[D, n] coefficients times -1, n a divisor of N -> [D, n, k] residues, for `filled`.

    `modneg` makes residues of numbers times -1 in one pass; `Basis.reduce` takes two.
    """
    count, degree = coefficients.shape
    own = basis if degree == basis.degree else basis.shortened(degree)
    values = residues((count,), degree, own.limbs)
    ops.modneg(coefficients.unsqueeze(2).expand(2, own.limbs), own.q, out=values)
    return own.ntt(values, out=values)


def _period(rows: NDArray[Any]) -> NDArray[Any]:
    """[D, p]: the least power of two of columns after which all rows repeat."""
    while rows.shape[1] > 1:
        first, second = np.split(rows, 2, axis=1)
        if not np.array_equal(first, second):
            break
        rows = first
    return rows
