"""Checks of users' arguments: steps, levels and values."""

from __future__ import annotations

import operator
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import EncodeError, ParamError


def whole_number(name: str, given: object, allowed: str = "a whole number") -> int:
    """An integer of Python's or NumPy's types as an int; ParamError for others: True, 1.0."""
    try:
        if isinstance(given, bool):
            raise TypeError
        return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise ParamError(name, repr(given), allowed) from None


def numbers(values: ArrayLike) -> NDArray[Any]:
    """Values as an array of one axis or more; EncodeError unless they are numbers."""
    try:
        given = np.atleast_1d(np.asarray(values))
    except ValueError as error:
        raise EncodeError(f"values that make no array: {error}") from error
    objects = set(map(type, given.ravel())) if given.dtype.kind == "O" else {object}
    if given.dtype.kind not in "biufc" and not all(issubclass(own, Number) for own in objects):
        raise EncodeError(f"values of dtype {given.dtype}; give numbers")
    return given
