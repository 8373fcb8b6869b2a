"""Drivers: shared libraries that make a vendor's devices known by name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cloakwork import _core
from cloakwork.device import custom
from cloakwork.lazy import public

_VARIABLE = "CLOAKWORK_DRIVERS"
_ENDINGS = (".so", ".dylib", ".dll")


@public("cloakwork.device")
@dataclass(frozen=True)
class Driver:
    """A driver that this process has loaded."""

    name: str
    """Of its devices: "mychip" for "mychip:0"."""
    file: str | None
    """The library that it was loaded from."""
    devices: tuple[str, ...]
    """Names of its devices, at most 16; "mychip:<i>" if there is one for every number."""
    kernels: tuple[str, ...]
    """The kernels that it has for some types, in alphabetical order: docs/kernels.md."""
    takes_segments: bool
    """Whether it takes several launches at once."""


def load_driver(file: str | os.PathLike[str]) -> Driver:
    """Load the driver of a shared library, whose code runs in this process.

    file   a library that exports `cw_driver_table` (csrc/include/cloakwork/device.h).

    Its devices can be named in this process from now on, and the ops that it declares itself or
    in a file of its name beside it (libmychip.toml) are known (docs/custom-ops.md).  A library
    that is loaded already gives the same driver; none is unloaded.  DriverError says what is wrong
    with a file that is no library, has no such symbol, or a table of another version, or whose
    name is taken.

    >>> from cloakwork.device import load_driver
    >>> load_driver("./nothing.so")
    Traceback (most recent call last):
    ...
    cloakwork.errors.DriverError: driver ./nothing.so: cannot be read: No such file or directory \
(os error 2)
    """
    name = _core.load_driver(os.fspath(file))
    custom.load_ops_of(file)
    return next(driver for driver in drivers() if driver.name == name)


def drivers() -> list[Driver]:
    """The drivers that are loaded, and those of the files that CLOAKWORK_DRIVERS lists.

    >>> from cloakwork.device import drivers
    >>> "nothing" in [driver.name for driver in drivers()]
    False
    """
    load_listed()
    return [
        Driver(
            name=facts["name"],
            file=facts["file"] and os.fspath(facts["file"]),
            devices=tuple(facts["devices"]),
            kernels=tuple(facts["kernels"]),
            takes_segments=facts["takes_segments"],
        )
        for facts in _core.loaded_drivers()
    ]


def device_name(device: str) -> str:
    """The name of a device that is given by name or by the file of its driver."""
    return resolve(device) if _is_file(_split(device)[0]) else device


def resolve(device: str) -> str:
    """The name of a device that is not known by name: of a file, the driver is loaded.

    "./libmychip.so" is the driver's device 0, "./libmychip.so:1" its device 1; so it is with
    "mychip.py:MyChip", the file and the name of a `PythonDevice`.
    """
    file, index = _split(device)
    if _of_class(file):
        from cloakwork.device.python_device import load_class

        return f"{load_class(file)}:{index}"
    if _is_file(file):
        return f"{load_driver(file).name}:{index}"
    load_listed()
    return device


def _split(device: str) -> tuple[str, str]:
    """The file or name, and the index; "0" if there is none."""
    file, colon, index = device.rpartition(":")
    return (file, index) if colon and index.isdecimal() else (device, "0")


def _of_class(file: str) -> bool:
    return file.rpartition(":")[0].endswith(".py")


def _is_file(file: str) -> bool:
    return os.sep in file or file.endswith(_ENDINGS) or _of_class(file)


def load_listed() -> None:
    """Load the drivers and declarations of ops that CLOAKWORK_DRIVERS lists."""
    for file in filter(None, os.environ.get(_VARIABLE, "").split(os.pathsep)):
        path = Path(file).expanduser()
        if path.suffix == ".toml":
            custom.load_ops(path)
        else:
            load_driver(path)
