"""Tensors from what other libraries hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloakwork import _core
from cloakwork.errors import ParamError

_NUMPY_NAMES = {
    "bool": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f32": "float32", "f64": "float64",
}  # fmt: skip
_SHORT_NAMES = {long: short for short, long in _NUMPY_NAMES.items()}


def asarray(values: ArrayLike | _core.Tensor, dtype: str | None = None) -> _core.Tensor:
    """A tensor with a copy of an array's elements, row-major; a Tensor of that dtype stays itself.

    Takes NumPy arrays, whatever has the buffer protocol, numbers and nested lists of them.  With
    `dtype` the elements are converted; ParamError if one of them does not survive that.

    >>> import cloakwork as cw
    >>> cw.asarray([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]], shape=(2, 2), dtype=i64)
    """
    if isinstance(values, _core.Tensor) and dtype in (None, values.dtype):
        return values
    array = np.asarray(values)
    name = _SHORT_NAMES.get(array.dtype.name)
    wanted = name if dtype is None else _SHORT_NAMES.get(dtype, dtype)
    if wanted not in _NUMPY_NAMES or (name is None and array.size):
        known = ", ".join(_NUMPY_NAMES)
        raise ParamError("dtype", array.dtype if dtype is None else dtype, f"one of {known}")
    target = np.dtype(_NUMPY_NAMES[wanted])
    with np.errstate(invalid="ignore"):  # what does not survive is refused next
        converted = np.asarray(array, dtype=target, order="C")
    if not np.can_cast(array.dtype, target) and not np.array_equal(converted, array):
        raise ParamError("values", f"{array.dtype} elements", f"elements that {wanted} can hold")
    return _core.from_buffer(converted, wanted)
