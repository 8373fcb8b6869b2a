"""The parameters of a `zk.program`, by their annotations."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from cloakwork import _core
from cloakwork.errors import DTypeError, ParamError
from cloakwork.zk.instructions.values import Type, point, points, poly, scalar, tensor
from cloakwork.zk.protocol.transcripts import Transcript as _Transcript

_WRITE = (
    "an annotation: zk.Lagrange[n], zk.Coef[n], zk.Points[n], zk.Scalar, zk.Point, "
    "zk.Tensor[dtype, n, ...], or Annotated[cw.Tensor, zk.poly(n)]"
)


@dataclass(frozen=True)
class Kind:
    """The type of a parameter, for any curve of its program."""

    text: str
    of_curve: Callable[[str], Type]

    def __repr__(self) -> str:
        return self.text


class _Sized:
    """A kind without its size."""

    def __init__(self, text: str, of_curve: Callable[[int, str], Type]) -> None:
        self._text, self._of_curve = text, of_curve

    def __getitem__(self, size: int) -> Kind:
        count = _size(self._text, size)
        return Kind(f"{self._text}[{count}]", lambda curve: self._of_curve(count, curve))

    def __repr__(self) -> str:
        return self._text


class _Shaped:
    """`zk.Tensor[dtype, n, ...]`."""

    def __getitem__(self, items: str | tuple[Any, ...]) -> Kind:
        dtype, *sizes = items if isinstance(items, tuple) else (items,)
        shape = [_size("zk.Tensor[dtype, n]", size) for size in sizes]
        name = _core.element_type(dtype).code
        made = tensor(name, shape)
        return Kind(f"zk.Tensor[{', '.join([name, *map(str, shape)])}]", lambda _: made)

    def __repr__(self) -> str:
        return "zk.Tensor"


def _size(text: str, size: Any) -> int:
    try:
        count = operator.index(size)
    except TypeError:
        count = 0
    if count < 1 or isinstance(size, bool):
        raise ParamError(text, repr(size), "a number of elements from 1 on")
    return count


# Of type Any: type checkers accept these in annotations with any subscript.
Lagrange: Any = _Sized("zk.Lagrange", lambda size, curve: poly(size, "lagrange", curve=curve))
Coef: Any = _Sized("zk.Coef", lambda size, curve: poly(size, "coef", curve=curve))
Points: Any = _Sized("zk.Points", lambda size, curve: points(size, curve=curve))
Scalar: Any = Kind("zk.Scalar", lambda curve: scalar(curve=curve))
Point: Any = Kind("zk.Point", lambda curve: point(curve=curve))
Tensor: Any = _Shaped()


def parameters_of(
    function: Callable[..., Any],
    curve: str,
    inputs: Mapping[str, Type],
    names: Mapping[str, Any],
) -> dict[str, Type]:
    """The types of a function's parameters, by name.

    inputs   types that stand above annotations
    names    names that annotations in text may use, in addition to the function's globals

    ParamError names the function, the parameter, and what to write.
    """
    parameters = inspect.signature(function).parameters
    called = getattr(function, "__name__", "function")
    if unknown := inputs.keys() - parameters.keys():
        known = ", ".join(parameters) or "none: the function has no parameters"
        raise ParamError(f"inputs of {called}", min(unknown), known)
    found = {}
    for name, parameter in parameters.items():
        place = f"{called}({name})"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ParamError(place, str(parameter), "parameters one by one, each with a type")
        said = inputs.get(name)
        if said is None:
            said = _type_of(place, _read(place, parameter.annotation, function, names), curve)
        found[name] = _known(place, said)
    return found


def _read(place: str, said: Any, function: Callable[..., Any], names: Mapping[str, Any]) -> Any:
    """Evaluate an annotation that is text."""
    if not isinstance(said, str):
        return said
    try:
        return eval(said, getattr(function, "__globals__", {}), dict(names))
    except ParamError as error:
        raise ParamError(f"{place}, {said}: {error.rule}", error.value, error.allowed) from error
    except Exception as error:
        raise ParamError(place, f"{said!r}, which raises {error!r}", _WRITE) from error


def _type_of(place: str, said: Any, curve: str) -> Type:
    if said is inspect.Parameter.empty:
        raise ParamError(place, "no annotation", _WRITE)
    if said is _Transcript:
        expected = "a transcript made in the function: zk.Transcript(...)"
        raise ParamError(place, "zk.Transcript", expected)
    meant = get_args(said)[1:] if get_origin(said) is Annotated else (said,)
    for part in meant:
        if isinstance(part, Type):
            return part
        if isinstance(part, Kind):
            return part.of_curve(curve)
    sized = f"{said!r} without a size" if isinstance(said, _Sized | _Shaped) else repr(said)
    raise ParamError(place, sized, _WRITE)


def _known(place: str, said: Type) -> Type:
    """The same, if there is such a dtype."""
    try:
        _core.element_type(said.dtype)
    except DTypeError as error:
        raise DTypeError(place, error.value, error.allowed) from error
    return said
