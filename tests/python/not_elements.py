"""Invalid elements of fields, and points outside a curve or its group: coordinates, and reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
from cloakwork import _core
from python.zk_oracles import P

Coordinates = tuple[int, ...]
# 3 / (9 + u), of y^2 = x^3 + 3 / (9 + u): EIP-197.
BN254_TWIST = (
    19485874751759354771024239261021720505790618469301721065564631296452457478373,
    266929791119991161246907387137283842545076965332900288569378510910307636690,
)


def root(value: int, p: int) -> int | None:
    """A square root modulo a prime of 3 modulo 4."""
    found = pow(value, (p + 1) // 4, p)
    return found if found * found % p == value % p else None


def root2(a: int, b: int, p: int) -> tuple[int, int] | None:
    """A square root of a + b u, u^2 = -1, b not 0."""
    norm = root(a * a + b * b, p)
    for sign in (1, -1):
        if norm is not None and (y0 := root((a + sign * norm) * pow(2, -1, p), p)):
            return y0, b * pow(2 * y0, -1, p) % p
    return None


def on_the_twist(b: tuple[int, int], p: int) -> Coordinates:
    """A point with a small x: of the curve over the extension, in no group of prime order."""
    for x in range(1, 50):
        y = root2((x**3 + b[0]) % p, b[1], p)
        if y is not None:
            return (x, 0, *y)
    raise AssertionError("no such point")


BN, BLS = P["bn254.fq"], P["bls12_381.fq"]
NOT_ELEMENTS: dict[str, tuple[str, Coordinates, str]] = {
    "a scalar at the prime": ("bn254.fr", (P["bn254.fr"],), "not below the prime"),
    "a number above the prime": ("goldilocks", (2**64 - 1,), "not below the prime"),
    "a coordinate at the prime": ("bn254.g1", (1, BN), "not below the prime"),
    "off the curve": ("bn254.g1", (1, 3), "not on the curve"),
    "off the twist": ("bn254.g2", (1, 2, 3, 4), "not on the curve"),
    "on the curve of points of order 3": ("bls12_381.g1", (0, 2), "group of prime order"),
    "outside of BN254's G2": (
        "bn254.g2", on_the_twist(BN254_TWIST, BN), "group of prime order",
    ),
    "outside of BLS12-381's G2": (
        "bls12_381.g2", on_the_twist((4, 4), BLS), "group of prime order",
    ),
}  # fmt: skip


def words_of(dtype: str, coordinates: Coordinates) -> np.ndarray[Any, np.dtype[np.uint64]]:
    each = _core.dtype(dtype).itemsize // len(coordinates)
    data = b"".join(number.to_bytes(each, "little") for number in coordinates)
    return np.frombuffer(data, np.uint64)
