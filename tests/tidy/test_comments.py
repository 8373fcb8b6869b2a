"""Doc comments and docstrings name the item: none begins with What, Who or That."""

from __future__ import annotations

import re

from tidy import tree

_DOC = re.compile(r"\s*(//[/!])(?!/)")
_RIDDLE = re.compile(r"\s*//[/!] (?:What|Who|That)\b")
_DOCSTRING = re.compile(r'^\s*"""(?:What|Who|That)\b', re.MULTILINE)


def riddles(source: str) -> list[int]:
    """Return the numbers of the lines that begin a doc comment with What, Who or That."""
    found, before = [], ""
    for number, line in enumerate(source.splitlines(), 1):
        match = _DOC.match(line)
        kind = match[1] if match else ""
        if kind != before and _RIDDLE.match(line):
            found.append(number)
        before = kind
    return found


def test_doc_comments_name_their_item() -> None:
    sources = tree.files(".rs", under="crates/")
    found = {tree.relative(path): riddles(tree.text(path)) for path in sources}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_first_line_of_a_doc_comment_counts() -> None:
    assert riddles("/// What is read.\nfn f() {}\n    /// Who reads.\n    x: u8,\n") == [1, 3]
    assert riddles("//! That it is read.\n//! More.\n/// What it is.\n") == [1, 3]
    assert riddles("/// Reads.\n///\n/// What is left stays.\nfn f() {}\n") == []
    assert riddles("/// Whatever is read.\n// What is read.\n//// What is read.\n") == []


def test_docstrings_name_their_item() -> None:
    sources = [*tree.files(".py", under="python/"), *tree.files(".py", under="scripts/")]
    assert [tree.relative(path) for path in sources if _DOCSTRING.search(tree.text(path))] == []
    assert _DOCSTRING.search('def f():\n    """What it reads."""\n')
    assert not _DOCSTRING.search('def f():\n    """Whatever it reads."""\n')
