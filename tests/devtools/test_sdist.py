"""`dev.py sdist`: a source distribution without a file that the build read is refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from scripts.dev import sdist
from scripts.dev.console import ROOT, DevError

HELD = {"LICENSE": (ROOT / "LICENSE").read_bytes(), "crates/ir/Cargo.toml": b"[package]"}


def archive(folder: Path) -> Path:
    path = folder / "cloakwork-0.0.0.tar.gz"
    with tarfile.open(path, "w:gz") as opened:
        for name, text in HELD.items():
            member = tarfile.TarInfo(f"cloakwork-0.0.0/{name}")
            member.size = len(text)
            opened.addfile(member, io.BytesIO(text))
    return path


def test_files_that_are_absent_or_differ_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sdist, "make", lambda: archive(tmp_path))
    monkeypatch.setattr(sdist, "files_read", lambda: ["LICENSE", "crates/ir/Cargo.toml"])
    sdist.check()
    assert "has all 2 files that the build read" in capsys.readouterr().out
    monkeypatch.setattr(sdist, "files_read", lambda: ["LICENSE", "cuda/table.cc"])
    with pytest.raises(DevError, match=r"1 files are wrong(.|\n)*cuda/table\.cc: not in it"):
        sdist.check()
    monkeypatch.setitem(HELD, "LICENSE", b"other")
    with pytest.raises(DevError, match=r"LICENSE: other contents than here"):
        sdist.check()


def test_rules_of_compilers_are_read_with_spaces_and_several_lines() -> None:
    rule = "a.o: one.cc \\\n  two\\ words/b.h \\\n c.h\n\none.cc:\n"
    assert sdist.rule_files(rule) == [Path("one.cc"), Path("two words/b.h"), Path("c.h")]
