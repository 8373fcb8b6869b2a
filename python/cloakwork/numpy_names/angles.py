"""Angles, and numbers rounded, by NumPy's names."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor, float64
from cloakwork.array_api.common import cast, require, whole
from cloakwork.array_api.datatypes import FLOATING, KINDS, REAL
from cloakwork.array_api.elementwise.rounding import trunc
from cloakwork.array_api.searching import where
from cloakwork.tensors.arrays import operand

# Near enough to 0 that its sine divided by it is 1.
_TINY = 1e-20
_ORDERED = (*KINDS["bool"], *REAL)


def deg2rad(x: ArrayLike | Tensor, /) -> Tensor:
    """Degrees as radians, `x pi / 180`; float64 for integers, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.deg2rad([0, 180])
    Tensor([0.        , 3.14159265], dtype=f64)
    """
    return _real(x) * (math.pi / 180)


def rad2deg(x: ArrayLike | Tensor, /) -> Tensor:
    """Radians as degrees, `180 x / pi`; float64 for integers, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.rad2deg([0, cw.pi])
    Tensor([  0., 180.], dtype=f64)
    """
    return _real(x) * (180 / math.pi)


def sinc(x: ArrayLike | Tensor, /) -> Tensor:
    """`sin(pi x) / (pi x)`, and 1 at 0; float64 for integers.

    >>> import cloakwork as cw
    >>> cw.sinc([0.0, 0.5])
    Tensor([1.        , 0.63661977], dtype=f64)
    """
    x = operand(x)
    x = x if x.dtype.name in FLOATING else cast(x, float64)
    angle = where(x == 0, _TINY, x) * math.pi
    return ops.sin(angle) / angle


def fix(x: ArrayLike | Tensor, /) -> Tensor:
    """The integers next to the elements, towards 0; TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.fix([-1.5, 1.5])
    Tensor([-1.,  1.], dtype=f64)
    """
    x = operand(x)
    require(x, _ORDERED, "x", "real numbers, which lie between two integers")
    return ops.copy(x) if x.dtype.kind == "b" else trunc(x)


def around(x: ArrayLike | Tensor, /, decimals: int = 0) -> Tensor:
    """The elements to so many decimals, halves to even; to tens, hundreds, .. for negative numbers.

    With `decimals` other than 0 NumPy computes it: not in a trace.

    >>> import cloakwork as cw
    >>> cw.around([0.25, 1.37], 1)
    Tensor([0.2, 1.4], dtype=f64)
    """
    x = operand(x)
    require(x, (*KINDS["bool"], *KINDS["numeric"]), "x", "real or complex numbers")
    if x.dtype.kind == "b":
        x = cast(x, float64)
    return x.__round__(whole(decimals, "decimals"))


def _real(x: ArrayLike | Tensor) -> Tensor:
    """Real floats; others as float64."""
    x = operand(x)
    require(x, _ORDERED, "x", "real numbers")
    return x if x.dtype.kind == "f" else cast(x, float64)


degrees, radians = rad2deg, deg2rad
__all__ = ["around", "deg2rad", "degrees", "fix", "rad2deg", "radians", "sinc"]
