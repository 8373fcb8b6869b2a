"""Packages that load their names when somebody asks for one (PEP 562).

The names of a package stand in its module `namespace`, which imports them and has `__all__`; type
checkers read that module as the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package defines as `__getattr__` and `__dir__`.

    A name is a module of the package, or one of its namespace, which is loaded whole: from then on
    its names are the package's own.
    """

    def get(name: str) -> Any:
        found = None if name.startswith("__") else _module(f"{package}.{name}")
        if found is not None:
            return found
        namespace = import_module(f"{package}.namespace")
        if name == "__all__":
            return namespace.__all__
        own = sys.modules[package].__dict__
        own.update({key: vars(namespace)[key] for key in namespace.__all__})
        if name not in own:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return own[name]

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *get("__all__")})

    return get, names


def _module(name: str) -> Any:
    """A module, if there is one of this name."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise
