"""Seeded random numbers for simulations; `cloakwork.random` is for cryptography."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor, float64
from cloakwork.array_api.common import whole
from cloakwork.errors import ParamError
from cloakwork.tensors.conversion import DTypeLike, asarray, on_device, placed

_WORD = 2**64


def rand(
    shape: int | Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    seed: int | None = None,
) -> Tensor:
    """Uniform numbers of [0, 1), float64 unless said otherwise.

    The same seed (below 2^128) gives the same numbers on every machine; None gives different
    numbers each time.  Not for cryptography.

    >>> import cloakwork as cw
    >>> cw.rand((2, 3), seed=1).shape
    (2, 3)
    """
    return _drawn(ops.philox_uniform, shape, dtype, device, seed)


def randn(
    shape: int | Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    seed: int | None = None,
) -> Tensor:
    """Normally distributed numbers of mean 0 and variance 1; see `rand`.

    >>> import cloakwork as cw
    >>> cw.randn((1000, 1000), dtype="f32").dtype
    cloakwork.float32
    """
    return _drawn(ops.philox_normal, shape, dtype, device, seed)


def _drawn(
    draw: Callable[[Tensor, int | Sequence[int], DType], Tensor],
    shape: int | Sequence[int],
    dtype: DTypeLike | None,
    device: str | None,
    seed: int | None,
) -> Tensor:
    on_device(device)
    if seed is None:
        seed = secrets.randbits(128)
    if not 0 <= whole(seed, "seed") < _WORD**2:
        raise ParamError("seed", seed, "0 to 2^128 - 1")
    key = asarray([seed % _WORD, seed // _WORD], dtype="u64")
    drawn = draw(key, shape, float64 if dtype is None else _core.dtype(dtype))
    return placed(drawn, device)
