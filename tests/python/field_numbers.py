"""Elements of prime fields from Python's integers, and back."""

from __future__ import annotations

import random
from collections.abc import Sequence

import cloakwork as cw
import numpy as np
from cloakwork import ops
from cloakwork._core import Tensor

from python import zk_oracles as oracle

PRIMES = oracle.P
FIELDS = sorted(PRIMES)


def encode(numbers: Sequence[int], field: str, shape: tuple[int, ...] | None = None) -> Tensor:
    """Elements of canonical numbers."""
    words = (PRIMES[field].bit_length() + 63) // 64
    data = b"".join(number.to_bytes(8 * words, "little") for number in numbers)
    array = np.frombuffer(data, np.uint64).reshape(
        *((len(numbers),) if shape is None else shape), words
    )
    return ops.from_canonical(cw.asarray(array), field)


def decode(tensor: Tensor) -> list[int]:
    """The canonical numbers of elements, row-major."""
    array = np.ascontiguousarray(np.asarray(ops.to_canonical(tensor)))
    return [int.from_bytes(row.tobytes(), "little") for row in array.reshape(-1, array.shape[-1])]


def numbers(field: str, count: int, seed: int = 0) -> list[int]:
    """Random numbers below the prime, and those at which carries run."""
    p, source = PRIMES[field], random.Random(f"{field} {seed}")
    edges = [0, 1, 2, p - 1, p - 2, p // 2, p // 2 + 1]
    edges += [((1 << bits) + near) % p for bits in range(0, p.bit_length(), 13) for near in (-1, 0)]
    edges += [(p - (1 << bits)) % p for bits in range(0, p.bit_length(), 26)]
    # Near p in memory's Montgomery form, for any radix.
    for radix in (32, 256, 260, 384, 416):
        edges += [(p - near) * pow(2, -radix, p) % p for near in (1, 2, 1 << 20)]
    return [
        source.choice(edges) if source.random() < 0.5 else source.randrange(p) for _ in range(count)
    ]
