"""Tensors from Python's values and other libraries' arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor
from cloakwork.device.loading import drivers
from cloakwork.errors import DTypeError, ParamError
from cloakwork.fields import elements
from cloakwork.tensors.native import shortcut

DTypeLike = DType | str | type[Any] | np.dtype[Any]
Array = NDArray[Any]

# Libraries look for these on arrays and their dtypes: the class of NumPy's numbers, and the rank
# among classes of arrays.
DType.type = property(lambda self: self.dtype.type)
Tensor.__array_priority__ = 0.0

# A dictionary, because NumPy is slow to return the name of a dtype.
_DTYPES = {np.dtype(dtype.name): dtype for dtype in _core.DTYPES}
_NUMBERS = (bool, int, float, complex)
_PYTHONS = (*_NUMBERS, list, tuple)
# A set: a search in a tuple compares with each.
_NUMBER_TYPES = frozenset(_NUMBERS)
_BUFFERS = (bytes, bytearray, memoryview)


@shortcut
def asarray(
    obj: ArrayLike | Sequence[Any] | Tensor | None,
    /,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A tensor of what `obj` holds: numbers, nested lists of them, or another library's array.

    Arrays share their memory with the tensor where `copy` is None and their dtype and layout allow;
    `copy=True` always copies, and `copy=False` raises ValueError where a copy would be needed.
    Integers become int64, floats float64, complex numbers complex128.  With `dtype` the elements
    are converted: rounding to floats is allowed; any other change of an element is a ValueError
    (`astype` converts regardless), and so are nested lists of different lengths.

    Elements of a field are integers below its prime, of an extension tuples of them, points of a
    curve `(x, y)` or None; uint64 arrays hold words of them along the last axis, uint8 arrays and
    bytes little-endian bytes.  ValueError names the first invalid element.

    With `device` the elements are brought there (see `Tensor.to`); without it they stay where they
    are, on the CPU unless `obj` is a tensor on a device.

    NumPy's masked arrays are refused: a tensor has no mask.

    >>> import cloakwork as cw
    >>> cw.asarray([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]], dtype=i64)
    """
    if device is not None:
        on_device(device)
        return placed(asarray(obj, dtype, copy=copy), device, copy)
    if (made := _at_once(obj, dtype, copy)) is not None:
        return made
    wanted = None if dtype is None else _core.dtype(dtype)
    _check_whole(obj[0] if isinstance(obj, list | tuple) and obj else obj)
    if wanted is not None and wanted.kind == "V":
        return _elements(obj, wanted, copy)
    given, is_copy = (obj, False) if isinstance(obj, Tensor) else _outside(obj, wanted, copy)
    converts = wanted is not None and wanted != given.dtype
    if copy is False and (is_copy or converts):
        reason = f"{given.dtype} becomes {wanted}" if converts else "the memory cannot be shared"
        raise ParamError("copy", False, f"None or True, as {reason}")
    if wanted is not None and converts:
        return _now(obj, lambda: _converted(given, wanted))
    return _now(obj, lambda: ops.copy(given)) if copy and not is_copy else given


def _at_once(obj: Any, dtype: DTypeLike | None, copy: bool | None) -> Tensor | None:
    """The tensor of a number, of a list of them, or of an array as it is; else None."""
    if type(obj) in _NUMBER_TYPES:
        return _core.number(obj, dtype) if copy is not False else None
    if type(obj) is list:
        return _core.numbers(obj) if dtype is None and copy is not False else None
    if type(obj) is not np.ndarray or copy is False or obj.ndim == 0:
        return None
    if dtype is not None and _core.dtype(dtype) != _DTYPES.get(obj.dtype):
        return None
    try:
        return _core.asarray(obj, copy)
    except (BufferError, ValueError):
        return None  # of elements that have no buffer, such as times


def _now(obj: object, make: Callable[[], Tensor]) -> Tensor:
    """Copy foreign memory at once: until a batch ends, its contents may change."""
    made: Tensor = make() if isinstance(obj, Tensor) else _core.unrecorded(make)
    return made


def tensor(
    data: ArrayLike | Tensor, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """A new tensor with a copy of the elements of `data`; see `asarray`.

    >>> import cloakwork as cw
    >>> cw.tensor([1, 2], dtype="f32")
    Tensor([1., 2.], dtype=f32)
    """
    return asarray(data, dtype, device=device, copy=True)


def on_device(device: str | None) -> None:
    """DeviceError unless the device can hold tensors."""
    if device is not None and device != "cpu":
        _core.check_device(device)


def placed(tensor: Tensor, device: str | None, copy: bool | None = None) -> Tensor:
    """The tensor on a device; where it is, without one.

    ParamError where a copy to another device would be needed, which `copy=False` forbids.
    """
    if device is None:
        return tensor
    there = tensor.to(device)
    if copy is False and there is not tensor:
        raise ParamError("copy", False, f"None or True, as the elements move to {device}")
    return there


def device_names() -> list[str]:
    """The names of devices that can hold tensors: the CPU, GPUs, those of loaded drivers."""
    found = [device["name"] for device in _core.devices()]
    named = (name for driver in drivers() for name in driver.devices)
    return found + [name for name in named if "<" not in name]


def _elements(obj: Any, wanted: DType, copy: bool | None) -> Tensor:
    """The tensor of elements of a field or of points."""
    if isinstance(obj, Tensor) and obj.dtype == wanted:
        return ops.copy(obj) if copy else obj
    if copy is False:
        raise ParamError("copy", False, f"None or True, as elements become {wanted}")
    if isinstance(obj, Tensor):
        if obj.dtype.name not in ("uint64", "uint8"):
            names = f"{wanted}, or words (uint64) or bytes (uint8) of elements"
            raise DTypeError("obj", obj.dtype, names)
        obj = np.asarray(obj)
    if isinstance(obj, _BUFFERS):
        obj = np.asarray(memoryview(obj)).reshape(-1, wanted.itemsize)
    return elements.from_values(obj, wanted)


def _outside(obj: Any, wanted: DType | None, copy: bool | None) -> tuple[Tensor, bool]:
    """The tensor of a foreign value, and whether it is already a copy."""
    if type(obj) in _PYTHONS:
        return _of_values(obj, wanted), True
    if isinstance(obj, np.ndarray):
        return _of_array(obj, wanted)
    if isinstance(obj, _BUFFERS):
        return _of_array(np.asarray(memoryview(obj)), wanted)
    if not isinstance(obj, np.generic):
        if hasattr(obj, "__dlpack__"):
            return _core.from_dlpack(obj, copy=False if copy is False else None), False
        if hasattr(obj, "__array__"):
            return _of_array(np.asarray(obj), wanted)
    return _of_values(obj, wanted), True


def _check_whole(array: object) -> None:
    """ParamError for a masked array, whose hidden elements a tensor would show."""
    # This lookup does not load `numpy.ma`.
    is_other = isinstance(array, np.ndarray) and type(array) is not np.ndarray
    if is_other and hasattr(array, "mask"):
        how = "an array without a mask: .filled(value) replaces what it hides, .data shows it"
        raise ParamError("obj", "a masked array", how)


def _of_array(array: Array, wanted: DType | None) -> tuple[Tensor, bool]:
    if array.dtype.kind == "O" and wanted is not None:
        return _copied(_of_objects(array, wanted)), True
    if array.dtype not in _DTYPES:
        _core.dtype(array.dtype)  # which raises an error that names the dtype
    # NumPy's buffers of 0-d arrays have no shape, which the engine needs.
    shared = _core.asarray(array if array.ndim else array.reshape(1))
    if shared is not None:
        return shared if array.ndim else shared[0], False
    return _copied(array.astype(array.dtype.newbyteorder("="))), True


def _of_values(values: Any, wanted: DType | None) -> Tensor:
    """The tensor of Python's numbers, or of nested sequences of them."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        place = _ragged(values) if isinstance(values, Sequence) else ""
        raise ParamError("obj", place or str(error), "nested sequences of equal lengths") from None
    is_integer = wanted is not None and wanted.kind in "iu"
    if array.dtype.kind == "f" and is_integer and isinstance(values, Sequence):
        # NumPy converts integers of very different sizes to floats; here they stay integers.
        array = np.asarray(values, dtype=object)
    if array.dtype.kind == "O" and wanted is not None:
        array = _of_objects(array, wanted)
    return _copied(array)


def _copied(array: Array) -> Tensor:
    dtype = _DTYPES.get(array.dtype) or _core.dtype(array.dtype)
    return _core.from_buffer(np.ascontiguousarray(array), dtype, array.shape)


def _of_objects(array: Array, wanted: DType) -> Array:
    """Python's numbers, including integers of any size, as a tensor of that dtype."""
    try:
        # NumPy would parse strings, and convert None to NaN: subtraction refuses both.
        np.subtract(array, 0)
    except TypeError as error:
        allowed = f"elements that {wanted} can hold"
        raise ParamError("obj", "elements that are not numbers", allowed) from error
    try:
        converted = array.astype(wanted.name)
    except (OverflowError, TypeError, ValueError):
        converted = None
    if converted is None or (wanted.kind in "iu" and not np.array_equal(converted, array)):
        raise ParamError("obj", "elements that do not survive", f"elements that {wanted} can hold")
    return converted


# NumPy's most axes.
_MOST_AXES = 64


def _ragged(values: Sequence[Any], place: str = "obj") -> str:
    """The first nested sequence whose length differs from those before it."""
    first = values[0]
    nested = _is_nested(first)
    for number, part in enumerate(values):
        here = f"{place}[{number}]"
        if _is_nested(part) != nested:
            return f"{here}, which is {'a number' if nested else 'a sequence'}, after {place}[0]"
        if nested and len(part) != len(first):
            return f"{here} of {len(part)} elements after {place}[0] of {len(first)}"
    if place.count("[") >= _MOST_AXES:
        return f"more than {_MOST_AXES} axes"
    deeper = (_ragged(part, f"{place}[{i}]") for i, part in enumerate(values) if nested and part)
    return next(filter(None, deeper), "")


def _is_nested(value: object) -> bool:
    """Whether it is a sequence of elements: a string, whose elements are strings, is none."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def _converted(x: Tensor, wanted: DType) -> Tensor:
    """The elements as another dtype; ParamError if the conversion changes one."""
    kinds = x.dtype.kind + wanted.kind
    if kinds[0] == "c" != kinds[1]:
        raise DTypeError("dtype", wanted, f"a complex dtype, as the elements are {x.dtype}")
    converted = ops.astype(x, wanted)
    if not _is_safe(x.dtype, wanted) and not bool(_survived(x, converted, kinds)):
        raise ParamError("obj", f"{x.dtype} elements", f"elements that {wanted} can hold")
    return converted


def _is_safe(source: DType, target: DType) -> bool:
    """Whether no conversion changes an element, except for rounding integers to floats."""
    if target.kind in "fc" and source.kind in "biu":
        return True
    try:
        return _core.promote(source, target) == target
    except TypeError:
        return False


def _survived(x: Tensor, converted: Tensor, kinds: str) -> Tensor:
    """Whether no element was changed, except for rounding floats to floats."""
    axes = tuple(range(x.ndim))
    if kinds[1] in "fc":
        return ops.all(ops.equal(ops.isfinite(x), ops.isfinite(converted)), axes)
    same = ops.equal(ops.astype(converted, x.dtype), x)
    if kinds in ("fi", "fu"):
        # The greatest integer is rounded up to one beyond the range, and would compare equal to it.
        bits = 8 * converted.itemsize - (kinds[1] == "i")
        same = ops.logical_and(same, x < 2.0**bits)
    if kinds == "iu":
        same = ops.logical_and(same, x >= 0)
    if kinds == "ui":
        same = ops.logical_and(same, converted >= 0)
    return ops.all(same, axes)
