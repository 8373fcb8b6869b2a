"""Devices of ciphertexts: operations run where their operand lies."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, TypeVar

from cloakwork import _core
from cloakwork._core import Tensor

_Operation = TypeVar("_Operation", bound=Callable[..., Any])
_OPERATORS = {
    "__add__", "__radd__", "__sub__", "__rsub__", "__neg__", "__mul__", "__rmul__", "__pow__",
    "__truediv__", "__getitem__",
}  # fmt: skip


def on_its_device(operation: _Operation) -> _Operation:
    """An operation whose calls all run on the device of the first operand that is on one.

    That includes the making of tensors for its results, which follow no operand.
    """

    @wraps(operation)
    def on_device(*operands: Any, **options: Any) -> Any:
        given = (getattr(operand, "data", None) for operand in operands[:2])
        tensors = [data for data in given if isinstance(data, Tensor)]
        if all(tensor.device == "cpu" for tensor in tensors):
            return operation(*operands, **options)
        with _core.Scope(*tensors):
            return operation(*operands, **options)

    return on_device  # type: ignore[return-value]  # the same signature


class OnDevices:
    """The base of classes whose operations run on the device of their `data`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, found in list(vars(cls).items()):
            is_operation = name in _OPERATORS or not name.startswith("_")
            if isfunction(found) and is_operation and name not in ("to", "save"):
                setattr(cls, name, on_its_device(found))
