"""Uniform field elements, which blind polynomials and make proofs zero-knowledge."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError
from cloakwork.tensors.conversion import DTypeLike

_KEY_BYTES = 32


@dataclass
class Draws:
    """The draws of a program's function: its n-th draw has the run's key and the domain n.

    So the same function draws the same elements under one key, recorded or not, and no two draws
    of one run are alike.

    seeded   whether a draw followed from a seed that the function itself names
    """

    key: Tensor
    seeded: bool = False
    numbers: Iterator[int] = field(default_factory=count)


_DRAWS: ContextVar[Draws | None] = ContextVar("draws", default=None)


def current() -> Draws | None:
    """The draws so far where a program's function is at work; None elsewhere."""
    return _DRAWS.get()


@contextmanager
def keyed(key: Tensor) -> Iterator[Draws]:
    """Use this key for draws without a seed."""
    draws = Draws(key)
    token = _DRAWS.set(draws)
    try:
        yield draws
    finally:
        _DRAWS.reset(token)


def uniform(
    shape: int | Sequence[int],
    dtype: DTypeLike = "bn254.fr",
    *,
    seed: bytes | None = None,
    domain: int = 0,
) -> Tensor:
    """Uniform elements of a field: 64 bytes of ChaCha20 modulo its prime, each.

    Without `seed` the key is 256 bits of the operating system's entropy, and is kept nowhere.  With
    a seed of 32 bytes the elements follow from it and from `domain`, which separates draws with one
    seed: for tests only, as a proof whose blinding is known, or used twice, hides nothing.  In the
    function of a `zk.program` elements without a seed follow from the key of the run.

    >>> from cloakwork import zk
    >>> zk.uniform(2, "babybear", seed=bytes(32)).tolist()
    [122700657, 972557564]
    >>> zk.uniform(3).dtype
    cloakwork.bn254_fr
    """
    key, domain = _stream(seed, domain)
    return ops.uniform_field(key, shape, _core.dtype(dtype), domain)


def blind(a: Tensor, start: int, end: int, *, seed: bytes | None = None, domain: int = 0) -> None:
    """Overwrite `a[start:end]` with uniform elements, as `uniform` draws them; `a` has one axis.

    >>> import cloakwork as cw
    >>> from cloakwork import zk
    >>> a = cw.ones(5, dtype="bn254.fr")
    >>> zk.blind(a, 3, 5)
    >>> a[:3].tolist()
    [1, 1, 1]
    """
    key, domain = _stream(seed, domain)
    ops.blind(a, start, end, key, domain)


def _stream(seed: bytes | None, domain: int) -> tuple[Tensor, int]:
    """Key and domain of a draw."""
    draws = current()
    if draws is None or seed is not None:
        if draws is not None:
            draws.seeded = True
        return _key(seed), domain
    # Of the caller's nothing goes into the number of a draw, so that no two are alike.
    return draws.key, next(draws.numbers)


def _key(seed: bytes | None) -> Tensor:
    if seed is not None and len(seed) != _KEY_BYTES:
        raise ParamError("seed", f"{len(seed)} bytes", f"{_KEY_BYTES} bytes")
    octets = np.frombuffer(secrets.token_bytes(_KEY_BYTES) if seed is None else seed, np.uint8)
    key = _core.from_buffer(octets, _core.uint8, octets.shape)
    if seed is None:
        key.mark_secret()
    return key
