"""What Python may not do: reach memory by itself, start threads, unpickle, loop over elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

FORBIDDEN_MODULES = {
    "_ctypes", "_thread", "array", "cffi", "concurrent", "ctypes", "marshal", "mmap",
    "multiprocessing", "numba", "pickle", "shelve", "struct", "threading",
}  # fmt: skip
# NumPy's ways to call Python once an element.
_ELEMENT_WISE = {
    "apply_along_axis", "apply_over_axes", "flat", "frompyfunc", "ndenumerate", "ndindex",
    "nditer", "vectorize",
}  # fmt: skip


def layer_findings(source: str) -> list[str]:
    """Return what the source does that belongs to a lower layer, with line numbers."""
    return [f"line {line}: {what}" for line, what in sorted(_findings(ast.parse(source)))]


def _findings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _import(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from _import(node.lineno, node.module or "")
        elif isinstance(node, ast.Attribute) and node.attr in _ELEMENT_WISE:
            yield node.lineno, f".{node.attr} calls Python for each element"
        elif isinstance(node, ast.For | ast.comprehension) and _counts_elements(node.iter):
            yield node.iter.lineno, f"loop over elements: {ast.unparse(node.iter)}"


def _import(line: int, module: str) -> Iterator[tuple[int, str]]:
    if module.split(".", maxsplit=1)[0] in FORBIDDEN_MODULES:
        yield line, f"import of {module}"


def _counts_elements(loop: ast.expr) -> bool:
    """Recognise `range(... len(x) ...)`, `range(... x.size ...)`, `x.tolist()` and `x.ravel()`."""
    if not isinstance(loop, ast.Call):
        return False
    if isinstance(loop.func, ast.Attribute):
        return loop.func.attr in ("tolist", "ravel", "flatten")
    if not (isinstance(loop.func, ast.Name) and loop.func.id == "range"):
        return False
    parts = [part for argument in loop.args for part in ast.walk(argument)]
    return any(
        (isinstance(part, ast.Name) and part.id == "len")
        or (isinstance(part, ast.Attribute) and part.attr == "size")
        for part in parts
    )
