"""Random polynomials: uniform from a public seed, small ones from the operating system.

Small ones are secret: they are zeroed when they have been used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from secrets import token_bytes

from cloakwork import _core, ops, random
from cloakwork._core import Tensor
from cloakwork.fhe.parameters import ERROR_SIGMA
from cloakwork.fhe.rns.layout import residues
from cloakwork.fhe.rns.tables import Basis
from cloakwork.modular.negacyclic import integers

SEED_BYTES = 32


@contextmanager
def wiped(secret: Tensor) -> Iterator[Tensor]:
    """Zero `secret` on exit, also after an exception."""
    try:
        yield secret
    finally:
        secret.zeroize()


def fresh_seed() -> bytes:
    """32 bytes from the operating system, for public data."""
    return token_bytes(SEED_BYTES)


def seed_of(seed: bytes, number: int) -> bytes:
    """The seed of one of several parts: BLAKE2b of its number, keyed by the seed."""
    return blake2b(number.to_bytes(8, "little"), key=seed, digest_size=SEED_BYTES).digest()


def uniform(seed: bytes, batch: Sequence[int], basis: Basis, out: Tensor | None = None) -> Tensor:
    """Uniform residues [*batch, N, k], expanded from `seed`.

    Entry (b, n, i) is (word 2 p + 1) * 2^64 + (word 2 p) mod q_i, for p = (b k + i) N + n, of
    ChaCha20's keystream under the seed.  Uniform residues are uniform in the NTT domain, too.
    """
    out = residues(batch, basis.degree, basis.limbs) if out is None else out
    words = _core.random_words([*batch, basis.limbs, basis.degree, 2], seed)
    return ops.uniform_mod(words.moveaxis(-3, -2), basis.q, out=out)


def small(basis: Basis, sample: Tensor) -> Tensor:
    """Small signed samples [N], [B, N] or [B, C, N], which are zeroed -> NTT domain [..., N, k]."""
    with wiped(sample):
        values = basis.reduce(sample)
    batch = values.unsqueeze(0) if values.ndim == 2 else values
    basis.ntt(batch, out=batch)
    return values


def error(basis: Basis, batch: Sequence[int], multiple: int = 1) -> Tensor:
    """Discrete Gaussian errors of standard deviation 3.2 times `multiple`: [*batch, N, k]."""
    values = small(basis, random.gaussian((*batch, basis.degree), sigma=ERROR_SIGMA))
    if multiple != 1:
        factor = integers([multiple % q for q in basis.moduli])
        ops.modmul(values, factor, basis.q, out=values)
    return values


def ternary(basis: Basis, batch: Sequence[int]) -> Tensor:
    """Uniform ternary polynomials [*batch, N, k]."""
    return small(basis, random.ternary((*batch, basis.degree)))
