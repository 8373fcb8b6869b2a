"""Conversion of field elements and curve points from and to Python objects, words and bytes.

Outside tensors a prime field's element is its canonical number, an int in [0, p); an extension's
is a tuple of its coefficients `(c0, c1, ..)` for `c0 + c1 x + ..`, where an int stands for itself
alone, too; a point is its coordinates `(x, y)`, of G2 pairs of them `((x0, x1), (y0, y1))` for
`x0 + x1 u`, and None is the point at infinity.  Words and bytes are little-endian, coefficients and
coordinates one after another.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor
from cloakwork.errors import DTypeError, OpError, ParamError
from cloakwork.fields.parameters import CURVES, FIELDS

# The size of a coordinate in bytes, and the number of coordinates of a point.
_COORDINATES = {
    name: (group["dtype"].itemsize // (2 * group["parts"]), 2 * group["parts"])
    for curve in CURVES.values()
    for name, group in curve["groups"].items()
}
_SCALARS = {name: curve["fr"] for curve in CURVES.values() for name in curve["groups"]}
Objects = NDArray[np.object_]


def is_field(dtype: DType) -> bool:
    """Whether elements of this dtype are field elements."""
    return dtype.name in FIELDS


def is_point(dtype: DType) -> bool:
    """Whether elements of this dtype are points of a curve."""
    return dtype.name in _COORDINATES


def scalar_field(points: DType) -> DType:
    """The field of the scalars by which points of this dtype are multiplied."""
    return _core.dtype(_SCALARS[points.name])


def words_of(dtype: DType) -> int:
    """The number of 64-bit words of an element's canonical form."""
    return FIELDS[dtype.name]["words"] if is_field(dtype) else dtype.itemsize // 8


def residues_of(dtype: DType) -> int:
    """The number of residues of an element: coefficients, or parts of coordinates."""
    return FIELDS[dtype.name]["degree"] if is_field(dtype) else _COORDINATES[dtype.name][1]


def from_values(values: Any, dtype: DType) -> Tensor:
    """The tensor of nested sequences of numbers or points, or of an array of them.

    uint64 arrays hold words along their last axis, uint8 arrays bytes; other arrays hold numbers.
    Raises ParamError with the place of the first invalid element.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "u":
        if values.dtype.itemsize == 8:
            return from_words(_words(values.astype(np.uint64, copy=False)), dtype)
        if values.dtype.itemsize == 1:
            return from_bytes(values, dtype)
    objects = _number_array(values) if residues_of(dtype) == 1 else _tuple_array(values)
    flat = objects.ravel().tolist()
    try:
        encoded = _encoded(flat, dtype)
    except (OverflowError, TypeError, ValueError):
        raise _refused(objects, dtype) from None
    words = np.frombuffer(encoded, "<u8").reshape(*objects.shape, words_of(dtype))
    return from_words(_words(words), dtype)


def from_words(words: Tensor, dtype: DType) -> Tensor:
    """The elements of canonical words, u64 `[.., w]`.

    Raises ParamError for the first element that is not below the prime, not on the curve or not in
    the group.
    """
    _known(dtype)
    try:
        return ops.from_canonical(words, dtype)
    except OpError as error:
        found = None if error.code != "element" else _core.first_invalid(words, dtype)
        if found is None:
            raise
        place, why = found
        index = np.unravel_index(place, words.shape[:-1])
        name = "obj" + "".join(f"[{i}]" for i in index)
        raise ParamError(name, f"an element that {why}", _wanted(dtype)) from None


def from_bytes(encoded: NDArray[np.uint8], dtype: DType) -> Tensor:
    """The elements of canonical little-endian bytes, uint8 `[.., bytes of an element]`."""
    _known(dtype)
    size, count, words = dtype.itemsize, residues_of(dtype), words_of(dtype)
    if encoded.ndim == 0 or encoded.shape[-1] != size:
        expected = f"a last axis of {size}, the bytes of {dtype}"
        raise ParamError("obj", f"shape {encoded.shape}", expected)
    outer = encoded.shape[:-1]
    wide = np.zeros((*outer, count, 8 * words // count), np.uint8)
    wide[..., : size // count] = encoded.reshape(*outer, count, size // count)
    return from_words(_words(wide.reshape(*outer, 8 * words).view("<u8")), dtype)


def to_words(x: Tensor) -> Tensor:
    """The canonical words of elements, u64 `[.., w]`."""
    _known(x.dtype)
    return ops.to_canonical(x)


def to_bytes(x: Tensor) -> bytes:
    """The canonical little-endian bytes of the elements, row-major."""
    # It refuses numbers, which have no canonical form.
    words = to_words(x)
    count = residues_of(x.dtype)
    encoded = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    residues = encoded.reshape(-1, count, 8 * words_of(x.dtype) // count)
    return residues[..., : x.dtype.itemsize // count].tobytes()


def objects(x: Tensor) -> Objects:
    """The elements as Python objects."""
    size, count = 8 * words_of(x.dtype), residues_of(x.dtype)
    encoded = np.ascontiguousarray(to_words(x), dtype="<u8").tobytes()
    result = np.empty(x.size, object)
    if count == 1:
        result[:] = [
            int.from_bytes(encoded[at : at + size], "little") for at in _starts(encoded, size)
        ]
    else:
        made = _point if is_point(x.dtype) else tuple
        result[:] = [
            made(_residues(encoded[at : at + size], count)) for at in _starts(encoded, size)
        ]
    return result.reshape(x.shape)


def item(x: Tensor) -> object:
    """The only element as a Python object."""
    return objects(x).reshape(()).item()


def _words(words: NDArray[np.uint64]) -> Tensor:
    dense = np.ascontiguousarray(words, dtype=np.uint64)
    return _core.from_buffer(dense, _core.uint64, words.shape)


def _known(dtype: DType) -> None:
    if not (is_field(dtype) or is_point(dtype)):
        raise DTypeError("dtype", dtype, "a field or the points of a curve")


def _starts(encoded: bytes, size: int) -> range:
    return range(0, len(encoded), size)


def _residues(encoded: bytes, count: int) -> list[int]:
    size = len(encoded) // count
    return [int.from_bytes(encoded[at * size : (at + 1) * size], "little") for at in range(count)]


def _encoded(flat: Iterable[Any], dtype: DType) -> bytes:
    """The canonical words of objects.  OverflowError, TypeError or ValueError for invalid ones."""
    if is_point(dtype):
        return _points(flat, dtype)
    if residues_of(dtype) > 1:
        return _polynomials(flat, dtype)
    return _numbers(flat, dtype)


def _polynomials(flat: Iterable[Any], dtype: DType) -> bytes:
    count = residues_of(dtype)
    size = 8 * words_of(dtype) // count
    rows = [value if isinstance(value, tuple) else (value, *[0] * (count - 1)) for value in flat]
    if any(len(row) != count for row in rows):
        raise ValueError(f"{count} coefficients")
    return b"".join(operator.index(c).to_bytes(size, "little") for row in rows for c in row)


def _numbers(flat: Iterable[Any], dtype: DType) -> bytes:
    size = 8 * words_of(dtype)
    return b"".join([operator.index(value).to_bytes(size, "little") for value in flat])


def _points(flat: Iterable[Any], dtype: DType) -> bytes:
    size, count = _COORDINATES[dtype.name]
    nothing = bytes(size * count)
    return b"".join(
        nothing
        if point is None
        else b"".join(
            operator.index(part).to_bytes(size, "little") for part in _parts(point, count)
        )
        for point in flat
    )


def _parts(point: Any, count: int) -> list[int]:
    """The coordinates of a point of G1, or the parts of the coordinates of a point of G2."""
    x, y = point
    if count == 2:
        return [x, y]
    (a, b), (c, d) = x, y
    return [a, b, c, d]


def _point(parts: list[int]) -> tuple[Any, Any] | None:
    if not any(parts):
        return None
    if len(parts) == 2:
        return parts[0], parts[1]
    return (parts[0], parts[1]), (parts[2], parts[3])


def _number_array(values: Any) -> Objects:
    array = np.asarray(values, dtype=object)
    for place, value in _places(array):
        if isinstance(value, (list, tuple)):
            wanted = "nested sequences of equal lengths"
            raise ParamError("obj", f"a sequence at {place}", wanted)
    return array


def _tuple_array(values: Any) -> Objects:
    """An array of elements from nested lists; tuples, None and ints are elements."""
    if isinstance(values, np.ndarray):
        return values
    shape: list[int] = []
    first = values
    while isinstance(first, list):
        shape.append(len(first))
        if not first:
            break
        first = first[0]
    flat = list(_leaves(values, shape, "obj"))
    result = np.empty(len(flat), object)
    result[:] = flat
    return result.reshape(shape)


def _leaves(values: Any, shape: Sequence[int], place: str) -> Iterator[Any]:
    if not shape:
        if isinstance(values, list):
            raise ParamError("obj", f"a list at {place}", "lists of equal depth and length")
        yield values
        return
    if not isinstance(values, list) or len(values) != shape[0]:
        raise ParamError("obj", f"no list of {shape[0]} at {place}", "lists of equal lengths")
    for index, part in enumerate(values):
        yield from _leaves(part, shape[1:], f"{place}[{index}]")


def _places(array: Objects) -> Iterator[tuple[str, Any]]:
    for index in itertools.product(*map(range, array.shape)):
        yield "obj" + "".join(f"[{i}]" for i in index), array[index]


def _refused(array: Objects, dtype: DType) -> ParamError:
    """The error for the first element that is invalid in this dtype."""
    wanted = _wanted(dtype)
    for place, value in _places(array):
        try:
            encoded = _encoded([value], dtype)
            from_words(_words(np.frombuffer(encoded, "<u8")), dtype)
        except (OpError, OverflowError, TypeError, ValueError):
            return ParamError(place, repr(value), wanted)
    return ParamError("obj", "elements", wanted)


def _wanted(dtype: DType) -> str:
    if is_field(dtype) and residues_of(dtype) > 1:
        count = residues_of(dtype)
        several = "(c0, c1)" if count == 2 else f"(c0, .., c{count - 1})"
        either = f"{several}, {count} integers from 0 to p - 1 of {dtype}, or one integer for c0"
        return f"{either}; reduce them modulo p"
    if is_field(dtype):
        return f"an integer from 0 to p - 1 of {dtype}; reduce it modulo p"
    _size, count = _COORDINATES[dtype.name]
    shape = "(x, y)" if count == 2 else "((x0, x1), (y0, y1))"
    return f"a point {shape} of {dtype}, coordinates below the prime, or None for infinity"
