"""A field takes four files and a curve six: docs/adding-a-field.md lists all of them."""

from __future__ import annotations

import re

import pytest
from tidy import tree

_PAGE = "docs/adding-a-field.md"
# Files that the page names beside its lists: notes, the crate's entries and tests.
_BESIDE = re.compile(
    r"CHANGELOG\.md|THIRD-PARTY-NOTICES\.txt|(fuzz/)?Cargo\.(toml|lock)|(.*/)?tests/.*"
)
# A field and a curve by all names that an edit for them would write.
_EXAMPLES = {
    "a field": (4, r"\bkoalabear\b|\bKOALABEAR|\bKoalaBear\b|CW_KOALABEAR"),
    "a curve": (6, r"\bpallas\.g1\b|\bpallas_g1\b|\bPALLAS|\bPallasG1\b|CW_PALLAS|\bark.pallas\b"),
}


def listed(what: str) -> set[str]:
    """The files of a row of the page's table."""
    rows = [line.split("|") for line in tree.text(tree.ROOT / _PAGE).splitlines()]
    (files,) = [row[2] for row in rows if len(row) > 2 and row[1].strip().startswith(what)]
    return set(re.findall(r"`([^`]+)`", files))


def named(pattern: str) -> set[str]:
    """The files that name the field or the curve."""
    name = re.compile(pattern)
    files = [path for path in tree.files() if name.search(tree.text(path))]
    return {file for file in map(tree.relative, files) if not _BESIDE.fullmatch(file)}


@pytest.mark.parametrize("what", _EXAMPLES)
def test_the_page_lists_every_file_that_a_new_one_touches(what: str) -> None:
    count, pattern = _EXAMPLES[what]
    assert named(pattern) == listed(what)
    assert len(listed(what)) == count
