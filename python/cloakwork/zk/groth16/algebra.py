"""What proving and setting up share: scalars and points as tensors, and sparse products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import cloakwork as cw
from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.zk.files import Matrix
from cloakwork.zk.statements import SCALAR_PRIMES

# R of Montgomery form, for both curves' scalars.
MONTGOMERY_R = 1 << 256


def _number(high: str, low: str) -> int:
    """A number of 384 bits, in two halves of a line each."""
    return int(high + low, 16)


# The points that generate the groups; coordinates of G2 as pairs, in order x, y.
_BN254_G2 = (
    10857046999023057135944570762232829481370756359578518086990519993285655852781,
    11559732032986387107991004021392285783925812861821192530917403151452391805634,
    8495653923123431417604973247489272438418190587263600148770280649306958101930,
    4082367875863433681332203403145435568316851327593401208105741076214120093531,
)
_BLS12_381_G1 = (
    _number(
        "17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905",
        "A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB",
    ),
    _number(
        "08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF6",
        "00DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1",
    ),
)
_BLS12_381_G2 = (
    _number(
        "024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02",
        "B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8",
    ),
    _number(
        "13E02B6052719F607DACD3A088274F65596BD0D09920B61A",
        "B5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E",
    ),
    _number(
        "0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A7",
        "6D429A695160D12C923AC9CC3BACA289E193548608B82801",
    ),
    _number(
        "0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF",
        "267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE",
    ),
)
_GENERATORS = {
    "bn254": ((1, 2), _BN254_G2),
    "bls12_381": (_BLS12_381_G1, _BLS12_381_G2),
}


def words(numbers: Sequence[int], count: int) -> Tensor:
    """Canonical words, u64 [numbers, count], the lowest first."""
    data = b"".join(number.to_bytes(8 * count, "little") for number in numbers)
    return cw.asarray(np.frombuffer(data, dtype="<u8").reshape(len(numbers), count))


def scalars(curve: str, numbers: Sequence[int]) -> Tensor:
    """Scalars [numbers] of integers, taken modulo the prime."""
    prime = SCALAR_PRIMES[curve]
    return from_words(curve, words([number % prime for number in numbers], 4))


def from_words(curve: str, canonical: Tensor) -> Tensor:
    """Scalars of canonical words; an error names the first that is not below the prime."""
    return ops.from_canonical(canonical, f"{curve}.fr")


def generators(curve: str) -> tuple[Tensor, Tensor]:
    """The generators of G1 and G2, [1] each."""
    found = []
    for group, coordinates in zip(("g1", "g2"), _GENERATORS[curve], strict=True):
        width = 4 if curve == "bn254" else 6
        flat = words(coordinates, width).reshape(1, width * len(coordinates))
        found.append(ops.from_canonical(flat, f"{curve}.{group}"))
    return found[0], found[1]


def point_bytes(points: Tensor) -> bytes:
    """Points as canonical little-endian bytes, one after the other."""
    return np.asarray(ops.to_canonical(points)).tobytes()


def in_scalars(curve: str, matrix: Matrix) -> Matrix:
    """A circuit's matrix, whose values are canonical words, with scalars."""
    return Matrix(matrix.starts, matrix.columns, from_words(curve, matrix.values))


def product(matrix: Matrix, vector: Tensor, out: Tensor | None = None) -> Tensor:
    """A sparse matrix times a vector of scalars: [rows]."""
    return ops.sparse_matvec(matrix.starts, matrix.columns, matrix.values, vector, out=out)


def joined(first: Tensor, second: Tensor) -> Tensor:
    """One behind the other."""
    length = first.shape[0]
    both = ops.empty((length + second.shape[0],), first.dtype)
    both[:length] = first
    both[length:] = second
    return both
