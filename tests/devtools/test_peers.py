"""Peers of benchmarks: installed if possible, else left out with a message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.dev import peers
from scripts.dev.console import DevError
from scripts.dev.peers import Peer

THIS = (sys.version_info[0], sys.version_info[1])


def install_python(folder: Path, version: tuple[int, int], body: str) -> Path:
    path = folder / "python{}.{}".format(*version)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_name_on_the_path_that_does_not_start_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_python(tmp_path, THIS, "exit 127")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert peers._interpreter(THIS) is None
    versions = tmp_path / "pyenv" / "versions" / "{}.{}.1".format(*THIS) / "bin"
    versions.mkdir(parents=True)
    works = install_python(versions, THIS, f'exec {sys.executable} "$@"')
    assert peers._interpreter(THIS) == str(works)


def test_another_version_of_python_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = (THIS[0], THIS[1] + 50)
    install_python(tmp_path, wanted, f'exec {sys.executable} "$@"')
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert peers._interpreter(wanted) is None


def test_what_cannot_be_had_is_left_out_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise DevError("there is no network")

    rows = (Peer("old", "old==1", (3, 0)), Peer("far", "far==2"))
    monkeypatch.setattr(peers, "PEERS", rows)
    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    monkeypatch.setattr(peers, "step", refuse)
    peers.ensure_peers()
    said = capsys.readouterr().out
    assert "old==1 is left out: there is no Python 3.0 here" in said
    assert "far==2 is left out: there is no network" in said
    assert list(tmp_path.iterdir()) == []


def test_what_is_installed_is_not_installed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def note(title: str, *_: object) -> None:
        done.append(title)
        (tmp_path / "near").mkdir(exist_ok=True)

    monkeypatch.setattr(peers, "PEERS", (Peer("near", "near==1"),))
    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    monkeypatch.setattr(peers, "step", note)
    peers.ensure_peers()
    assert len(done) == 2
    peers.ensure_peers()
    assert len(done) == 2
