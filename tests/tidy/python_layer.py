"""Rules of Python code: no raw memory or files, threads, unpickling, or element loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator

FORBIDDEN_MODULES = {
    "_ctypes", "_thread", "array", "cffi", "concurrent", "ctypes", "marshal", "mmap",
    "multiprocessing", "numba", "pickle", "shelve", "struct", "threading",
}  # fmt: skip
# NumPy's functions that call Python for each element.
# Only `cloakwork.files` reads and writes files: one reader that refuses devices and one writer that
# never replaces foreign files. NumPy's reader and formats are not used.
_FILE_METHODS = {
    "NamedTemporaryFile", "TemporaryFile", "fdopen", "fromfile", "genfromtxt", "loadtxt", "memmap",
    "mkstemp", "open_memmap", "read_bytes", "read_text", "savetxt", "savez", "savez_compressed",
    "tofile", "write_bytes", "write_text",
}  # fmt: skip
_FILE_FUNCTIONS = {
    "np": {"load", "save"},
    "numpy": {"load", "save"},
    "os": {"chmod", "fchmod", "link", "remove", "rename", "replace", "unlink"},
    "shutil": {"copy", "copy2", "copyfile", "move"},
    "io": {"open", "FileIO"},
    "codecs": {"open"},
}
_ELEMENT_WISE = {
    "apply_along_axis", "apply_over_axes", "flat", "frompyfunc", "ndenumerate", "ndindex",
    "nditer", "vectorize",
}  # fmt: skip


def layer_findings(source: str) -> list[str]:
    """Return the source's uses that belong to a lower layer, with line numbers."""
    return [f"line {line}: {what}" for line, what in sorted(_findings(ast.parse(source)))]


def _findings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _import(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            # It lends bytes to pickles, and opens none.
            if node.module != "pickle" or {one.name for one in node.names} != {"PickleBuffer"}:
                yield from _import(node.lineno, node.module or "")
            if "cached_property" in [alias.name for alias in node.names]:
                yield node.lineno, "cached_property locks its class: use cloakwork.once"
        elif isinstance(node, ast.Call) and _reaches_files(node.func):
            yield node.lineno, f"{ast.unparse(node.func)}: files are `cloakwork.files`'s"
        elif isinstance(node, ast.Attribute) and node.attr in _ELEMENT_WISE:
            yield node.lineno, f".{node.attr} calls Python for each element"
        elif isinstance(node, ast.For | ast.comprehension) and _counts_elements(node.iter):
            yield node.iter.lineno, f"loop over elements: {ast.unparse(node.iter)}"


def _reaches_files(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute):
        return False
    owner = ast.unparse(function.value)
    # `os.open` is for paths that are not a user's files: the null device; `archive.open` for
    # members of an archive whose bytes `cloakwork.files` has mapped.
    opens = function.attr == "open" and owner not in {"os", "archive"}
    return opens or function.attr in _FILE_METHODS | _FILE_FUNCTIONS.get(owner, set())


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
