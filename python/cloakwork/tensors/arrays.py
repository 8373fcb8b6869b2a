"""Operands of functions of tensors that are what `asarray` takes, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from cloakwork._core import DType, Tensor
from cloakwork.errors import DTypeError, ParamError
from cloakwork.tensors.conversion import asarray

Rest = ParamSpec("Rest")
Result = TypeVar("Result")
OfTensor = Callable[Concatenate[Tensor, Rest], Result]
OfArray = Callable[Concatenate[Tensor | ArrayLike, Rest], Result]


_TAKEN = "a tensor, or numbers that cloakwork.asarray takes"


def operand(x: Tensor | ArrayLike, place: str = "x", elements: DType | None = None) -> Tensor:
    """A tensor as it is; a number, a list, or an array as a tensor.

    Python's sequences hold `elements` of a field, or points, where these are given.  DTypeError or
    ParamError with `place`, the name of the argument, for all else, and for objects that take no
    part in calls on arrays (`__array_ufunc__` is None).
    """
    if isinstance(x, Tensor):
        return x
    return converted(x, elements if isinstance(x, list | tuple | range) else None, place)


def converted(x: ArrayLike, dtype: DType | None, place: str) -> Tensor:
    """An argument as a tensor, as of `asarray`; errors have the argument's name."""
    if getattr(type(x), "__array_ufunc__", x) is None:
        raise DTypeError(place, type(x).__name__, _TAKEN)
    try:
        return asarray(x, dtype)
    except DTypeError as error:
        if hasattr(x, "dtype"):
            raise DTypeError(place, error.value, error.allowed) from None
        raise DTypeError(place, type(x).__name__, _TAKEN) from error
    except ParamError as error:
        rule = place + error.rule.removeprefix("obj") if error.rule.startswith("obj") else place
        raise ParamError(rule, error.value, error.allowed) from None


def of_array(function: OfTensor[Rest, Result]) -> OfArray[Rest, Result]:
    """The function for a first operand that is a tensor, a number, a list, or an array."""

    @wraps(function)
    def called(x: Tensor | ArrayLike, /, *rest: Any, **named: Any) -> Result:
        return function(x if isinstance(x, Tensor) else operand(x), *rest, **named)

    return called
