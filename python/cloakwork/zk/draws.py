"""Uniform field elements: what blinds polynomials and makes proofs zero-knowledge."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.arrays import DTypeLike
from cloakwork.errors import ParamError

_KEY_BYTES = 32


def uniform(
    shape: int | Sequence[int],
    dtype: DTypeLike = "bn254.fr",
    *,
    seed: bytes | None = None,
    domain: int = 0,
) -> Tensor:
    """Uniform elements of a field: 64 bytes of ChaCha20 modulo its prime, each.

    Without `seed` the key is 256 bits of the operating system's entropy, and is kept nowhere.  With
    a seed of 32 bytes the elements follow from it and from `domain`, which tells draws of one seed
    apart: for tests alone, as a proof whose blinding is known, or used twice, hides nothing.

    >>> from cloakwork import zk
    >>> zk.uniform(2, "babybear", seed=bytes(32)).tolist()
    [122700657, 972557564]
    >>> zk.uniform(3).dtype
    cloakwork.bn254_fr
    """
    return ops.uniform_field(_key(seed), shape, _core.dtype(dtype), domain)


def blind(a: Tensor, start: int, end: int, *, seed: bytes | None = None, domain: int = 0) -> None:
    """Overwrite `a[start:end]` with uniform elements, as `uniform` draws them; `a` has one axis.

    >>> import cloakwork as cw
    >>> from cloakwork import zk
    >>> a = cw.ones(5, dtype="bn254.fr")
    >>> zk.blind(a, 3, 5)
    >>> a[:3].tolist()
    [1, 1, 1]
    """
    ops.blind(a, start, end, _key(seed), domain)


def _key(seed: bytes | None) -> Tensor:
    if seed is not None and len(seed) != _KEY_BYTES:
        raise ParamError("seed", f"{len(seed)} bytes", f"{_KEY_BYTES} bytes")
    octets = np.frombuffer(secrets.token_bytes(_KEY_BYTES) if seed is None else seed, np.uint8)
    key = _core.from_buffer(octets, _core.uint8, octets.shape)
    if seed is None:
        key.mark_secret()
    return key
