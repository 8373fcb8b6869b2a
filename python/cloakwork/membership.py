"""Whether coordinates are those of a point of the curve, and of its group of prime order.

Both curves are y^2 = x^3 + b, G2 over the extension by u^2 = -1 with the b of its twist
(EIP-196 and EIP-197 for BN254, RFC 9380 section 8.8 for BLS12-381).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor
from cloakwork.moduli import ORDERS

_B = {
    "bn254.g1": (3,),
    "bls12_381.g1": (4,),
    "bn254.g2": (
        19485874751759354771024239261021720505790618469301721065564631296452457478373,
        266929791119991161246907387137283842545076965332900288569378510910307636690,
    ),
    "bls12_381.g2": (4, 4),
}
# All points of BN254 over its base field are in the group of prime order.
_WHOLE = ("bn254.g1",)
# An element of the extension, or of the base field alone.
Coordinate = tuple[Tensor, ...]


def first_stranger(words: Tensor, dtype: DType) -> tuple[tuple[int, ...], str] | None:
    """The index of the first element that is no point of its group, and why; None if all are.

    words    the canonical words of points, u64 [.., w]
    dtype    that of the points

    Never part of a program that is being recorded.
    """
    found: tuple[tuple[int, ...], str] | None
    found = _core.unrecorded(lambda: _first(ops.from_canonical(words, dtype), words))
    return found


def _first(points: Tensor, words: Tensor) -> tuple[tuple[int, ...], str] | None:
    wrong = np.asarray(~(_on_curve(points, words) | _infinite(words)))
    why = "coordinates that are not on the curve"
    if not wrong.any() and points.dtype.name not in _WHOLE:
        wrong, why = ~_in_group(points), "a point outside of the group of prime order"
    if not wrong.any():
        return None
    index = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return tuple(int(i) for i in index), why


def _infinite(words: Tensor) -> NDArray[np.bool_]:
    infinite: NDArray[np.bool_] = np.asarray(np.logical_not(np.asarray(words).any(axis=-1)))
    return infinite


def _on_curve(points: Tensor, words: Tensor) -> NDArray[np.bool_]:
    name = points.dtype.name
    curve, parts = name.split(".")[0], len(_B[name])
    field = _core.dtype(f"{curve}.fq")
    count = field.itemsize // 8
    rows = np.ascontiguousarray(np.asarray(words)).reshape(*points.shape, 2 * parts, count)
    numbers = _elements(rows, field)
    x = tuple(numbers[..., i] for i in range(parts))
    y = tuple(numbers[..., parts + i] for i in range(parts))
    b = _elements(_encoded(_B[name], count), field)
    right = _times(_times(x, x), x)
    pairs = zip(_times(y, y), right, range(parts), strict=True)
    fits = [np.asarray(left == own + b[i]) for left, own, i in pairs]
    both: NDArray[np.bool_] = np.asarray(np.logical_and.reduce(fits))
    return both


def _elements(words: NDArray[np.uint64], field: DType) -> Tensor:
    return ops.from_canonical(_core.from_buffer(words, _core.uint64, words.shape), field)


def _encoded(numbers: tuple[int, ...], count: int) -> NDArray[np.uint64]:
    encoded = b"".join(number.to_bytes(8 * count, "little") for number in numbers)
    return np.frombuffer(encoded, "<u8").reshape(len(numbers), count).astype(np.uint64)


def _times(a: Coordinate, b: Coordinate) -> Coordinate:
    if len(a) == 1:
        return (a[0] * b[0],)
    return (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


def _in_group(points: Tensor) -> NDArray[np.bool_]:
    """Whether r - 1 times each point is its opposite, r the order of the group."""
    curve = points.dtype.name.split(".")[0]
    field = _core.dtype(f"{curve}.fr")
    scalar = _elements(_encoded((ORDERS[curve] - 1,), field.itemsize // 8), field)
    products = _core.Op("curve_mul")(scalar[0], points)
    return np.asarray(ops.equal(products, ops.negative(points)))
