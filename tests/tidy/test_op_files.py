"""An op is named in the files of docs/adding-an-op.md, and in no other file of the engine."""

from __future__ import annotations

import re
from pathlib import Path

from tidy import tree

PAGE = tree.ROOT / "docs" / "adding-an-op.md"
_ENGINE = ("crates/", "csrc/", "cuda/", "docs/", "tests/programs/")


def listed() -> dict[str, list[str]]:
    """The rows of the page's table of files."""
    section = tree.text(PAGE).split("## How many files", 1)[1]
    rows = re.findall(r"^\| ([a-z, ']+) \| (`.*`) \|$", section, re.MULTILINE)
    return {what: re.findall(r"`([^`]+)`", files) for what, files in rows}


def counts(path: Path) -> bool:
    """Python callers are not part of the engine; files generated for Python are."""
    name = tree.relative(path)
    if name.startswith("python/"):
        return tree.is_generated(tree.text(path))
    return name.startswith(_ENGINE) and path != PAGE


def naming(word: str) -> set[str]:
    """Files of the engine that contain the word."""
    pattern = re.compile(rf"\b{word}\b")
    return {
        tree.relative(path)
        for path in tree.files()
        if counts(path) and pattern.search(tree.text(path))
    }


def test_the_example_op_is_named_in_exactly_the_files_that_the_page_lists() -> None:
    assert naming("searchsorted") == {name for names in listed().values() for name in names}


def test_the_page_counts_its_own_list() -> None:
    rows = listed()
    generated = rows.pop("generated")
    written = sum(len(names) for names in rows.values())
    kernel = len(rows["kernel, definition of its launch"])
    text = " ".join(tree.text(PAGE).split())
    words = dict(
        enumerate(
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
        )
    )
    assert f"is named in {words[written]} files, and in {words[len(generated)]} that" in text
    assert f"needs no second row: {words[written - kernel]} files" in text


def test_a_place_that_does_not_loop_over_the_list_would_be_found() -> None:
    # `copy` and `fill` are the planner's own steps, by name.
    assert any(name.startswith("crates/plan/src/") for name in naming("fill"))
