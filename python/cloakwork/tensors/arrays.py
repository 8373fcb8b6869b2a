"""Operands of functions of tensors that are what `asarray` takes, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.tensors.conversion import asarray

Rest = ParamSpec("Rest")
Result = TypeVar("Result")
OfTensor = Callable[Concatenate[Tensor, Rest], Result]
OfArray = Callable[Concatenate[Tensor | ArrayLike, Rest], Result]


def operand(x: Tensor | ArrayLike) -> Tensor:
    """A tensor as it is; a number, a list, or an array as a tensor."""
    return x if isinstance(x, Tensor) else asarray(x)


def of_array(function: OfTensor[Rest, Result]) -> OfArray[Rest, Result]:
    """The function for a first operand that is a tensor, a number, a list, or an array."""

    @wraps(function)
    def called(x: Tensor | ArrayLike, /, *rest: Any, **named: Any) -> Result:
        return function(x if isinstance(x, Tensor) else asarray(x), *rest, **named)

    return called
