"""The library that runs circom's WebAssembly: wasmtime's, of the package of that name.

Only the library's path is taken from the package: importing it takes longer than many a witness.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from cloakwork.errors import ParamError
from cloakwork.wording import installing

# The release whose C interface `crates/wasm` calls.
_RELEASE = "50"
_NAMES = {"linux": "_libwasmtime.so", "darwin": "_libwasmtime.dylib"}
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def library() -> str:
    """The path of the library; ParamError with pip's command where there is none that fits."""
    spec = find_spec("wasmtime")
    if spec is None or spec.origin is None:
        raise _refused("not installed")
    package = Path(spec.origin).parent
    names = [one.stem for one in package.parent.glob("wasmtime-*.dist-info")]
    found = sorted(name.partition("-")[2] for name in names)
    if not any(version.split(".")[0] == _RELEASE for version in found):
        raise _refused(f"release {found[-1]}" if found else "an unknown release")
    machine = os.uname().machine.lower()
    folder = f"{sys.platform}-{_MACHINES.get(machine, machine)}"
    path = package / folder / _NAMES.get(sys.platform, "")
    if not path.is_file():
        raise _refused(f"no library for {folder}")
    return str(path)


def _refused(got: str) -> ParamError:
    return ParamError("wasmtime", got, f"release {_RELEASE}: {installing('circom')}")
