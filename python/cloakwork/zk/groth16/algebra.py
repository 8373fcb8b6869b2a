"""Scalars and points as tensors, and sparse products, for proving and key generation."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.circom.files import Matrix

# R of Montgomery form, for both curves' scalars.
MONTGOMERY_R = 1 << 256


def words(numbers: Sequence[int], count: int) -> Tensor:
    """Canonical words, u64 [numbers, count], the lowest first."""
    data = b"".join(number.to_bytes(8 * count, "little") for number in numbers)
    return _core.from_buffer(data, _core.uint64, (len(numbers), count))


def scalars(curve: str, numbers: Sequence[int]) -> Tensor:
    """Scalars [numbers] from integers, reduced modulo the prime."""
    prime = ORDERS[curve]
    return from_words(curve, words([number % prime for number in numbers], 4))


def from_words(curve: str, canonical: Tensor) -> Tensor:
    """Scalars from canonical words; an error names the first that is not below the prime."""
    return ops.from_canonical(canonical, f"{curve}.fr")


def drawn_scalars(curve: str, count: int) -> Tensor:
    """Scalars [count], uniform over the whole field, from the operating system.

    Rejection sampling: numbers of the prime's length are drawn until one is below it.  Call it
    inside `_core.wiped`, so that no trace of them is left in memory.
    """
    bits = ORDERS[curve].bit_length()
    mask = words([(1 << bits) - 1], 4)
    drawn = ops.empty((count, 4), _core.uint64)
    for index in range(count):
        while True:
            number = ops.bitwise_and(_core.random_words((1, 4)), mask)
            if _core.first_invalid(number, f"{curve}.fr") is None:
                break
        drawn[index : index + 1] = number
    return from_words(curve, drawn)


def point_bytes(points: Tensor) -> bytes:
    """Points as canonical little-endian bytes, one after the other."""
    return memoryview(ops.to_canonical(points)).tobytes()


def in_scalars(curve: str, matrix: Matrix) -> Matrix:
    """A circuit's matrix with its canonical words converted to scalars."""
    return Matrix(matrix.starts, matrix.columns, from_words(curve, matrix.values))


def product(matrix: Matrix, vector: Tensor, out: Tensor | None = None) -> Tensor:
    """A sparse matrix times a vector of scalars: [rows]."""
    return ops.sparse_matvec(matrix.starts, matrix.columns, matrix.values, vector, out=out)


def joined(first: Tensor, second: Tensor) -> Tensor:
    """The vectors concatenated."""
    length = first.shape[0]
    both = ops.empty((length + second.shape[0],), first.dtype)
    both[:length] = first
    both[length:] = second
    return both
