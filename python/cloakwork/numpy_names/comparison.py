"""Comparisons within a tolerance, by NumPy's names."""

from __future__ import annotations

import builtins

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor, float64
from cloakwork.array_api.common import cast, require
from cloakwork.array_api.datatypes import FLOATING, KINDS, REAL
from cloakwork.array_api.elementwise.comparison import isfinite, isinf, isnan, signbit
from cloakwork.array_api.manipulation import broadcast_shapes
from cloakwork.array_api.utility import all as every
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import operand

_ORDERED = (*KINDS["bool"], *REAL)


def isclose(
    x1: ArrayLike | Tensor,
    x2: ArrayLike | Tensor,
    /,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    *,
    equal_nan: bool = False,
) -> Tensor:
    """Whether `|x1 - x2| <= atol + rtol * |x2|`, element by element: bool.

    Infinities are close to themselves alone, NaN to NaN if `equal_nan`.

    >>> import cloakwork as cw
    >>> cw.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    Tensor([ True, False], dtype=bool)
    """
    x1, x2 = _floats(operand(x1, "x1")), _floats(operand(x2, "x2"))
    near = ops.abs(x1 - x2) <= ops.abs(x2) * rtol + atol
    close = (near & isfinite(x2)) | (x1 == x2)
    return close | (isnan(x1) & isnan(x2)) if equal_nan else close


def _floats(x: Tensor) -> Tensor:
    return x if x.dtype.name in FLOATING else cast(x, float64)


def allclose(
    x1: ArrayLike | Tensor,
    x2: ArrayLike | Tensor,
    /,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    *,
    equal_nan: bool = False,
) -> builtins.bool:
    """Whether all elements are close, see `isclose`: Python's bool, so not in a trace.

    >>> import cloakwork as cw
    >>> cw.allclose([1.0, 2.0], [1.0 + 1e-9, 2.0])
    True
    """
    return builtins.bool(every(isclose(x1, x2, rtol, atol, equal_nan=equal_nan)))


def array_equal(
    x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /, *, equal_nan: bool = False
) -> builtins.bool:
    """Whether shapes and all elements agree, NaN with NaN if `equal_nan`: Python's bool.

    >>> import cloakwork as cw
    >>> cw.array_equal([1, 2], [1.0, 2.0])
    True
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    if x1.shape != x2.shape:
        return False
    equal = x1 == x2
    if equal_nan and {x1.dtype.kind, x2.dtype.kind} <= {"f", "c"}:
        equal = equal | (isnan(x1) & isnan(x2))
    return builtins.bool(every(equal))


def array_equiv(x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /) -> builtins.bool:
    """Whether all elements agree once both broadcast to one shape: Python's bool.

    False where they do not broadcast.

    >>> import cloakwork as cw
    >>> cw.array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    try:
        broadcast_shapes(x1.shape, x2.shape)
    except ParamError:
        return False
    return builtins.bool(every(x1 == x2))


def isposinf(x: ArrayLike | Tensor, /) -> Tensor:
    """Which elements are positive infinity: bool; TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.isposinf([cw.inf, -cw.inf, 1.0])
    Tensor([ True, False, False], dtype=bool)
    """
    x = operand(x)
    require(x, _ORDERED, "x", "real numbers, which have a sign")
    return isinf(x) & ~signbit(x) if x.dtype.kind == "f" else ops.zeros(x.shape, "bool")


def isneginf(x: ArrayLike | Tensor, /) -> Tensor:
    """Which elements are negative infinity: bool; TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.isneginf([cw.inf, -cw.inf, 1.0])
    Tensor([False,  True, False], dtype=bool)
    """
    x = operand(x)
    require(x, _ORDERED, "x", "real numbers, which have a sign")
    return isinf(x) & signbit(x) if x.dtype.kind == "f" else ops.zeros(x.shape, "bool")
