"""Drivers: shared libraries that make a vendor's devices known by name."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from cloakwork import _core
from cloakwork.device import custom
from cloakwork.errors import DriverError, ParamError
from cloakwork.lazy import public

_VARIABLE = "CLOAKWORK_DRIVERS"
_DECLARATIONS = ".toml"
_PROCESS = Path(__file__).with_name("process.py")
# A day: no call takes longer.
_LONGEST = 86_400.0
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
    isolated: bool
    """Whether it runs in a process of its own."""


def load_driver(
    file: str | os.PathLike[str], *, isolate: bool = False, timeout: float | None = None
) -> Driver:
    """Load the driver of a shared library.

    file     a library that exports `cw_driver_table` (csrc/include/cloakwork/device.h); with
             `isolate` also "cuda:0", the engine's own driver of GPUs
    isolate  run it in a process of its own: where it crashes, exits or overwrites its memory, or
             loses its device, as by an illegal address on a GPU, the run that needed it raises
             DeviceLostError, which names the call and the kernel; the next run starts another
             process.  Where only the work before was to blame, the run is done once more first,
             with a wait after each launch.  Without it, the library runs in this process.
    timeout  the longest time in seconds that one call of the library may take; then its process is
             ended and the run raises DeviceLostError.  Needs `isolate`: calls in this process
             cannot be stopped.

    Its devices can be named in this process from now on, and the ops that it declares itself or
    in a file of its name beside it (libmychip.toml) are known (docs/custom-ops.md).  A library that
    is loaded already gives the same driver, with the timeout that is given now; none is unloaded.
    DriverError says what is wrong with a file that is no library, has no such symbol, or a table of
    another version, whose name is taken, or that is loaded in this process and is to be isolated.

    >>> from cloakwork.device import load_driver
    >>> load_driver("./nothing.so")
    Traceback (most recent call last):
    ...
    cloakwork.errors.DriverError: driver ./nothing.so: cannot be read: No such file or directory \
(os error 2)
    """
    if timeout is not None:
        checked_timeout(timeout)
        if not isolate:
            raise ParamError("timeout", timeout, "None without isolate, which can stop a driver")
    path = os.fspath(file)
    name = _core.load_isolated(path, timeout, _program()) if isolate else _core.load_driver(path)
    if not (isolate and is_gpu(path)):
        custom.load_ops_of(path, _own_ops(path, timeout) if isolate else _core.driver_ops(path))
    driver = next(driver for driver in _loaded() if driver.name == name)
    _check_kernels(path, driver)
    return driver


def _check_kernels(path: str, driver: Driver) -> None:
    """Refuse rows that no op ever launches: their names are mistakes."""
    known = {facts[0] for facts in _core.kernel_types()} | {op.name for op in custom.custom_ops()}
    for kernel in driver.kernels:
        if kernel not in known:
            import difflib

            near = difflib.get_close_matches(kernel, sorted(known), n=1)
            hint = f", such as {near[0]}" if near else ""
            reason = (
                f"a row is for the kernel {kernel!r}: expected the name of a kernel{hint}, or of "
                f"an op that it declares itself or in {Path(path).with_suffix('.toml').name}"
            )
            raise DriverError(path, reason)


def checked_timeout(seconds: float) -> float:
    """The seconds, if a call can take so long: ParamError for 0, negative ones, NaN, infinity."""
    if not 0 < seconds <= _LONGEST:
        raise ParamError("timeout", seconds, f"seconds above 0, at most {_LONGEST:.0f}")
    return seconds


def _program() -> list[str]:
    """The command line of a driver's process: this interpreter, without what users have added."""
    if not sys.executable:
        raise ParamError("isolate", True, "False where `sys.executable` names no interpreter")
    return [sys.executable, "-I", "-S", str(_PROCESS), str(_core.__file__)]


def _own_ops(library: str, timeout: float | None) -> str | None:
    """The declarations that an isolated library exports, which another process reads."""
    import subprocess

    command = [*_program(), "ops", library]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              timeout=timeout, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        reason = f"its declarations of ops (cw_driver_ops) took more than {timeout} s"
        raise DriverError(library, reason) from None
    if done.returncode != 0:
        end = f"with status {done.returncode}"
        if done.returncode < 0:
            end = f"by {signal.Signals(-done.returncode).name}"
        reason = f"the process that reads its declarations of ops (cw_driver_ops) ended {end}"
        raise DriverError(library, reason)
    return done.stdout.decode() or None


def drivers() -> list[Driver]:
    """The drivers that are loaded, and those of the files that CLOAKWORK_DRIVERS lists.

    >>> from cloakwork.device import drivers
    >>> "nothing" in [driver.name for driver in drivers()]
    False
    """
    load_listed()
    return _loaded()


def _loaded() -> list[Driver]:
    return [
        Driver(
            name=facts["name"],
            file=facts["file"] and os.fspath(facts["file"]),
            devices=tuple(facts["devices"]),
            kernels=tuple(facts["kernels"]),
            takes_segments=facts["takes_segments"],
            isolated=facts["isolated"],
        )
        for facts in _core.loaded_drivers()
    ]


def place_name(devices: str) -> str:
    """The names of devices with commas between, each given by name or by the file of its driver."""
    return ",".join(device_name(name) for name in split_names(devices))


def split_names(devices: str) -> list[str]:
    """The names between commas; a comma in the path of a file that exists is part of its name."""
    parts, names = devices.split(","), []
    while parts:
        joined = reversed(list(accumulate(parts, "{},{}".format)))
        name = next((one for one in joined if Path(_path(one)).is_file()), parts[0])
        names.append(name.strip())
        del parts[: name.count(",") + 1]
    return names


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


def isolated(device: str, timeout: float | None) -> str:
    """The name of a device whose driver runs in a process of its own: `load_driver`.

    ParamError for a device whose driver is part of this process, as those in Python are.
    """
    if timeout is not None:
        checked_timeout(timeout)
    file, index = _split(device)
    if is_gpu(device):
        load_driver(device, isolate=True, timeout=timeout)
        return device
    if _is_file(file) and not _of_class(file):
        return f"{load_driver(file, isolate=True, timeout=timeout).name}:{index}"
    for listed in _listed():
        if listed.endswith(_DECLARATIONS):
            custom.load_ops(listed)
        else:
            load_driver(listed, isolate=True, timeout=timeout)
    known = next((driver.file for driver in _loaded() if driver.name == file), None)
    if known is None:
        raise ParamError(
            "isolate", device, "a driver's library, such as ./libmychip.so, or cuda:0: other "
            "devices run in no process of their own"
        )  # fmt: skip
    load_driver(known, isolate=True, timeout=timeout)
    return device


def _split(device: str) -> tuple[str, str]:
    """The file or name, and the index; "0" if there is none."""
    file, colon, index = device.rpartition(":")
    return (file, index) if colon and index.isdecimal() else (device, "0")


def _path(device: str) -> str:
    """The file of a device that is given by one."""
    file = _split(device)[0]
    return file.rpartition(":")[0] if _of_class(file) else file


def is_gpu(device: str) -> bool:
    """Whether it is one of NVIDIA's GPUs: "cuda:0"."""
    name, colon, index = device.rpartition(":")
    return name == "cuda" and bool(colon) and index.isdecimal()


def _of_class(file: str) -> bool:
    return file.rpartition(":")[0].endswith(".py")


def _is_file(file: str) -> bool:
    return os.sep in file or file.endswith(_ENDINGS) or _of_class(file)


def load_listed() -> None:
    """Load the drivers and declarations of ops that CLOAKWORK_DRIVERS lists."""
    for file in _listed():
        if file.endswith(_DECLARATIONS):
            custom.load_ops(file)
        else:
            load_driver(file)


def _listed() -> list[str]:
    files = filter(None, os.environ.get(_VARIABLE, "").split(os.pathsep))
    return [str(Path(file).expanduser()) for file in files]
