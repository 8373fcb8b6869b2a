"""Hashes, keystreams and curves in plain Python: what zero-knowledge tests compare with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

P = {
    "bn254.fr": 21888242871839275222246405745257275088548364400416034343698204186575808495617,
    "bn254.fq": 21888242871839275222246405745257275088696311157297823662689037894645226208583,
    "bls12_381.fr": 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    "bls12_381.fq": int(
        "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf"
        "6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
        16,
    ),
    "goldilocks": 2**64 - 2**32 + 1,
    "babybear": 2**31 - 2**27 + 1,
    "koalabear": 2**31 - 2**24 + 1,
    "mersenne31": 2**31 - 1,
    "pasta.fp": 0x40000000000000000000000000000000224698FC094CF91B992D30ED00000001,
    "pasta.fq": 0x40000000000000000000000000000000224698FC0994A8DD8C46EB2100000001,
}
BYTES = {
    "bn254.fr": 32,
    "bn254.fq": 32,
    "bls12_381.fr": 32,
    "bls12_381.fq": 48,
    "goldilocks": 8,
    "babybear": 4,
    "koalabear": 4,
    "mersenne31": 4,
    "pasta.fp": 32,
    "pasta.fq": 32,
}
# Extensions: the prime field, the degree d and w of polynomials modulo x^d - w.
EXTENSIONS: dict[str, tuple[str, int, int]] = {
    "babybear.ext4": ("babybear", 4, 11),
    "goldilocks.ext2": ("goldilocks", 2, 7),
}
# Published with them: a generator of the group of all elements but 0, the prime factors of its
# order, and an element of the order of a power of two.
PUBLISHED: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, ...], int]]] = {
    # Plonky3, baby-bear.
    "babybear.ext4": (
        (8, 1, 0, 0),
        (2, 3, 5, 31, 97, 12241, 32472031, 1706804017873),
        ((0, 0, 0, 124907976), 2**29),
    ),
    # Plonky2 and Plonky3, goldilocks.
    "goldilocks.ext2": (
        (18081566051660590251, 16121475356294670766),
        (2, 3, 5, 7, 17, 179, 257, 65537, 7361031152998637),
        ((0, 15659105665374529263), 2**33),
    ),
}
# The fields of coordinates and of scalars.
CURVES = {
    "bn254": ("bn254.fq", "bn254.fr"),
    "bls12_381": ("bls12_381.fq", "bls12_381.fr"),
    "pallas": ("pasta.fp", "pasta.fq"),
    "vesta": ("pasta.fq", "pasta.fp"),
}


Polynomial = tuple[int, ...]


@dataclass(frozen=True)
class Extension:
    """The arithmetic of polynomials modulo x^degree - w over the integers modulo p."""

    p: int
    degree: int
    w: int

    @classmethod
    def of(cls, name: str) -> Extension:
        """The extension of this name."""
        base, degree, w = EXTENSIONS[name]
        return cls(P[base], degree, w)

    def element(self, *coefficients: int) -> Polynomial:
        """The polynomial, with zeros behind."""
        return (*(c % self.p for c in coefficients), *[0] * (self.degree - len(coefficients)))

    def add(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The sum a + b."""
        return tuple((x + y) % self.p for x, y in zip(a, b, strict=True))

    def sub(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The difference a - b."""
        return tuple((x - y) % self.p for x, y in zip(a, b, strict=True))

    def mul(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The product a b of the polynomials, reduced."""
        product = [0] * (2 * self.degree)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                product[i + j] += x * y
        low, high = product[: self.degree], product[self.degree :]
        return tuple((x + self.w * y) % self.p for x, y in zip(low, high, strict=True))

    def power(self, a: Polynomial, exponent: int) -> Polynomial:
        """a^exponent; of the inverse where the exponent is negative."""
        if exponent < 0:
            a, exponent = self.inverse(a), -exponent
        result = self.element(1)
        for bit in f"{exponent:b}":
            result = self.mul(result, result)
            result = self.mul(result, a) if bit == "1" else result
        return result

    def inverse(self, a: Polynomial) -> Polynomial:
        """1 / a, 0 for 0: the group has p^degree - 1 elements."""
        return self.power(a, self.p**self.degree - 2)


def _rotated(word: int, bits: int, width: int = 64) -> int:
    return (word << bits | word >> (width - bits)) & ((1 << width) - 1) if bits else word


def _keccak_f(lanes: list[list[int]]) -> list[list[int]]:
    register = 1
    for _ in range(24):
        columns = [a[0] ^ a[1] ^ a[2] ^ a[3] ^ a[4] for a in lanes]
        mixed = [columns[x - 1] ^ _rotated(columns[(x + 1) % 5], 1) for x in range(5)]
        lanes = [[lane ^ mixed[x] for lane in lanes[x]] for x in range(5)]
        x, y, current = 1, 0, lanes[1][0]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            turned = _rotated(current, (t + 1) * (t + 2) // 2 % 64)
            current, lanes[x][y] = lanes[x][y], turned
        for y in range(5):
            row = [lanes[x][y] for x in range(5)]
            for x in range(5):
                lanes[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5])
        for j in range(7):
            register = (register << 1 ^ (register >> 7) * 0x171) % 256
            if register & 2:
                lanes[0][0] ^= 1 << ((1 << j) - 1)
    return lanes


def sponge256(message: bytes, suffix: int) -> bytes:
    """Keccak with a rate of 136 bytes: suffix 1 is Keccak-256, 6 is SHA3-256."""
    rate = 136
    padded = bytearray(message + bytes([suffix]) + bytes(-(len(message) + 1) % rate))
    padded[-1] |= 0x80
    lanes = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded), rate):
        for i in range(rate // 8):
            word = int.from_bytes(padded[start + 8 * i : start + 8 * i + 8], "little")
            lanes[i % 5][i // 5] ^= word
        lanes = _keccak_f(lanes)
    return b"".join(lanes[i][0].to_bytes(8, "little") for i in range(4))


def challenge(hash_name: str, log: bytes, modulus: int) -> int:
    """halo2's challenge after a log."""
    name = b"Halo2-Transcript"
    if hash_name == "blake2b":
        digest = hashlib.blake2b(log, digest_size=64, person=name).digest()
    else:
        digest = b"".join(sponge256(name + log + bytes([half]), 1) for half in (10, 11))
    return int.from_bytes(digest, "little") % modulus


def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """Bernstein's ChaCha20: a counter of 64 bits, a nonce of 8 bytes."""
    words = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    tail = key + counter.to_bytes(8, "little") + nonce
    words += [int.from_bytes(tail[i : i + 4], "little") for i in range(0, 48, 4)]
    state = list(words)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for one, two, by in ((a, d, 16), (c, b, 12), (a, d, 8), (c, b, 7)):
            three = b if one == a else d
            state[one] = (state[one] + state[three]) % 2**32
            state[two] = _rotated(state[two] ^ state[one], by, 32)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    mixed = [(a + b) % 2**32 for a, b in zip(state, words, strict=True)]
    return b"".join(word.to_bytes(4, "little") for word in mixed)


Point = tuple[int, int] | None


def add_points(a: Point, b: Point, p: int) -> Point:
    """The sum on y^2 = x^3 + b, whichever b."""
    if a is None or b is None:
        return b if a is None else a
    if a[0] == b[0] and (a[1] + b[1]) % p == 0:
        return None
    if a == b:
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, p)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, p)
    x = (slope * slope - a[0] - b[0]) % p
    return x, (slope * (a[0] - x) - a[1]) % p


def multiply_point(k: int, point: Point, p: int) -> Point:
    """The point added to itself so often."""
    result: Point = None
    while k:
        if k & 1:
            result = add_points(result, point, p)
        point = add_points(point, point, p)
        k >>= 1
    return result


def encoded_point(curve: str, point: tuple[int, int]) -> tuple[bytes, bytes]:
    """The bytes of a point that halo2 hashes, and those that it writes."""
    x, y = point
    base = CURVES[curve][0]
    if BYTES[base] == 32:
        compressed = bytearray(x.to_bytes(32, "little"))
        compressed[31] |= (y & 1) << 7
        return x.to_bytes(32, "little") + y.to_bytes(32, "little"), bytes(compressed)
    compressed = bytearray(x.to_bytes(48, "big"))
    compressed[0] |= 0x80 | (0x20 if y > P[base] // 2 else 0)
    return x.to_bytes(48, "big") + y.to_bytes(48, "big"), bytes(compressed)
