"""Inputs by name: the types that a program expects, and checks of the given values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import Parameter, signature
from os import PathLike
from typing import Any

from cloakwork import _core
from cloakwork.errors import InputError, ParamError
from cloakwork.wording import listed

# The dtype and shape of an input.
InputType = tuple[str, tuple[int, ...]]


def types_of(core: _core.Program) -> dict[str, InputType]:
    """The types of a program's inputs by name, in the program's order."""
    return {name: (dtype, tuple(shape)) for name, dtype, shape in core.input_types()}


def type_text(dtype: str, shape: tuple[int, ...]) -> str:
    """A type as it is written in messages.

    >>> type_text("i64", (2, 3)), type_text("bn254.fr", ())
    ('i64[2, 3]', 'bn254.fr[]')
    """
    return f"{dtype}{list(shape)}"


def types_text(types: Mapping[str, str]) -> str:
    """All inputs with their types, in words."""
    words = listed(f"{name}: {type_}" for name, type_ in types.items())
    return words or "none: it has no inputs"


def check_names(
    given: Collection[str], types: Mapping[str, str], *, optional: Collection[str] = ()
) -> None:
    """ParamError for an unknown name, and for a missing input.

    types      the inputs with their types in words
    optional   the inputs that may be missing
    """
    if unknown := [name for name in given if name not in types]:
        raise ParamError("inputs", unknown[0], types_text(types))
    if missing := [name for name in types if name not in given and name not in optional]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ParamError("inputs", f"no {missing[0]}{more}", f"each of {types_text(types)}")


def paths_of(given: Mapping[str, Any]) -> list[str | PathLike[str]]:
    """The paths among the inputs: a run must not write to these files."""
    return [one for one in given.values() if _is_path(one)]


def _is_path(value: object) -> bool:
    return isinstance(value, PathLike) or (isinstance(value, str) and value.endswith(".npy"))


def name_set(rule: str, names: Collection[str]) -> set[str]:
    """The given names as a set; ParamError for a single string, a collection of letters."""
    if isinstance(names, str | bytes):
        raise ParamError(rule, repr(names), f"a collection of names, such as {{{names!r}}}")
    return set(names)


def parameters_of(function: Callable[..., Any], count: int) -> list[str]:
    """The names of a function's first `count` parameters; `in0`, ... where they are unknown.

    >>> parameters_of(lambda x, *rest: x, 3), parameters_of(max, 1)
    (['x', 'rest0', 'rest1'], ['in0'])
    """
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind in {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}:
            names.append(parameter.name)
        elif parameter.kind is Parameter.VAR_POSITIONAL:
            left = count - len(names)
            names += [f"{parameter.name}{index}" for index in range(left)]
    names = names[:count]
    if len(set(names)) < count:
        return [f"in{index}" for index in range(count)]
    return names


def as_input(name: str, value: Any, dtype: str, shape: tuple[int, ...]) -> _core.Tensor:
    """The value given for an input, as a tensor.

    Accepts a tensor, anything that `asarray` accepts, or the path of an .npy file.  Elements of
    fields and points may be integers or canonical words.  Raises InputError or ParamError that
    names the input.
    """
    if isinstance(value, _core.Tensor) and value.dtype.code == dtype:
        # Tensors need no NumPy, so that it is not loaded for them.
        if tuple(value.shape) != shape:
            raise InputError(name, type_text(dtype, shape), type_text(dtype, tuple(value.shape)))
        return value
    import numpy as np

    from cloakwork.tensors.conversion import asarray
    from cloakwork.zk.instructions.values import as_tensor, is_canonical

    numbers = isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
    if is_canonical(dtype) or not (numbers or isinstance(value, _core.Tensor)):
        return as_tensor(name, value, dtype, shape)
    made = asarray(value)
    if (made.dtype.code, tuple(made.shape)) != (dtype, shape):
        got = type_text(made.dtype.code, tuple(made.shape))
        raise InputError(name, type_text(dtype, shape), got)
    return made
