"""`.venv`: which lock is installed when, what the first line says, which places are taken."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.dev import environment, locks
from scripts.dev.console import PROGRESS, ROOT

Step = Callable[..., None]


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of steps, which do nothing, in a repository with locks and no `.venv`."""
    done: list[str] = []
    root = tmp_path / "a folder, Übung"
    for name, path in {
        "VENV": ".venv",
        "PYTHON": ".venv/bin/python",
        "_STATE": ".venv/dev",
    }.items():
        monkeypatch.setattr(environment, name, root / path)
    monkeypatch.setattr(environment, "ROOT", root)
    monkeypatch.setattr(environment, "_EXTENSION", root / "_core.abi3.so")
    monkeypatch.setattr(environment, "require_all", lambda: "cargo")
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    monkeypatch.setattr(locks, "ROOT", root)
    monkeypatch.setattr(locks, "FOLDER", root / "locks")
    (root / "locks").mkdir(parents=True)
    for lock in (locks.DEV, locks.DEMO):
        lock.path.write_text(f"{lock.name}==1\n")

    def step(title: str, command: list[str | Path], log: Path, *_: object) -> None:
        done.append(title.split(" with ", maxsplit=1)[0])
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        if title.startswith("making"):
            make_venv(root / ".venv")

    monkeypatch.setattr(environment, "step", step)
    return done


def make_venv(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"version = 3\ncommand = python -m venv --clear {folder}\n")


MAKE = "making .venv"
DEV, DEMO = (f"installing the packages of locks/{name}.txt" for name in ("develop", "demo"))


def test_a_lock_is_installed_once_and_again_if_it_changes(steps: list[str]) -> None:
    environment.ensure_environment(locks.DEMO)
    environment.ensure_environment(locks.DEMO)
    assert steps == [MAKE, DEMO]
    locks.DEMO.path.write_text("demo==2\n")
    environment.ensure_environment(locks.DEMO)
    assert steps == [MAKE, DEMO, DEMO]


def test_the_large_lock_has_the_small_one_but_not_the_reverse(steps: list[str]) -> None:
    environment.ensure_environment(locks.DEMO)
    environment.ensure_environment()
    environment.ensure_environment(locks.DEMO)
    environment.ensure_environment()
    assert steps == [MAKE, DEMO, DEV]


def test_a_small_lock_put_over_an_old_large_one_leaves_the_large_one_to_be_installed(
    steps: list[str],
) -> None:
    environment.ensure_environment()
    was = locks.DEV.path.read_text()
    locks.DEV.path.write_text("dev==2\n")
    environment.ensure_environment(locks.DEMO)
    locks.DEV.path.write_text(was)
    environment.ensure_environment()
    assert steps == [MAKE, DEV, DEMO, DEV]


def test_an_environment_of_another_place_or_another_python_is_made_anew(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.ensure_environment()
    moved = environment.VENV.parent.with_name("moved")
    environment.VENV.parent.rename(moved)
    monkeypatch.setattr(environment, "ROOT", moved)
    monkeypatch.setattr(environment, "VENV", moved / ".venv")
    monkeypatch.setattr(environment, "PYTHON", moved / ".venv" / "bin" / "python")
    assert not environment._interpreter_works()
    make_venv(moved / "other")
    monkeypatch.setattr(environment, "VENV", moved / "other")
    assert environment._interpreter_works()
    (moved / "other" / "bin" / "python").unlink()
    (moved / "other" / "bin" / "python").symlink_to("/bin/false")
    monkeypatch.setattr(environment, "PYTHON", moved / "other" / "bin" / "python")
    assert not environment._interpreter_works()


def test_the_first_build_says_how_long_it_takes_before_all_else(
    steps: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "processors", lambda: 2)
    monkeypatch.setattr(environment, "_build_inputs", list)
    environment.ensure_built(locks.DEMO)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith(" s] first build: about 7 minutes on 2 cores; later ones take seconds")
    assert steps == [MAKE, DEMO, "building the extension"]
    environment._EXTENSION.touch()
    (environment.VENV.parent / "target" / environment.PROFILE).mkdir(parents=True)
    (environment.VENV / "bin" / "cloakwork").touch()
    environment.ensure_built(locks.DEMO)
    assert capsys.readouterr().out.splitlines()[-1].endswith("build is up to date")
    assert len(steps) == 3


@pytest.mark.parametrize(
    ("cores", "said"),
    [
        (1, "about 14 minutes on 1 core;"),
        (5, "about 3 minutes on 5 cores;"),
        (64, "about 2 minutes on 64 cores;"),
    ],
)
def test_minutes_are_those_of_the_machine(cores: int, said: str) -> None:
    assert said in environment.first_build_line(cores)


def test_a_build_after_a_change_is_not_the_first(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.is_first_build()
    environment._EXTENSION.touch()
    assert environment.is_first_build(), "nothing is compiled"
    monkeypatch.setenv("CARGO_TARGET_DIR", "elsewhere")
    (environment.VENV.parent / "elsewhere" / environment.PROFILE).mkdir(parents=True)
    assert not environment.is_first_build()
    environment._EXTENSION.unlink()
    assert environment.is_first_build(), "a build was interrupted"


def test_a_build_reports_units_and_takes_no_package_beside_the_lock(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[list[str | Path], dict[str, str]]] = []
    monkeypatch.setattr(environment, "step", lambda _, words, __, env: given.append((words, env)))
    monkeypatch.setattr(environment, "ensure_environment", lambda _: None)
    monkeypatch.setattr(environment, "_build_inputs", list)
    environment.ensure_built()
    [(words, variables)] = given
    assert "--locked" in words
    assert variables["PIP_NO_INDEX"] == "1"
    assert variables[PROGRESS] == str(environment.VENV / "dev" / "progress")


def test_processors_are_those_that_the_process_may_use() -> None:
    code = "import os; from scripts.dev.environment import processors as p; first = p()"
    code += "; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); print(first, p())"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == [str(len(os.sched_getaffinity(0))), "1"]
