"""Batches: calls are collected until their batch ends, and then run as one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ContextDecorator, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast

from cloakwork import _core
from cloakwork.errors import CloakworkError, ParamError
from cloakwork.lazy import public


class Batch(ContextDecorator):
    """The scope that `cloakwork.batch` makes; as a decorator, each call of the function is one."""

    __slots__ = ("_device", "_outermost")

    def __init__(self, device: str | None = None) -> None:
        self._device = device
        self._outermost = False

    def _recreate_cm(self) -> Batch:
        return Batch(self._device)

    def __enter__(self) -> None:
        self._outermost = _core.batch_begin(self._device)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if not self._outermost:
            return
        if error is None:
            _core.batch_end(abandon=False)
        elif isinstance(error, Exception):
            # The earlier calls still run; their own errors would hide this one.
            with suppress(CloakworkError):
                _core.batch_end(abandon=False)
        else:
            _core.batch_end(abandon=True)


def batch(device: str | None = None) -> Batch:
    """Collect the calls made inside, and run them together at the end.

    device   where they run, such as "sim:0" or the file of a driver; by default where the batch
             around runs, or else "cpu".  Operands are transferred to it, results from it.

    Element-wise calls over the same elements are fused: `a * b + c` reads and writes each array
    once.  Reading a result before the end (`item`, `bool`, NumPy, ...) runs the collected calls.
    A batch inside a batch is part of it, and TraceError refuses another device for it; calls of
    other threads are no part.  DeviceError for a device that does not exist.  After an error in the
    block or in a collected call, the calls that do not depend on it still have results.

    >>> import cloakwork as cw
    >>> a = cw.asarray([1.0, 2.0, 3.0])
    >>> with cw.batch():
    ...     b = a * a
    ...     c = b + a
    >>> c
    Tensor([ 2.,  6., 12.], dtype=f64)
    >>> with cw.batch(device="sim:0"):
    ...     d = c @ a
    >>> d
    Tensor(50., dtype=f64)
    """
    return Batch(device)


@public("cloakwork")
@dataclass(frozen=True)
class Slot:
    """The result of an earlier operation of `execute_batch`, by its position."""

    index: int


def execute_op(name: str, /, *args: Any, **options: Any) -> Any:
    """Call a function of tensors by its name: one of `cloakwork`, else one of `cloakwork.ops`.

    Raises ParamError for another name, and what the function raises.

    >>> import cloakwork as cw
    >>> cw.execute_op("add", cw.asarray([1.0, 2.0]), 1.0)
    Tensor([2., 3.], dtype=f64)
    >>> cw.execute_op("sum", cw.asarray([1.0, 2.0]), keepdims=True)
    Tensor([3.], dtype=f64)
    """
    return _function(name)(*args, **options)


def execute_batch(operations: Sequence[tuple[Any, ...]]) -> list[_core.Tensor]:
    """Run operations as one batch, and return the results that no other operation uses.

    operations   tuples of the name of a function of tensors, as for `execute_op`, and its
                 arguments; a `Slot` stands for the result of an earlier operation.

    Raises ParamError for an unknown function, or a slot of no earlier operation.

    >>> import cloakwork as cw
    >>> a = cw.asarray([1.0, 2.0])
    >>> cw.execute_batch([("multiply", a, a), ("add", cw.Slot(0), 1.0)])
    [Tensor([2., 5.], dtype=f64)]
    """
    if (computed := _core.execute_elementwise(operations, Slot)) is not None:
        return computed
    results: list[_core.Tensor] = []
    taken: set[int] = set()
    with batch():
        for name, *args in operations:
            function = _function(name)
            results.append(function(*(_resolve(arg, results, taken) for arg in args)))
    return [result for index, result in enumerate(results) if index not in taken]


# The modules of functions that compute tensors.
_COMPUTING = ("cloakwork.array_api.", "cloakwork.numpy_names.", "cloakwork.modular.")
_FILES = "cloakwork.numpy_names.storing"


def _function(name: object) -> Callable[..., Any]:
    """The function of tensors that has this name."""
    import cloakwork

    if isinstance(name, str) and not name.startswith("_"):
        found = getattr(cloakwork, name, None)
        module = getattr(found, "__module__", "") or ""
        if callable(found) and module.startswith(_COMPUTING) and module != _FILES:
            return cast("Callable[..., Any]", found)
        op = getattr(cloakwork.ops, name, None)
        if callable(op) and not isinstance(op, type):
            return cast("Callable[..., Any]", op)
    raise ParamError("operation", name, "the name of a function of tensors, such as 'add'")


def _resolve(arg: Any, results: list[_core.Tensor], taken: set[int]) -> Any:
    if not isinstance(arg, Slot):
        return arg
    index: object = arg.index
    if not isinstance(index, int) or not 0 <= index < len(results):
        earlier = f"an earlier operation, 0 to {len(results) - 1}"
        none = "none: no operation comes before the first"
        raise ParamError("slot", arg.index, earlier if results else none)
    taken.add(arg.index)
    return results[arg.index]
