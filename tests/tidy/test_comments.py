"""Doc comments of Rust name the item: none begins with What, Who or That."""

from __future__ import annotations

import re

from tidy import tree

_DOC = re.compile(r"\s*(//[/!])(?!/)")
_RIDDLE = re.compile(r"\s*//[/!] (?:What|Who|That)\b")

# Files in which some doc comments still begin so.
KNOWN = {
    "crates/formats/src/circom/json.rs",
    "crates/formats/src/circom/sections.rs",
    "crates/formats/src/circom/write.rs",
    "crates/formats/src/circom/zkey.rs",
    "crates/library/src/pairing/points.rs",
    "crates/library/src/pairing/proving_key.rs",
}


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
    assert {name: lines for name, lines in found.items() if lines and name not in KNOWN} == {}


def test_the_first_line_of_a_doc_comment_counts() -> None:
    assert riddles("/// What is read.\nfn f() {}\n    /// Who reads.\n    x: u8,\n") == [1, 3]
    assert riddles("//! That it is read.\n//! More.\n/// What it is.\n") == [1, 3]
    assert riddles("/// Reads.\n///\n/// What is left stays.\nfn f() {}\n") == []
    assert riddles("/// Whatever is read.\n// What is read.\n//// What is read.\n") == []
