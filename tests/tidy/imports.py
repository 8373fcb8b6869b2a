"""Imports of a Python package's modules at load time, and cycles of these imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter


def imported(source: str) -> set[str]:
    """Return the names that loading the source imports, `package.module` or `package.module.name`.

    Imports inside functions and for type checkers are left out.
    """
    return set(_names(ast.parse(source).body))


def _names(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If):
            if ast.unparse(node.test) != "TYPE_CHECKING":
                yield from _names(node.body)
            yield from _names(node.orelse)
        elif isinstance(node, ast.Try):
            yield from _names(node.body)


def module_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return which of the modules each of them imports."""
    graph = {}
    for module, source in sources.items():
        names = {name if name in sources else name.rpartition(".")[0] for name in imported(source)}
        graph[module] = names & sources.keys() - {module}
    return graph


def folder_graph(modules: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the same graph for the package's direct members: its folders and its own modules."""
    folders: dict[str, set[str]] = {}
    for module, needs in modules.items():
        own = _folder(module)
        folders.setdefault(own, set()).update({_folder(need) for need in needs} - {own})
    return folders


def _folder(module: str) -> str:
    return ".".join(module.split(".")[:2])


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return a cycle of imports, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []
