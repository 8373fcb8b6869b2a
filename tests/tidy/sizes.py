"""How large files, lines and functions may be. The numbers are those at which a test fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

LINE_COLUMNS = 100
FUNCTION_LINES = 70
_C_LIKE = (".c", ".cc", ".h", ".hpp", ".cu", ".cuh")
FILE_LINES = {".rs": 700, ".py": 700, **dict.fromkeys(_C_LIKE, 500)}
# Lists grow with the project; `.inc` files are lists.
LINE_SUFFIXES = (*FILE_LINES, ".inc")

_RUST_FUNCTION = re.compile(
    r"^( *)(?:pub(?:\([^)]*\))? |const |async |unsafe |extern \S* ?)*fn \w+"
)
_CXX_FUNCTION = re.compile(r"^[A-Za-z_][^;=]*\([^;]*$")


def file_length(source: str, suffix: str) -> int:
    """Count the lines; those of Rust's unit tests at the bottom of a file do not count."""
    if suffix == ".rs":
        source = source.split("\n#[cfg(test)]\nmod tests {", maxsplit=1)[0]
    return len(source.splitlines())


def long_lines(source: str) -> list[int]:
    """Return the numbers of the lines that are too long; an address cannot be broken."""
    return [
        number
        for number, line in enumerate(source.splitlines(), 1)
        if len(line) > LINE_COLUMNS and "://" not in line
    ]


def python_functions(source: str) -> Iterator[tuple[str, int]]:
    """Yield each function's name and its lines without the docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) is not None
            docstring = _lines(first) if documented else 0
            yield node.name, _lines(node) - docstring


def braced_functions(source: str, suffix: str) -> Iterator[tuple[str, int]]:
    """Yield the first line and the length of each function, as the formatters indent them.

    A function ends at the first closing brace in the column where it began.
    """
    lines = source.splitlines()
    for start, line in enumerate(lines):
        if suffix == ".rs":
            match = _RUST_FUNCTION.match(line)
            indent = match[1] if match else None
        else:
            indent = "" if _CXX_FUNCTION.match(line) else None
        if indent is None:
            continue
        for length, candidate in enumerate(lines[start:], 1):
            if candidate.startswith(indent + "}"):
                yield line.strip(), length
                break
            if _ends_without_body(candidate, indent):
                break


def _ends_without_body(line: str, indent: str) -> bool:
    """Recognise a declaration, and a whole function on one line."""
    return line.rstrip().endswith((";", "}")) and not line.startswith(indent + " ")


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
