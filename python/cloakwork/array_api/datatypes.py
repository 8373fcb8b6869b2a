"""Dtypes: their kinds, limits, conversion and promotion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cloakwork import _core
from cloakwork._core import DType, Tensor, bool_, complex128, float64, int64
from cloakwork.array_api.common import COMPLEX_OF, REAL_OF, Scalar
from cloakwork.errors import DTypeError
from cloakwork.lazy import public
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import DTypeLike, on_device, placed

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
    "field": tuple(dtype.name for dtype in _core.FIELD_DTYPES),
    "point": tuple(dtype.name for dtype in _core.POINT_DTYPES),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
REAL = KINDS["integral"] + KINDS["real floating"]
FLOATING = KINDS["real floating"] + KINDS["complex floating"]

# Python's number types, the narrowest kind first; the position of each kind of dtypes in that
# order; and the default dtypes of Python's numbers.
_SCALARS = (bool, int, float, complex)
_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_ALONE = (bool_, int64, float64, complex128)


@public("cloakwork")
@dataclass(frozen=True)
class FloatInfo:
    """Limits of the components of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@public("cloakwork")
@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def dtype(x: DTypeLike, /) -> DType:
    """The dtype of a name such as "f32" or "float32", or of a NumPy or Python type.

    Raises TypeError that lists the names for an unknown dtype.

    >>> import cloakwork as cw
    >>> cw.dtype("f32") == cw.float32
    True
    """
    return _core.dtype(x)


def astype(
    x: Tensor | ArrayLike,
    dtype: DTypeLike,
    /,
    *,
    copy: bool = True,
    device: str | None = None,
) -> Tensor:
    """The elements of `x` converted to another dtype; floats are truncated to integers.

    Integers that do not fit wrap; `asarray` refuses them instead.  With `copy=False` the result is
    `x` itself if its dtype is the same.  TypeError for complex to real numbers: use `real`.

    >>> import cloakwork as cw
    >>> cw.astype(cw.asarray([1.5, -2.5]), cw.int32)
    Tensor([ 1, -2], dtype=i32)
    """
    if not isinstance(x, Tensor):
        x = operand(x)
    if device is None:
        return x.astype(dtype, copy=copy)
    on_device(device)
    return placed(x.astype(dtype, copy=copy), device, copy)


def can_cast(from_: DTypeLike | Tensor, to: DTypeLike, /) -> bool:
    """Whether one dtype, or a tensor's dtype, can be promoted to the other.

    >>> import cloakwork as cw
    >>> cw.can_cast(cw.int8, cw.int16), cw.can_cast(cw.int16, cw.int8)
    (True, False)
    """
    source = _dtype_of(from_)
    target = _core.dtype(to)
    try:
        return _core.promote(source, target) == target
    except TypeError:
        return False


def result_type(*arrays_and_dtypes: Tensor | Scalar | DTypeLike) -> DType:
    """The dtype of an operation's result; TypeError for u64 with signed integers.

    Python's numbers take the dtype of the other operands if their kind is not wider.

    >>> import cloakwork as cw
    >>> cw.result_type(cw.int8, cw.uint8), cw.result_type(cw.float32, 2.0)
    (cloakwork.int16, cloakwork.float32)
    """
    found: list[DType] = []
    weak = -1
    for item in arrays_and_dtypes:
        if isinstance(item, Tensor):
            found.append(item.dtype)
        elif isinstance(item, _SCALARS):
            weak = max(weak, _rank(item))
        else:
            found.append(_dtype_of(item))
    strong = _common(found)
    if strong is None:
        if weak < 0:
            raise DTypeError("arrays_and_dtypes", "none", "a tensor or dtype")
        return _ALONE[weak]
    if strong.kind == "V":
        if weak > _RANKS["i"] or (weak >= 0 and strong.name in KINDS["point"]):
            expected = f"a number that {strong} holds: an integer, of a field"
            raise DTypeError("arrays_and_dtypes", _ALONE[weak].name, expected)
        return strong
    if weak <= _RANKS[strong.kind]:
        return strong
    if weak == _RANKS["c"]:
        return COMPLEX_OF.get(strong.name, complex128)
    return _ALONE[weak]


def _dtype_of(x: DTypeLike | Tensor | np.ndarray[Any, Any] | np.generic) -> DType:
    """A dtype, or that of an array."""
    return _core.dtype(x.dtype if isinstance(x, Tensor | np.ndarray | np.generic) else x)


def _common(dtypes: list[DType]) -> DType | None:
    """The type that holds all of them, whatever their order.

    Floats come first: int8 and uint16 alone would need an integer that only float64 holds.
    """
    common: DType | None = None
    for dtype in sorted(dtypes, key=lambda dtype: -_RANKS.get(dtype.kind, 0)):
        common = dtype if common is None or common is dtype else _core.promote(common, dtype)
    return common


def _rank(number: Scalar) -> int:
    return next(rank for rank, kind in enumerate(_SCALARS) if isinstance(number, kind))


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether a dtype is of a kind, or is one of several kinds or dtypes.

    Kinds are 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
    'complex floating' and 'numeric'; beyond the standard, also 'field' (elements of fields) and
    'point' (points of curves).

    >>> import cloakwork as cw
    >>> cw.isdtype(cw.uint8, "integral"), cw.isdtype(cw.uint8, (cw.int8, "real floating"))
    (True, False)
    """
    given = _core.dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(given, one) for one in kind)
    if isinstance(kind, str) and kind in KINDS:
        return given.name in KINDS[kind]
    return given == _core.dtype(kind)


def finfo(type: DTypeLike | Tensor, /) -> FloatInfo:
    """Limits of a floating dtype, or of a complex one's components; TypeError for others.

    >>> import cloakwork as cw
    >>> cw.finfo(cw.complex64).eps
    1.1920928955078125e-07
    """
    given = _numpy(type)
    if given.kind not in "fc":
        raise DTypeError("type", given.name, "a floating dtype")
    limits: Any = np.finfo(given)
    own = _core.dtype(given.name)
    return FloatInfo(
        bits=limits.bits,
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=REAL_OF.get(own.name, own),
    )


def iinfo(type: DTypeLike | Tensor, /) -> IntegerInfo:
    """Limits of an integer dtype; TypeError for others.

    >>> import cloakwork as cw
    >>> cw.iinfo("int8").max
    127
    """
    given = _numpy(type)
    if given.kind not in "iu":
        raise DTypeError("type", given.name, "an integer dtype")
    limits = np.iinfo(given)
    return IntegerInfo(limits.bits, int(limits.max), int(limits.min), _core.dtype(given.name))


def _numpy(type: DTypeLike | Tensor) -> np.dtype[Any]:
    given = _dtype_of(type)
    if given.kind == "V":
        raise DTypeError("type", given.name, "a number's dtype; cloakwork.zk.field has a field's")
    return np.dtype(given.name)
