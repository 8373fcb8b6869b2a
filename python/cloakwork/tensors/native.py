"""Functions that are builtin ones, or have one before them: Python calls those without a frame."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, TypeVar, cast

from cloakwork import _core
from cloakwork._core import Tensor

Elementwise = TypeVar("Elementwise", bound=Callable[..., Tensor])
Function = TypeVar("Function", bound=Callable[..., Any])


def native(declared: Elementwise) -> Elementwise:
    """The element-wise op of a declaration's name, with its parameters and its docstring.

    The declaration has one or two parameters, positional only, and no body.
    """
    function = cast(FunctionType, declared)
    made = _core.elementwise(function.__name__, _text(function), function.__module__)
    return cast(Elementwise, made)


def shortcut(declared: Function) -> Function:
    """A builtin function that answers plain calls itself, and asks the declaration for all others.

    Results and errors are the declaration's.
    """
    function = cast(FunctionType, declared)
    made = _core.shortcut(function.__name__, _text(function), function.__module__, function)
    return cast(Function, made)


def _text(function: FunctionType) -> str:
    """The signature without types, as builtin functions have it, and the docstring."""
    found = signature(function)
    bare = [one.replace(annotation=Parameter.empty) for one in found.parameters.values()]
    own = found.replace(parameters=bare, return_annotation=Signature.empty)
    return f"{function.__name__}{own}\n--\n\n{function.__doc__ or ''}"
