"""Tests that limit the size of files leave no half of a file to those after them."""

from __future__ import annotations

from tidy import tree

_LIMIT = "setrlimit(resource." + "RLIMIT_FSIZE"


def test_nothing_is_compiled_to_bytecode_while_files_are_limited() -> None:
    """Python up to 3.12 keeps a module's bytecode that was cut off there, and then reads it."""
    limiting = [path for path in tree.files(".py", under="tests") if _LIMIT in tree.text(path)]
    assert len(limiting) >= 3
    careless = [path for path in limiting if "dont_write_bytecode" not in tree.text(path)]
    assert careless == []
