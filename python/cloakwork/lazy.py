"""Public names: created at their first use (PEP 562), and under which module users find them.

The names of a package stand in its module `namespace`, which imports them and has `__all__`; type
checkers read that module as the package.  The functions of `cloakwork.ops` stand in its stub.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol, TypeVar

Class = TypeVar("Class", bound=type)


def public(module: str) -> Callable[[Class], Class]:
    """Name a class by the public module from which users import it, not by its file.

    So its pickles can be read after its file has moved.  The decorator stands above all others,
    because `dataclass` looks up annotations in the module of the file.
    """

    def named(cls: Class) -> Class:
        cls.__module__ = module
        return cls

    return named


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    A name is a module of the package, or a name of its namespace, which is then loaded whole: from
    then on its names are attributes of the package.
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


class Callee(Protocol):
    """An object that computes, given all arguments by position."""

    @property
    def parameters(self) -> Sequence[str]:
        """The names of the arguments, in that order."""

    def __call__(self, *args: Any) -> Any:
        """Compute."""


def declared(
    module: str, callee: Callable[[str], Callee]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module whose functions are declared in its stub.

    A function is compiled from its declaration, which has its signature and its docstring, with a
    call of `callee(name)` as its body: from then on it is an attribute of the module.
    """
    own = sys.modules[module].__dict__
    path = f"{own['__file__']}i"

    @cache
    def stub() -> str:
        text: bytes = own["__loader__"].get_data(path)
        return text.decode()

    def get(name: str) -> Any:
        if name == "__all__":
            heads = [line.partition("(")[0] for line in stub().splitlines()]
            return sorted(head[4:] for head in heads if head.startswith("def "))
        start = -1 if name.startswith("_") else stub().find(f"\ndef {name}(")
        if start < 0:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        declaration = stub()[start:].split("\n\ndef ", 1)[0].rstrip()
        own[f"_{name}"] = called = callee(name)
        body = f"    return _{name}({', '.join(called.parameters)})"
        # Empty lines, so that its place is that of the declaration.  Annotations stay text, as
        # compiled code takes over what this file imports from the future.
        lines = "\n" * stub().count("\n", 0, start)
        exec(compile(f"{lines}{declaration}\n{body}\n", path, "exec"), own)
        return own[name]

    def names() -> list[str]:
        return sorted({*own, *get("__all__")})

    return get, names


def _module(name: str) -> Any:
    """The module of this name, or None."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise
