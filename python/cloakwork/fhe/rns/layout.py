"""The layout of residues: logical shape [..., N, k], in memory [..., k, N].

The moduli stand on the last axis, where the ops want them; the coefficients of one limb are
neighbours, as the transforms want them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import _core, ops
from cloakwork._core import Tensor


def residues(batch: Sequence[int], degree: int, limbs: int) -> Tensor:
    """A new tensor [*batch, N, k] of int64, limb after limb in memory, to be written first."""
    return _core.unwritten((*batch, limbs, degree), "i64").moveaxis(-1, -2)


def zero_residues(batch: Sequence[int], degree: int, limbs: int) -> Tensor:
    """The same of zeros, to be added to."""
    return ops.empty((*batch, limbs, degree), "i64").moveaxis(-1, -2)


def limb_range(data: Tensor, start: int, stop: int) -> Tensor:
    """View of limbs start to stop - 1 of [..., k]."""
    return data if (start, stop) == (0, data.shape[-1]) else data[..., start:stop]


def part(data: Tensor, index: int) -> Tensor:
    """View [..., N, k] of one polynomial of [..., parts, N, k]."""
    return data[..., index, :, :]


def parts(data: Tensor, start: int, stop: int) -> Tensor:
    """View [..., stop - start, N, k] of [..., parts, N, k]."""
    return data[..., start:stop, :, :]


def columns(data: Tensor) -> Tensor:
    """View [B, N, parts, k], as transforms want it, of [B, parts, N, k] or [B, N, k]."""
    return data.unsqueeze(2) if data.ndim == 3 else data.moveaxis(1, 2)


def batched(data: Tensor) -> Tensor:
    """View [B, parts, N, k] of a ciphertext's [parts, N, k] or [B, parts, N, k]."""
    return data.unsqueeze(0) if data.ndim == 3 else data


def like(data: Tensor, batch: Tensor) -> Tensor:
    """View of a result [B, parts, N, k] without the axis that `batch` does not have."""
    return data.squeeze(0) if batch.ndim == 3 else data
