"""Batches of CKKS ciphertexts as the rows of a vector: constants for each, and matrix products."""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import EncodeError, ParamError
from cloakwork.fhe.ckks.slot_errors import Norms
from cloakwork.fhe.encoding.embedding import scaled_integers
from cloakwork.fhe.estimates.bounds import Bound, linear
from cloakwork.fhe.rns.layout import zero_residues
from cloakwork.fhe.rns.tables import Basis
from cloakwork.tensors.conversion import asarray

if TYPE_CHECKING:
    from cloakwork.fhe.ckks import CkksCiphertext

Some = TypeVar("Some", bound="CkksCiphertext")
Floats = NDArray[np.float64]


def add_constants(x: Some, numbers: Floats) -> Some:
    """One number [B] for each ciphertext of a batch, added to all of its slots."""
    if x.batch is None or numbers.shape != (x.batch,):
        raise ParamError("values", numbers.shape, f"one number each: ({x.batch},)")
    addend = _residues(x, numbers, x.scale).unsqueeze(1)
    each = numbers[:, np.newaxis]
    bound = x.bound + Bound.make(each, each, 0.0)
    return x._with(x._body_plus(addend), bound=bound, **x._off(0.5, 0.0))


def weighted_sums(x: Some, matrix: Floats) -> Some:
    """Weights [H, S] times a batch of S: a batch of H."""
    if x.batch is None or matrix.ndim != 2 or matrix.shape[1] != x.batch:
        raise ParamError("weights", matrix.shape, f"[H, {x.batch}], for a batch of {x.batch}")
    scale = float(x.basis.moduli[-1])
    if x.context.automatic and x.level > 0:
        scale = x.context.scales[x.level - 1] * scale / x.scale
    x._product_scale("weighted_sums", scale)
    data = _row_sums(_residues(x, matrix, scale), x.data, x.basis)
    own, found = x.error, x._with(data, scale=x.scale * scale)
    shares = np.broadcast_to(own.share, np.broadcast_shapes(own.share.shape, (x.batch, 1)))
    norms = Norms.of(matrix).of_shares(matrix, shares.max(axis=1))
    error = norms.grown_over_batch(own).scaled(log2(scale))
    found = replace(found, **found._erring(error))
    # Each weight is off by half at most, and there are as many as ciphertexts.
    off = found._off(x.scale * matrix.shape[1] / 2, x.size)
    slots = max(edge.shape[-1] if edge.ndim else 1 for edge in (x.bound.magnitude, x.bound.low))
    given = x.bound.spread(x.batch, slots)
    norm = np.sqrt(np.square(given.magnitude).sum(axis=0))
    return replace(found, bound=linear(matrix, given, norm), **off)


def _residues(x: CkksCiphertext, numbers: Floats, scale: float) -> Tensor:
    """[..., n] -> [..., n, k]: the residues of numbers times a scale."""
    integers, excess = scaled_integers(numbers, scale, x.basis.modulus)
    if excess:
        raise EncodeError("numbers that reach 2^62 with their scale; take smaller ones")
    return x.basis.reduce(asarray(integers))


def _row_sums(weights: Tensor, data: Tensor, basis: Basis) -> Tensor:
    """[H, S, k] weights by [S, parts, N, k] -> [H, parts, N, k]."""
    out = zero_residues((weights.shape[0], data.shape[1]), basis.degree, basis.limbs)
    spread = weights.unsqueeze(1).expand(1, basis.degree)
    for place in range(data.shape[1]):
        columns = data[:, place].moveaxis(0, 1)
        ops.modmul_axis_sum(spread, columns, basis.q, apply_perm=False, out=out[:, place], axis=-3)
    return out
