"""A small insecure ring and its keys, shared by the CKKS tests."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from cloakwork import fhe
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Setup:
    """Keys and shorthand for one set of parameters."""

    parameters: fhe.Parameters

    @cached_property
    def context(self) -> fhe.Context:
        return fhe.Context(self.parameters)

    @cached_property
    def secret(self) -> fhe.SecretKey:
        return fhe.SecretKey(self.context)

    @cached_property
    def public(self) -> fhe.PublicKey:
        return self.secret.public_key()

    @cached_property
    def evaluator(self) -> fhe.Evaluator:
        return fhe.Evaluator(self.context, self.secret.relinearization_key())

    def encrypt(self, values: ArrayLike) -> fhe.Ciphertext:
        return self.public.encrypt(fhe.encode(self.context, values))

    def decrypt(self, ciphertext: fhe.Ciphertext) -> NDArray[np.complex128]:
        return fhe.decode(self.context, self.secret.decrypt(ciphertext))


def small_setup(degree: int = 64, modulus_bits: tuple[int, ...] = (60, 40, 40, 40)) -> Setup:
    """Keys for a toy ring: right, and not secure."""
    return Setup(fhe.Parameters.with_bits(degree, modulus_bits, 40, insecure=True))


def slots(setup: Setup, batch: tuple[int, ...] = (), seed: int = 7) -> NDArray[np.complex128]:
    """Complex values of size about 1, one a slot."""
    generator = np.random.default_rng(seed)
    pairs = generator.uniform(-1, 1, (*batch, setup.parameters.slots, 2))
    return np.asarray(pairs.view(np.complex128)[..., 0])
