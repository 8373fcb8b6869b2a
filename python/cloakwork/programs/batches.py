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
    """Call a function of tensors by its name.

    name   of one of `cloakwork`, else of `cloakwork.ops`, or with its namespace: "linalg.solve",
           "fft.rfft", "ops.ntt"

    Raises ParamError for another name, and what the function raises.

    >>> import cloakwork as cw
    >>> cw.execute_op("add", cw.asarray([1.0, 2.0]), 1.0)
    Tensor([2., 3.], dtype=f64)
    >>> cw.execute_op("sum", cw.asarray([1.0, 2.0]), keepdims=True)
    Tensor([3.], dtype=f64)
    >>> cw.execute_op("linalg.det", cw.eye(2) * 3)
    Tensor(9., dtype=f64)
    """
    return _function(name)(*args, **options)


def execute_batch(operations: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run operations as one batch, and return the results that no other operation uses.

    operations   tuples of the name of a function of tensors, as for `execute_op`, and its
                 arguments; a dict at the end has those by keyword.  A `Slot` stands for the result
                 of an earlier operation, also in lists of operands and among keywords.

    Raises ParamError for what is no such tuple, an unknown function, or a slot of no earlier
    operation, naming the operation; and what functions raise.

    >>> import cloakwork as cw
    >>> a = cw.asarray([1.0, 2.0])
    >>> cw.execute_batch([("multiply", a, a), ("add", cw.Slot(0), 1.0)])
    [Tensor([2., 5.], dtype=f64)]
    >>> cw.execute_batch([("add", a, 1.0), ("sum", cw.Slot(0), {"axis": 0, "keepdims": True})])
    [Tensor([5.], dtype=f64)]
    """
    if (computed := _core.execute_elementwise(operations, Slot)) is not None:
        return computed
    given: object = operations
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ParamError("operations", type(operations).__name__, "a sequence of tuples")
    results: list[Any] = []
    taken: set[int] = set()
    with batch():
        for index, operation in enumerate(operations):
            name, args, options = _parts(operation, index)
            function = _function(name)
            args, options = (_resolve(one, results, taken) for one in (args, options))
            results.append(function(*args, **options))
    return [result for index, result in enumerate(results) if index not in taken]


# The modules of functions that compute tensors.
_COMPUTING = ("cloakwork.array_api.", "cloakwork.numpy_names.", "cloakwork.modular.")
_FILES = "cloakwork.numpy_names.storing"
# Namespaces of such functions.
_SCOPES = ("fft", "linalg", "ops")


def _parts(operation: object, index: int) -> tuple[object, list[Any], dict[str, Any]]:
    """The name, the arguments and the keywords of an operation."""
    if not isinstance(operation, tuple | list) or not operation:
        expected = "a tuple of a function's name and its arguments"
        raise ParamError(f"operations[{index}]", repr(operation), expected)
    name, *args = operation
    options = args.pop() if args and isinstance(args[-1], dict) else {}
    return name, args, options


def _function(name: object) -> Callable[..., Any]:
    """The function of tensors that has this name."""
    import cloakwork

    scope, _, last = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if last and not last.startswith("_"):
        found = None if scope else getattr(cloakwork, last, None)
        module = getattr(found, "__module__", "") or ""
        if callable(found) and module.startswith(_COMPUTING) and module != _FILES:
            return cast("Callable[..., Any]", found)
        if (scope or "ops") in _SCOPES:
            space = getattr(cloakwork, scope or "ops")
            # Ops of vendors are declared while the program runs.
            is_public = space is cloakwork.ops or last in space.__all__
            found = getattr(space, last, None) if is_public else None
            if callable(found) and not isinstance(found, type):
                return cast("Callable[..., Any]", found)
    expected = "the name of a function of tensors, such as 'add' or 'linalg.solve'"
    raise ParamError("operation", name, expected)


def _resolve(given: Any, results: list[Any], taken: set[int]) -> Any:
    """Arguments with results in the place of their slots."""
    if isinstance(given, dict):
        return {name: _resolve(one, results, taken) for name, one in given.items()}
    if type(given) in (list, tuple):
        return type(given)(_resolve(one, results, taken) for one in given)
    if not isinstance(given, Slot):
        return given
    index: object = given.index
    if not isinstance(index, int) or not 0 <= index < len(results):
        earlier = f"an earlier operation, 0 to {len(results) - 1}"
        none = "none: no operation comes before the first"
        raise ParamError("slot", given.index, earlier if results else none)
    taken.add(given.index)
    return results[given.index]
