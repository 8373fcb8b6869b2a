"""Users' numbers as floats; numbers beyond all floats are refused."""

from __future__ import annotations

from math import isfinite
from numbers import Rational, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import EncodeError, ParamError

_REAL = "finite real numbers"


def real_numbers(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """Finite real numbers as float64; ParamError for others, such as complex ones."""
    values = np.asarray(given)
    if values.dtype.kind not in "iufbO":
        raise ParamError(name, f"values of dtype {values.dtype}", _REAL)
    try:
        found = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParamError(name, f"values of dtype {values.dtype}", _REAL) from error
    if not np.isfinite(found).all():
        raise ParamError(name, "NaN or infinity", _REAL)
    return found


def full_precision(given: Any) -> NDArray[Any]:
    """Numbers as float64 or complex128, for full precision; other values unchanged."""
    values = np.asarray(as_float(given) if isinstance(given, Rational) else given)
    if values.dtype.kind not in "iufcb":
        return values
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def as_float(number: Real) -> float:
    """The nearest float; EncodeError for a number beyond all floats."""
    try:
        return float(number)
    except OverflowError as error:
        raise EncodeError("a number of 2^1024 or more: no float holds it; take less") from error


def is_number(given: object) -> TypeGuard[float]:
    """Whether it is one real number that a float holds."""
    try:
        return isinstance(given, Real) and isfinite(float(given))
    except OverflowError:
        return False
