"""Secret, public and relinearization keys; encryption and decryption.

A secret lives in tensors that are zeroed when they are no longer needed.  Nothing here prints,
copies, pickles or traces one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import NoReturn, Self

import numpy as np

import cloakwork as cw
from cloakwork import ops
from cloakwork.errors import MissingKeyError
from cloakwork.fhe.ciphertext import Ciphertext, Plaintext, component
from cloakwork.fhe.context import Context
from cloakwork.fhe.parameters import ERROR_SIGMA
from cloakwork.fhe.ring import Ring


@contextmanager
def _wiped(secret: cw.Tensor) -> Iterator[cw.Tensor]:
    """Zero `secret` on the way out, whatever happens."""
    try:
        yield secret
    finally:
        secret.zeroize()


def _small(ring: Ring, sample: cw.Tensor) -> cw.Tensor:
    """Small signed samples [..., N], which are zeroed -> NTT domain [..., N, k]."""
    with _wiped(sample), _wiped(ring.residues(sample)) as residues:
        return ring.ntt(residues)


def _error(ring: Ring, batch: tuple[int, ...]) -> cw.Tensor:
    """Discrete Gaussian error of standard deviation 3.2, NTT domain [*batch, N, k]."""
    return _small(ring, cw.random.gaussian((*batch, ring.degree), sigma=ERROR_SIGMA))


def _ternary(ring: Ring, batch: tuple[int, ...]) -> cw.Tensor:
    """Uniform ternary polynomial, NTT domain [*batch, N, k]."""
    return _small(ring, cw.random.ternary((*batch, ring.degree)))


def _encrypt_with_secret(ring: Ring, message: cw.Tensor, secret: cw.Tensor) -> cw.Tensor:
    """(m + e - a s, a) of message [*batch, N, k], for fresh uniform a: [*batch, 2, N, k]."""
    batch = tuple(message.shape[:-2])
    data = cw.empty((*batch, 2, ring.degree, ring.limbs), "i64")
    uniform = component(data, 1)
    # Uniform residues are uniform in the NTT domain too.
    ops.modsum(cw.random.uniform_mod(tuple(message.shape), ring.q), 0, ring.q, out=uniform)
    with _wiped(ops.modmul(uniform, secret, ring.q)) as mask, _wiped(_error(ring, batch)) as error:
        ops.modneg(mask, ring.q, out=mask)
        ops.modsum(mask, error, ring.q, out=mask)
        ops.modsum(message, mask, ring.q, out=component(data, 0))
    return data


class SecretKey:
    """A uniform ternary secret.

    Use it as a context manager, or call `release`: the secret is then overwritten with zeros.  It
    is overwritten when the object dies, too.
    """

    __slots__ = ("_secret", "context")

    def __init__(self, context: Context) -> None:
        """Draw a fresh secret."""
        self.context = context
        self._secret: cw.Tensor | None = _ternary(context.top, ())
        self._secret.mark_secret()

    def public_key(self) -> PublicKey:
        """An encryption of zero, with which anyone can encrypt."""
        ring = self.context.top
        zero = cw.zeros((ring.degree, ring.limbs), "i64")
        return PublicKey(self.context, _encrypt_with_secret(ring, zero, self._at(ring)))

    def relinearization_key(self) -> RelinearizationKey:
        """Encryptions of 2^(w j) s^2 for each digit j of the whole modulus."""
        ring, base_log2 = self.context.top, self.context.parameters.gadget_base_log2
        count = ring.digit_count(base_log2)
        powers = np.array(
            [[pow(2, base_log2 * place, q) for q in ring.moduli] for place in range(count)],
            dtype=np.int64,
        )
        gadget = cw.asarray(powers).unsqueeze(1)
        secret = self._at(ring)
        with (
            _wiped(ops.modmul(secret, secret, ring.q)) as square,
            _wiped(ops.modmul(gadget, square, ring.q)) as messages,
        ):
            data = _encrypt_with_secret(ring, messages, secret)
        return RelinearizationKey(self.context, data.moveaxis(-1, -2).contiguous())

    def encrypt(self, plaintext: Plaintext) -> Ciphertext:
        """Encrypt a plaintext, or a batch of them, at its level.

        Shape    [..., N, k] -> [..., 2, N, k]
        Noise    one Gaussian of standard deviation 3.2 a coefficient
        """
        ring = self.context.ring(plaintext.level, "encrypt")
        data = _encrypt_with_secret(ring, plaintext.data, self._at(ring))
        return Ciphertext(data, plaintext.level, plaintext.scale)

    def decrypt(self, ciphertext: Ciphertext) -> Plaintext:
        """c0 + c1 s: the message with its noise.

        A decryption that is given to others reveals noise, and with it the secret, little by
        little (IND-CPA-D, ePrint 2020/1533): share rounded values, not raw decodings.
        """
        ring = self.context.ring(ciphertext.level, "decrypt")
        # With the public c1, c1 s is as good as s.
        with _wiped(ops.modmul(component(ciphertext.data, 1), self._at(ring), ring.q)) as mask:
            message = ops.modsum(component(ciphertext.data, 0), mask, ring.q)
        return Plaintext(message, ciphertext.level, ciphertext.scale)

    def release(self) -> None:
        """Overwrite the secret with zeros; the key is of no use afterwards."""
        if self._secret is not None:
            self._secret.zeroize()
            self._secret = None

    def _at(self, ring: Ring) -> cw.Tensor:
        """View [N, k] of the secret for the limbs of `ring`."""
        if self._secret is None:
            raise MissingKeyError("this SecretKey was released: its secret is gone")
        return self._secret[:, 0 : ring.limbs]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        # A key whose construction failed has no secret yet.
        if hasattr(self, "_secret"):
            self.release()

    def __repr__(self) -> str:
        state = "released" if self._secret is None else "secret hidden"
        return f"SecretKey(degree={self.context.parameters.degree}, {state})"

    def __copy__(self) -> NoReturn:
        raise TypeError("a SecretKey is neither copied nor pickled")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __getstate__(self) -> NoReturn:
        self.__copy__()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> NoReturn:
        self.__copy__()


@dataclass(frozen=True, eq=False)
class PublicKey:
    """An encryption of zero: [2, N, k] in the NTT domain."""

    context: Context
    data: cw.Tensor

    def encrypt(self, plaintext: Plaintext) -> Ciphertext:
        """Encrypt a plaintext, or a batch of them, at its level: (b u + e0 + m, a u + e1).

        Shape    [..., N, k] -> [..., 2, N, k]
        Noise    about 3.2 * sqrt(4 N / 3 + 1) a coefficient
        """
        ring = self.context.ring(plaintext.level, "encrypt")
        batch = tuple(plaintext.data.shape[:-2])
        key = self.data[:, :, 0 : ring.limbs]
        with _wiped(_ternary(ring, batch)) as ephemeral:
            data = ops.modmul(ephemeral.unsqueeze(ephemeral.ndim - 2), key, ring.q)
        with _wiped(_error(ring, (*batch, 2))) as error:
            ops.modsum(data, error, ring.q, out=data)
        body = component(data, 0)
        ops.modsum(body, plaintext.data, ring.q, out=body)
        return Ciphertext(data, plaintext.level, plaintext.scale)

    def __repr__(self) -> str:
        return f"PublicKey(degree={self.context.parameters.degree})"


@dataclass(frozen=True, eq=False)
class RelinearizationKey:
    """Encryptions of 2^(w j) s^2: [digits, 2, k, N] in the NTT domain, limbs before N.

    The digits of a value below Q recompose as integers, so the first limbs of the first digits
    are the key of a lower level.
    """

    context: Context
    data: cw.Tensor

    def at(self, ring: Ring, part: int) -> cw.Tensor:
        """View [digits of `ring`, k, N] of component `part`."""
        count = ring.digit_count(self.context.parameters.gadget_base_log2)
        return self.data[0:count, part, 0 : ring.limbs, :]

    @property
    def size_bytes(self) -> int:
        """Bytes of its residues."""
        return 8 * prod(self.data.shape)

    def __repr__(self) -> str:
        return f"RelinearizationKey(shape={tuple(self.data.shape)})"
