"""A node of ONNX is named in the files of docs/adding-a-node.md, and in no others."""

from __future__ import annotations

import re

from tidy import tree

PAGE = tree.ROOT / "docs" / "adding-a-node.md"
# The page itself, this file, and what tells of each release.
_APART = {PAGE, tree.ROOT / "tests" / "tidy" / "test_node_files.py", tree.ROOT / "CHANGELOG.md"}


def listed() -> set[str]:
    """The files of the page's table."""
    section = tree.text(PAGE).split("## How many files", 1)[1]
    rows = re.findall(r"^\| [a-z]+ \| (`.*`) \|$", section, re.MULTILINE)
    return {name for files in rows for name in re.findall(r"`([^`]+)`", files)}


def naming(word: str) -> set[str]:
    """Files that contain the word."""
    pattern = re.compile(rf"\b{word}\b")
    return {
        tree.relative(path)
        for path in tree.files()
        if path not in _APART and pattern.search(tree.text(path))
    }


def test_the_example_node_is_named_in_exactly_the_files_that_the_page_lists() -> None:
    assert naming("Celu") == listed()


def test_a_node_that_is_named_elsewhere_would_be_found() -> None:
    # Masks are read together with the node that follows them.
    assert len(naming("Softmax")) > len(listed())
