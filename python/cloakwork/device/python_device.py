"""Devices whose kernels are methods of a Python class, on NumPy's views."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cloakwork import _core
from cloakwork.device.signatures import FIRST, RESULT, SIGNATURES, Operand
from cloakwork.errors import DriverError, ParamError
from cloakwork.lazy import public
from cloakwork.sending import Here


class _View(NamedTuple):
    """An operand for Rust: `Operand` of `crates/py/src/python_device/method.rs`."""

    axes: list[int] | None
    without: int
    more: tuple[int, int] | None
    dtype: np.dtype[Any]
    itemsize: int


class _Call(NamedTuple):
    """A method for Rust: `Method` of the same file."""

    call: Callable[..., None]
    operands: list[_View]
    params: list[int]
    value_bytes: int


_Method = TypeVar("_Method", bound=Callable[..., None])
_BY_SIZE = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
_NUMPY = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "f32": "float32", "f64": "float64",
    "c64": "complex64", "c128": "complex128",
}  # fmt: skip


@public("cloakwork.device")
class PythonDevice(Here):
    """A device whose kernels are its methods: each public method is named like a kernel.

    A method gets NumPy views of the device's memory: the result first, to write in place, then
    read-only operands, with strides of 0 where they are broadcast; an absent operand is None.  They
    are good until the method returns.  docs/kernel-contract.md lists the arguments.  An exception
    ends the run with its class and text; steps without a method run on the host.
    """

    _stays = "it is registered in its process: send its module, and load it there"

    name: str = ""
    """Of its devices; empty: that of the class, in small letters."""
    devices: int = 1
    """How many there are: they have memory of their own, and the same methods."""


def takes(*dtypes: str) -> Callable[[_Method], _Method]:
    """Limit a method to results of these dtypes; without it, it takes all that the kernel has.

    >>> import cloakwork as cw
    >>> class Chip(cw.device.PythonDevice):
    ...     @cw.device.takes("int64")
    ...     def modsum(self, out, a, b, q):
    ...         out[...] = (a + b) % q
    """

    def limited(method: _Method) -> _Method:
        method.__dict__["cloakwork_dtypes"] = frozenset(dtypes)
        return method

    return limited


def register(device: PythonDevice) -> str:
    """Make the devices of a class known by name in this process; returns the name of the first.

    ParamError names a method that is not a kernel's, or has other arguments; DriverError says why
    the name cannot be used.

    >>> import cloakwork as cw
    >>> import numpy as np
    >>> class Adder(cw.device.PythonDevice):
    ...     def add(self, out, a, b):
    ...         np.add(a, b, out=out)
    >>> device = cw.device.register(Adder())
    >>> device
    'adder:0'
    >>> cw.trace(lambda x: x + x, cw.asarray([1, 2])).run([3, 4], device=device).outputs[0].tolist()
    [6, 8]
    """
    if not isinstance(device, PythonDevice):
        raise ParamError("device", type(device).__name__, "an instance of a PythonDevice")
    name = device.name or type(device).__name__.lower()
    rows = [row for kernel in _methods(device) for row in _rows(device, kernel)]
    if not 1 <= device.devices < 1 << 16:
        raise ParamError("devices", device.devices, "1 to 65535")
    return f"{_core.register_python_driver(name, device.devices, rows)}:0"


_LOADED: dict[str, str] = {}
"""Names of the drivers of classes, by file and name of the class."""


def load_class(given: str) -> str:
    """Register the `PythonDevice` that "path/to/file.py:Class" names, once; its driver's name.

    The code of the file runs in this process.
    """
    path, _, name = given.rpartition(":")
    file = Path(path).expanduser().resolve()
    key = f"{file}:{name}"
    if key not in _LOADED:
        if not file.is_file():
            raise DriverError(given, "there is no such file")
        found = getattr(_module(file), name, None)
        if not (inspect.isclass(found) and issubclass(found, PythonDevice)):
            raise DriverError(given, f"expected a PythonDevice of the name {name} in the file")
        _LOADED[key] = register(found()).rpartition(":")[0]
    return _LOADED[key]


def _module(file: Path) -> ModuleType:
    """The file as a module, which is none of `sys.modules`."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None  # a file that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _methods(device: PythonDevice) -> Iterator[str]:
    """The kernels that it has methods for; other public methods are refused."""
    for name, method in inspect.getmembers(type(device), callable):
        if name.startswith("_") or hasattr(PythonDevice, name):
            continue
        where = f"{type(device).__name__}.{name}"
        if name not in SIGNATURES:
            near = difflib.get_close_matches(name, SIGNATURES, n=1)
            hint = f", such as {near[0]}" if near else ""
            raise ParamError(where, name, f"the name of a kernel{hint}; or one that begins with _")
        expected = SIGNATURES[name].names
        try:
            inspect.signature(method).bind(device, *expected)
        except TypeError:
            got = str(inspect.signature(method))
            raise ParamError(where, got, f"arguments for {', '.join(expected)}") from None
        yield name


def _rows(device: PythonDevice, kernel: str) -> Iterator[tuple[Any, ...]]:
    """A row for each pair of dtypes that kernel and method take."""
    signature, method = SIGNATURES[kernel], getattr(device, kernel)
    rows = [facts[1:] for facts in _core.kernel_types() if facts[0] == kernel]
    taken = getattr(method, "cloakwork_dtypes", None)
    possible = {dtype for _, result, size in rows if (dtype := _numpy(result, size))}
    if taken is not None and (unknown := sorted(taken - possible)):
        where = f"{type(device).__name__}.{kernel}: takes"
        raise ParamError(where, unknown[0], ", ".join(sorted(possible)))
    for first, result, size in rows:
        dtypes = {FIRST: _numpy(first, size), RESULT: _numpy(result, size)}
        if None in dtypes.values() or (taken is not None and dtypes[RESULT] not in taken):
            continue
        operands = [_view(operand, dtypes) for operand in signature.operands]
        params = [number for _, number in signature.params]
        symbol = f"{kernel}_{dtypes[FIRST]}_{dtypes[RESULT]}"
        call = _Call(method, operands, params, size if signature.is_value else 0)
        yield kernel, symbol, [first or "", result or ""], size, call


def _numpy(dtype: str | None, size: int) -> str | None:
    """NumPy's name of a row's dtype; of bytes, unsigned integers; None for elements of fields."""
    return _BY_SIZE.get(size) if dtype is None else _NUMPY.get(dtype)


def _view(operand: Operand, dtypes: dict[str, str | None]) -> _View:
    dtype = np.dtype(dtypes.get(operand.dtype, operand.dtype))
    axes = None if operand.axes is None else list(operand.axes)
    return _View(axes, operand.without, operand.more, dtype, dtype.itemsize)
