"""`dev.py release-check`: parts, and the rows of docs/testing.md that they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.dev import release_check
from scripts.dev.console import DevError

ROWS = "".join(f"| `{name}` | never | |\n" for name in release_check.PARTS)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "testing.md"
    path.write_text(f"| part | date | commit |\n{ROWS}after\n")
    monkeypatch.setattr(release_check, "PAGE", path)
    monkeypatch.setattr(release_check, "ROOT", tmp_path)
    monkeypatch.setattr(release_check, "_commit", lambda: "0123456789ab")
    monkeypatch.setattr(release_check, "ensure_built", lambda: None)
    return path


def test_a_part_that_passes_is_noted_and_one_that_fails_is_not(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(release_check.PARTS, "fuzz", lambda: None)
    monkeypatch.setitem(release_check.PARTS, "cuda", lambda: "no compiler")
    assert release_check.run(["fuzz"]) == 0
    with pytest.raises(DevError, match="cuda: no compiler"):
        release_check.run(["cuda"])
    text = page.read_text()
    assert "| `0123456789ab` |\n" in text
    assert text.count("never") == len(release_check.PARTS) - 1
    assert "| `cuda` | never | |" in text


def test_unknown_parts_and_pages_without_a_row_are_refused(page: Path) -> None:
    with pytest.raises(DevError, match=r"release-check takes wheel, large, .*, got: wheels"):
        release_check.run(["wheels"])
    page.write_text("nothing\n")
    with pytest.raises(DevError, match=r"testing\.md: expected one row of fuzz, found 0"):
        release_check.note("fuzz", "0123456789ab")


def test_the_page_of_the_repository_has_a_row_for_each_part() -> None:
    text = release_check.PAGE.read_text(encoding="utf-8")
    for name in release_check.PARTS:
        assert text.count(f"\n| `{name}` | ") == 1
