"""Small insecure rings with their keys, shared by the tests of schemes."""

from functools import cache

import numpy as np
from cloakwork import fhe
from numpy.typing import ArrayLike, NDArray

Complex = NDArray[np.complex128]
Integers = NDArray[np.int64]
T = 65537


@cache
def ckks(degree: int = 256, levels: int = 4, *, special: int = 2, manual: bool = False) -> fhe.Keys:
    """Keys of a toy ring for CKKS: right, and not secure."""
    context = fhe.ckks(
        degree,
        moduli=[50] + [40] * levels,
        special=[50] * special,
        insecure=True,
        levels="manual" if manual else "auto",
    )
    return context.keygen(rotations=[1, 2, 4, -1])


@cache
def bgv(degree: int = 256, levels: int = 5, *, t: int = T, special: int = 2) -> fhe.Keys:
    """Keys of a toy ring for BGV."""
    context = fhe.bgv(degree, t, moduli=[49] * (levels + 1), special=[50] * special, insecure=True)
    return context.keygen(rotations=[1, 2, 4, -1])


@cache
def bfv(degree: int = 256, levels: int = 5, *, t: int = T, special: int = 2) -> fhe.Keys:
    """Keys of a toy ring for BFV."""
    context = fhe.bfv(degree, t, moduli=[49] * (levels + 1), special=[50] * special, insecure=True)
    return context.keygen(rotations=[1, 2, 4, -1])


def unit_slots(keys: fhe.Keys, seed: int, batch: tuple[int, ...] = ()) -> Complex:
    """Complex numbers of size 1, one for each slot: their products have size 1 too."""
    generator = np.random.default_rng(seed)
    return np.exp(2j * np.pi * generator.random((*batch, keys.context.slots)))


def integer_slots(keys: fhe.Keys, seed: int, batch: tuple[int, ...] = ()) -> Integers:
    """Integers mod t, centred around 0, one a slot."""
    t = keys.context.parameters.plain_modulus
    drawn = np.random.default_rng(seed).integers(0, t, (*batch, keys.context.slots))
    return centred(drawn, t)


def centred(values: ArrayLike, t: int = T) -> Integers:
    """Mod t, from -t / 2 to t / 2."""
    half = (t - 1) // 2
    return np.asarray((np.asarray(values) + half) % t - half)


def rolled(values: Integers, step: int) -> Integers:
    """Both rows of BGV's slots, rotated to the left."""
    half = values.shape[-1] // 2
    rows = (values[..., :half], values[..., half:])
    return np.concatenate([np.roll(row, -step, axis=-1) for row in rows], axis=-1)


def error(keys: fhe.Keys, ciphertext: fhe.Ciphertext, expected: ArrayLike) -> float:
    """The largest distance of a slot from its expected value."""
    return float(np.abs(keys.decrypt(ciphertext) - np.asarray(expected)).max())


def measured_bits(keys: fhe.Keys, ciphertext: fhe.Ciphertext, expected: ArrayLike) -> float:
    """Bits of precision that a result really has."""
    return float(-np.log2(max(error(keys, ciphertext, expected), 1e-300)))
