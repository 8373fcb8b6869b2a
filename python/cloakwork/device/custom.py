"""Ops that vendors declare for their devices, as functions of `cloakwork.ops`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakwork import _core, files
from cloakwork.errors import DeclarationError
from cloakwork.lazy import public


@public("cloakwork.device")
@dataclass(frozen=True)
class CustomOp:
    """An op that a vendor declared.

    doc          its definition
    file         the file that declares it
    parameters   in the order of a call; the last one is `out`
    """

    name: str
    doc: str
    file: str
    parameters: tuple[str, ...]


def load_ops(file: str | os.PathLike[str]) -> list[str]:
    """Make the ops of a file of declarations known in this process; returns their names.

    file   TOML with a table [[op]] for each op (docs/custom-ops.md)

    From then on programs with these ops are checked as any other, `cloakwork.ops` has them, and
    they run by their expansions where no device has a kernel for them.  DeclarationError names
    the line that is wrong: none of the file's ops is known then.
    """
    name = files.name_of(file)
    contents = files.read(name)
    try:
        text = contents.decode()
    except UnicodeDecodeError as error:
        line = contents.count(b"\n", 0, error.start) + 1
        got = f"the byte {contents[error.start]:#04x}"
        raise DeclarationError(name, line, "text in UTF-8", got) from None
    return _core.declare_ops(text, name)


def load_ops_of(library: str, own: str | None) -> None:
    """Make the ops known that a driver's library declares itself, and those in a file beside it."""
    name = library
    if own is not None:
        _core.declare_ops(own, f"{name} (cw_driver_ops)")
    beside = Path(name).with_suffix(".toml")
    if beside.is_file():
        load_ops(beside)


def custom_ops() -> list[CustomOp]:
    """The ops of vendors that are known in this process.

    >>> from cloakwork.device import custom_ops
    >>> "nothing" in [op.name for op in custom_ops()]
    False
    """
    return [
        CustomOp(name, doc, file, tuple(parameter for parameter, *_ in parameters))
        for name, doc, file, parameters in _core.declared_ops()
    ]


def function(name: str) -> Any:
    """A vendor's op as a function with its signature; None if no such op is known."""
    from cloakwork.device.loading import load_listed

    load_listed()
    for own, doc, _, parameters in _core.declared_ops():
        if own == name:
            # A parameter behind one that may be missing may be, too: Python orders them so.
            first = next(i for i, (_, optional, _) in enumerate(parameters) if optional)
            head = ", ".join(
                parameter if i < first else f"{parameter}={default!r}"
                for i, (parameter, _, default) in enumerate(parameters)
            )
            values = ", ".join(parameter for parameter, *_ in parameters)
            scope: dict[str, Any] = {"_op": _core.Op(name)}
            exec(f"def {name}({head}):\n    return _op({values})\n", scope)
            made = scope[name]
            made.__doc__, made.__module__ = doc, "cloakwork.ops"
            return made
    return None
