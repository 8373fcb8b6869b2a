"""Peers of benchmarks: installed if possible, else left out with a message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.dev import locks, peers
from scripts.dev.console import DevError
from scripts.dev.locks import Lock
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


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty folders for peers and for their locks, `near` and `far`."""
    folder = tmp_path / "locks"
    folder.mkdir()
    for name in ("near", "far"):
        (folder / f"{name}.txt").write_text(f"{name}==1\n")
    monkeypatch.setattr(locks, "FOLDER", folder)
    monkeypatch.setattr(peers, "FOLDER", tmp_path / "peers")
    (tmp_path / "peers").mkdir()
    return folder


def test_what_cannot_be_had_is_left_out_with_its_reason(
    locked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise DevError("there is no network")

    rows = (Peer(Lock("near"), (3, 0)), Peer(Lock("far")))
    monkeypatch.setattr(peers, "PEERS", rows)
    monkeypatch.setattr(peers, "step", refuse)
    peers.ensure_peers()
    said = capsys.readouterr().out
    assert "near is left out: there is no Python 3.0 here" in said
    assert "far is left out: there is no network" in said
    assert list(peers.FOLDER.iterdir()) == []


def test_what_is_installed_is_not_installed_again_unless_its_lock_changes(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def note(title: str, *_: object) -> None:
        done.append(title)
        (peers.FOLDER / "near").mkdir(exist_ok=True)

    monkeypatch.setattr(peers, "PEERS", (Peer(Lock("near")),))
    monkeypatch.setattr(peers, "step", note)
    peers.ensure_peers()
    assert done == ["making an environment for near", "installing near"]
    peers.ensure_peers()
    assert len(done) == 2
    (locked / "near.txt").write_text("near==2\n")
    peers.ensure_peers()
    assert len(done) == 4


def test_the_caller_says_which_peers_are_wanted_and_a_large_one_names_its_size(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def note(title: str, *_: object) -> None:
        done.append(title)
        (peers.FOLDER / "far").mkdir(exist_ok=True)

    monkeypatch.setattr(peers, "step", note)
    monkeypatch.setattr(peers, "PEERS", (Peer(Lock("near")),))
    peers.ensure_peers([Peer(Lock("far"), size="9 GB")])
    assert done == ["making an environment for far", "installing far, 9 GB"]


def test_packages_that_are_left_out_are_neither_locked_nor_asked_for() -> None:
    lock = Lock("near", left_out=("heavy", "unused"))
    words = " ".join(locks.compile_words(lock))
    assert "--no-emit-package heavy --no-emit-package unused" in words
    assert "--no-deps" not in words, "what they require in turn is locked"
    assert "--no-deps" in locks.install("python", lock), "pip would miss them"
    text = locks.CONCRETE.content().decode()
    assert not [name for name in locks.CONCRETE.left_out if f"\n{name}==" in text]
