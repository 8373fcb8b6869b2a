"""Tensors from what other libraries hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _core
from cloakwork.errors import ParamError

_NUMPY_NAMES = {
    "bool": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f32": "float32", "f64": "float64",
}  # fmt: skip
# Kinds of NumPy's dtypes whose elements are numbers, or Python's integers of any size.
_NUMBERS = "biufO"
_SHORT_NAMES = {long: short for short, long in _NUMPY_NAMES.items()}


def asarray(
    values: ArrayLike | _core.Tensor, dtype: str | type[np.generic] | np.dtype[Any] | None = None
) -> _core.Tensor:
    """A tensor with a copy of an array's elements, row-major; a Tensor of that dtype stays itself.

    Takes NumPy arrays, whatever has the buffer protocol, numbers and nested lists of them.  With
    `dtype`, such as "i64", the elements are converted: floats are rounded to floats, and ParamError
    says so if an element does not survive.

    >>> import cloakwork as cw
    >>> cw.asarray([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]], shape=(2, 2), dtype=i64)
    """
    if isinstance(values, _core.Tensor) and dtype in (None, values.dtype):
        return values
    array = np.asarray(values)
    name = array.dtype if dtype is None else dtype
    # NumPy would read "i8" as eight bytes, so that a text is looked up, not handed to it.
    name = name if isinstance(name, str) else np.dtype(name).name
    wanted = _SHORT_NAMES.get(name, name)
    if wanted not in _NUMPY_NAMES or array.dtype.kind not in _NUMBERS:
        name = name if wanted not in _NUMPY_NAMES else array.dtype.name
        raise ParamError("dtype", name, f"one of {', '.join(_NUMPY_NAMES)}")
    if array.dtype.kind == "f" and isinstance(values, Sequence) and wanted[0] in "iu":
        # NumPy makes floats of integers that differ much; here they stay what they are.
        array = np.asarray(values, dtype=object)
    converted = _convert(array, _NUMPY_NAMES[wanted])
    if converted is None:
        raise ParamError("values", f"{array.dtype} elements", f"elements that {wanted} can hold")
    return _core.from_buffer(converted.reshape(-1), wanted, converted.shape)


def _convert(array: NDArray[Any], name: str) -> NDArray[Any] | None:
    """The array with another dtype, row-major; None if an element does not survive that."""
    target = np.dtype(name)
    try:
        with np.errstate(invalid="ignore", over="ignore"):  # what does not survive shows below
            converted = np.asarray(array, dtype=target, order="C")
    except (OverflowError, TypeError, ValueError):
        return None
    if np.can_cast(array.dtype, target):
        return converted
    if array.dtype.kind == target.kind == "f":
        return converted if np.array_equal(np.isfinite(array), np.isfinite(converted)) else None
    return converted if np.array_equal(converted, array) else None
