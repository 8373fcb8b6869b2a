"""A driver is named in the files of docs/adding-a-device.md, and in no other file of the engine."""

from __future__ import annotations

import re

from tidy import tree

PAGE = tree.ROOT / "docs" / "adding-a-device.md"
_FOLDER = "crates/devices/src/sim/"
_NAMED = re.compile(r"\bDevice::Sim\b|\bSelf::Sim\b|\bmod sim\b|\bsim::")


def naming() -> set[str]:
    """Files of the engine outside the driver's folder that name the driver or its devices."""
    sources = tree.files(".rs", under="crates/")
    engine = [path for path in sources if "/src/" in path.as_posix()]
    names = {
        tree.relative(path) for path in engine if _NAMED.search(tree.code_only(tree.text(path)))
    }
    return {name for name in names if not name.startswith(_FOLDER)}


def test_the_simulated_device_is_named_in_exactly_the_files_that_the_page_lists() -> None:
    section = tree.text(PAGE).split("## How many files", 1)[1]
    listed = set(re.findall(r"^\|[^|]*\| `([^`]+\.rs)` \|$", section, re.MULTILINE))
    assert naming() == listed
    assert len(listed) == 2
    assert list(tree.files(".rs", under=_FOLDER))
