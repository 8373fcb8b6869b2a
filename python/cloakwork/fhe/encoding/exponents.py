"""Powers mod an integer: the odd exponents of roots of unity in the order of slots."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


def powers(base: int, count: int, modulus: int) -> NDArray[np.int64]:
    """[count]: base^0, base^1, ... mod a modulus below 2^31, by doubling."""
    found = np.ones(1, dtype=np.int64)
    while len(found) < count:
        found = np.concatenate((found, found * pow(base, len(found), modulus) % modulus))
    return found[:count]


@lru_cache(maxsize=8)
def rotation_exponents(degree: int) -> NDArray[np.int64]:
    """[N / 2]: 5^j mod 2 N, at which slot j stands, and the automorphism that rotates by j."""
    found = powers(5, degree // 2, 2 * degree)
    found.flags.writeable = False
    return found
