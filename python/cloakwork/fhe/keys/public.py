"""The public key, with which anyone can encrypt."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.rns.layout import limb_range, part, residues
from cloakwork.fhe.rns.samplers import error, fresh_seed, ternary, uniform, wiped
from cloakwork.fhe.rns.tables import Basis, frozen
from cloakwork.fhe.streams import Stored
from cloakwork.lazy import public

if TYPE_CHECKING:
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.encoding.plaintext import Plaintext
    from cloakwork.fhe.files.container import PathLike


@public("cloakwork.fhe")
@dataclass(frozen=True, eq=False)
class PublicKey(Stored):
    """An encryption of zero under every modulus of the chain.

    data   [2, N, k]; its second half is expanded from `seed`, if it has one: another library's
           key has b"", and is stored whole
    key    the secret's fingerprint
    """

    context: Context
    data: Tensor
    seed: bytes
    key: str

    def encrypt(
        self,
        values: Any,
        *,
        level: int | None = None,
        scale: float | None = None,
        bound: Stated | None = None,
        batch: bool = False,
    ) -> Ciphertext:
        """Encrypt values, or a plaintext: (b u + e0 + m, a u + e1) for a fresh ternary u.

        The options are those of `Keys.encrypt`.

        Noise   about 3.2 sqrt(4 N / 3 + 1) per coefficient
        """
        plaintext = self.context.plaintext(values, level=level, scale=scale, batch=batch)
        fresh = noise.fresh_public(self.context.parameters)
        return self.context.ciphertext(plaintext, self._masked(plaintext), self.key, fresh, bound)

    def _masked(self, plaintext: Plaintext) -> Tensor:
        basis = self.context.tables.chain(plaintext.level)
        multiple = self.context.parameters.error_multiple
        batch = tuple(plaintext.data.shape[:-2])
        key = limb_range(self.data, 0, basis.limbs)
        data = residues((*batch, 2), basis.degree, basis.limbs)
        with wiped(ternary(basis, batch)) as ephemeral:
            ops.modmul(ephemeral.unsqueeze(ephemeral.ndim - 2), key, basis.q, out=data)
        with wiped(error(basis, (*batch, 2), multiple)) as mistakes:
            ops.modsum(data, mistakes, basis.q, out=data)
        body = part(data, 0)
        ops.modsum(body, self.context.message(plaintext), basis.q, out=body)
        return data

    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open; `fhe.load` reads it."""
        from cloakwork.fhe.files.storage import save_public

        save_public(path, self)

    def __repr__(self) -> str:
        return f"PublicKey(degree={self.context.parameters.degree}, key={self.key[:8]})"


def secret_encryption(
    basis: Basis, message: Tensor | None, secret: Tensor, multiple: int, batch: tuple[int, ...] = ()
) -> tuple[Tensor, bytes]:
    """(m + e - a s, a) for a fresh seed's a: [*batch, 2, N, k], and the seed."""
    seed = fresh_seed()
    data = residues((*batch, 2), basis.degree, basis.limbs)
    body, random = part(data, 0), part(data, 1)
    uniform(seed, batch, basis, out=random)
    with (
        wiped(ops.modmul(random, secret, basis.q)) as mask,
        wiped(error(basis, batch, multiple)) as mistakes,
    ):
        ops.modneg(mask, basis.q, out=mask)
        ops.modsum(mask, mistakes, basis.q, out=body)
    if message is not None:
        ops.modsum(body, message, basis.q, out=body)
    return data, seed


def expanded_encryption(basis: Basis, body: Tensor, seed: bytes) -> Tensor:
    """The full ciphertext from the first half and the seed of `secret_encryption`."""
    batch = tuple(body.shape[:-2])
    data = residues((*batch, 2), basis.degree, basis.limbs)
    ops.copy(body, out=part(data, 0))
    uniform(seed, batch, basis, out=part(data, 1))
    return data


def fingerprint(data: Tensor, seed: bytes) -> str:
    """32 hexadecimal digits for a secret, from its public key [2, N, k]."""
    halves = data[0, :, 0] if seed else data[:, :, 0]
    limb = np.ascontiguousarray(np.asarray(halves))
    return blake2b(seed + limb.tobytes(), digest_size=16).hexdigest()


def public_key(context: Context, secret: Tensor) -> PublicKey:
    """A fresh public key under a secret [N, k]."""
    basis = context.tables.chain(context.parameters.level)
    data, seed = secret_encryption(basis, None, secret, context.parameters.error_multiple)
    return PublicKey(context, frozen(data), seed, fingerprint(data, seed))
