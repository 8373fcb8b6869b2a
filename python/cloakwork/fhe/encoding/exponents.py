"""Powers mod an integer: the odd exponents of roots of unity in the order of slots."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cloakwork.modular.primes import primitive_root

# The library in whose order a context has its slots.
SlotOrder = Literal["cloakwork", "seal", "openfhe", "lattigo"]

# X -> X^(generator^r) rotates slots by r.
GENERATORS = {"cloakwork": 5, "seal": 3, "openfhe": 5, "lattigo": 5}


def powers(base: int, count: int, modulus: int) -> NDArray[np.int64]:
    """[count]: base^0, base^1, ... mod a modulus below 2^31, by doubling."""
    found = np.ones(1, dtype=np.int64)
    while len(found) < count:
        found = np.concatenate((found, found * pow(base, len(found), modulus) % modulus))
    return found[:count]


@lru_cache(maxsize=8)
def rotation_exponents(degree: int, generator: int = 5) -> NDArray[np.int64]:
    """[N / 2]: g^j mod 2 N, at which slot j stands, and the automorphism that rotates by j."""
    found = powers(generator, degree // 2, 2 * degree)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=8)
def row_exponents(degree: int, t: int, order: SlotOrder) -> NDArray[np.int64]:
    """[N]: e such that slot j of the two rows mod t is the polynomial at psi^e, psi ours."""
    first = rotation_exponents(degree, GENERATORS[order])
    both = np.concatenate((first, 2 * degree - first))
    found = both * _root_exponent(degree, t, order) % (2 * degree)
    found.flags.writeable = False
    return found


def _root_exponent(degree: int, t: int, order: SlotOrder) -> int:
    """The odd e such that a library's root mod t is ours to the power of e."""
    if order == "cloakwork":
        return 1
    values = powers(primitive_root(2 * degree, t), 2 * degree, t)[1::2]
    if order == "lattigo":
        own = pow(_least_generator(t), (t - 1) // (2 * degree), t)
        return 2 * int(np.flatnonzero(values == own)[0]) + 1
    return 2 * int(values.argmin()) + 1


def _least_generator(t: int) -> int:
    factors, rest, divisor = set(), t - 1, 2
    while divisor * divisor <= rest:
        while rest % divisor == 0:
            factors.add(divisor)
            rest //= divisor
        divisor += 1
    factors |= {rest} - {1}
    candidate = 2
    while any(pow(candidate, (t - 1) // factor, t) == 1 for factor in factors):
        candidate += 1
    return candidate
