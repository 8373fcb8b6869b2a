"""Files that spell an op's name: the declarations, and files with a stated reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tidy import tree

# Files that spell op names, with the reason.
SPELLS = {
    "crates/formats/src/container/check.rs": "`any` is a message's word",
    "crates/formats/src/heal/arg.rs": "keys of HEAL's JSON",
    "crates/formats/src/heal/generation.rs": "names of HEAL's files, whose generation they tell",
    "crates/formats/src/heal/upload.rs": "names of HEAL's files, which hold data in uploads",
    "crates/formats/src/heal/write.rs": "names of HEAL's files, whose generation they tell",
    "crates/formats/src/zk/fields.rs": "the hash of a transcript, which halo2 names so, too",
    "crates/formats/src/zk/kinds.rs": "kinds of the instruction View",
    "crates/instructions/src/lower/calls.rs": "the hash of a transcript, as files spell it",
    "crates/instructions/src/lower/fused.rs": "words of the function `fused`",
    "crates/ir/src/builder.rs": "the ends of any program, below the declarations",
    "crates/py/src/buffer.rs": "a parameter of Python's",
    "crates/py/src/dlpack/import.rs": "a parameter of Python's",
    "crates/py/src/numbers.rs": "operators of Python's, each a prepared call",
    "crates/py/src/shortcuts.rs": "functions of the namespace, some of which are ops",
    "crates/py/src/tensor.rs": "parameters and methods of Python's",
    "crates/run/src/report/inspect.rs": "how a step runs, in words",
    "crates/verify/src/call.rs": "unwritten memory, in words",
    "python/cloakwork/fhe/ciphertext/array_operators.py": "slots, all of them",
    "python/cloakwork/compiler/importing/tails.py": "kinds of client steps",
    "python/cloakwork/compiler/whole.py": "a kind of client step",
    "python/cloakwork/zk/instructions/builder.py": "kinds of the instruction View",
}

_HEADING = re.compile(r"^## (\w+)$", re.MULTILINE)


def names() -> set[str]:
    """The names of all ops: headings of the page that is generated from the list."""
    return set(_HEADING.findall(tree.text(tree.ROOT / "docs" / "ops.md")))


def spelled_in_rust(source: str, ops: set[str]) -> list[str]:
    """The op names among the string literals of a Rust file, tests aside."""
    code = source.split("#[cfg(test)]", maxsplit=1)[0]
    return [text for text in tree.strings(code) if text in ops]


def judged_in_python(source: str, ops: set[str]) -> list[str]:
    """The op names that a Python file compares something with."""
    return [text for text in _compared(ast.parse(source)) if text in ops]


def _compared(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Compare):
            for part in [node.left, *node.comparators]:
                yield from _texts(part)
        elif isinstance(node, ast.MatchValue):
            yield from _texts(node.value)


def _texts(node: ast.expr) -> Iterator[str]:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
