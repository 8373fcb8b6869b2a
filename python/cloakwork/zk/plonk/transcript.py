"""The challenges of snarkjs's PLONK, as steps of a program.

A message is numbers, big-endian, one after the other: a scalar, or the coordinates of a point,
zeros for infinity.  Its challenge is the Keccak-256 digest, a big-endian number, modulo the prime.
"""

from __future__ import annotations

from functools import reduce

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.fields.elements import is_point
from cloakwork.zk.groth16.algebra import from_words, joined, scalars, words

_WORD_BYTES, _SCALAR_WORDS = 8, 4


def challenge(curve: str, *values: Tensor) -> Tensor:
    """The challenge [1] of a message of scalars and points, vectors of them."""
    message = reduce(joined, [_octets(curve, value) for value in values])
    digest = ops.reshape(ops.keccak256(message), (_SCALAR_WORDS, _WORD_BYTES))
    places = ops.bitwise_left_shift(ops.astype(digest, _core.uint64), _shifts())
    highest_first = ops.sum(places, (1,))
    # Two numbers of two words, so that each is below the prime.
    halves = ops.zeros((2, _SCALAR_WORDS), _core.uint64)
    halves[:, :2] = ops.reshape(highest_first[::-1], (2, 2))
    low_high = from_words(curve, halves)
    return low_high[:1] + low_high[1:] * scalars(curve, [1 << 128])


def _octets(curve: str, values: Tensor) -> Tensor:
    """The bytes of scalars [n] or points [n]: u8 [n * size]."""
    canonical = ops.to_canonical(values)
    coordinate = values.itemsize // (_WORD_BYTES * (2 if is_point(values.dtype) else 1))
    numbers = ops.reshape(ops.contiguous(canonical), (canonical.size // coordinate, coordinate))
    turned = ops.unsqueeze(numbers[:, ::-1], 2)
    octets = ops.bitwise_and(ops.bitwise_right_shift(turned, _shifts()), words([0xFF], 1)[0])
    octets = ops.contiguous(ops.astype(octets, _core.uint8))
    return ops.reshape(octets, (octets.size,))


def _shifts() -> Tensor:
    """u64 [8]: how far a word's bytes are shifted, the highest first."""
    return ops.reshape(words(list(range(56, -8, -8)), 1), (_WORD_BYTES,))
