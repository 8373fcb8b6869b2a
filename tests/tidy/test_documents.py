"""Files and folders that documents name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidy import tree

# A path from the root in backticks; `crates/ops/src/<family>/<op>.rs` and `tests/*.cw` are forms.
_PATH = re.compile(r"`((?:benches|crates|csrc|docs|examples|python|scripts|tests)/[\w./-]+)`")
# It describes the past, not the present.
_HISTORY = "CHANGELOG.md"

DOCUMENTS = [p for p in tree.files(".md") if tree.relative(p) != _HISTORY]


def missing(source: str) -> list[str]:
    return sorted({path for path in _PATH.findall(source) if not (tree.ROOT / path).exists()})


@pytest.mark.parametrize("document", DOCUMENTS, ids=tree.relative)
def test_the_files_that_a_document_names_are_there(document: Path) -> None:
    assert missing(tree.text(document)) == []


def test_paths_are_told_from_forms_of_paths() -> None:
    source = "`crates/ir/src/lib.rs`, `crates/none.rs`, `tests/*.cw`, crates/none/at/all.rs"
    assert missing(source) == ["crates/none.rs"]
