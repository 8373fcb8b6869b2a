"""`new-device` writes folders that build and run, from the package alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cloakwork as cw
import pytest
from cloakwork.cli import main
from cloakwork.device import include_dir, skeleton

from python import device_builds as builds

PACKAGE = Path(cw.__file__).parent
DEVICES = {
    "c": ("make", "libsmall_c.so"),
    "cpp": ("make", "libsmall_cpp.so"),
    "python": ("true", "small_python.py:SmallPython"),
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user with the package as a wheel lays it out: files, no links."""
    site = tmp_path_factory.mktemp("site")
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, site / "cloakwork", ignore=skipped)
    assert not any(path.is_symlink() for path in site.rglob("*"))
    return {**os.environ, "PYTHONPATH": str(site), "PYTHON": sys.executable}


def cloakwork(*words: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    code = "import sys; from cloakwork.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("language", skeleton.LANGUAGES)
def test_a_new_device_builds_runs_a_transcript_and_conforms_in_three_ops(
    language: str, tmp_path: Path, installed: dict[str, str]
) -> None:
    if language != "python" and not (builds.has_compilers() and shutil.which("make")):
        pytest.skip("no compiler for drivers, or no make")
    build, device = DEVICES[language]
    name = f"small_{language}"
    words = ["new-device", name, "--language", language]
    made = cloakwork(*words, folder=tmp_path, env=installed)
    assert made.returncode == 0, made.stderr
    written = sorted(path.name for path in (tmp_path / name).iterdir())
    assert made.stdout.split() == [f"{name}/{file}" for file in written]
    assert "README.md" in written
    assert not any("mychip" in path.read_text().lower() for path in (tmp_path / name).iterdir())
    done = subprocess.run(
        [build], cwd=tmp_path / name, env=installed, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    shutil.copy(cw.heal.sample(), tmp_path / "t.json")
    line = ["run", "t.json", "--verify", "--device", f"./{name}/{device}"]
    ran = cloakwork(*line, folder=tmp_path, env=installed)
    assert ran.returncode == 0, ran.stderr
    assert "all as expected" in ran.stdout
    line = ["conform", f"./{name}/{device}", "--quick", "--ops", "copy,modmul,modsum"]
    line += ["--seconds", "600"]
    held = cloakwork(*line, folder=tmp_path, env=installed)
    assert held.returncode == 0, held.stdout + held.stderr
    assert "3 of 3 ops pass" in held.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["Chip"], "name: got Chip, expected 1 to 32 of a-z, 0-9 and _, a letter first"),
        (["../chip"], "name: got ../chip"),
        (["sim"], "name: got sim, expected one that is not taken: cpu"),
        (["chip", "--language", "rust"], "'rust' is not one of 'c', 'cpp', 'python'"),
        (["there"], "folder: got there, expected one that is not there yet"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused(
    words: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    assert main(["new-device", *words]) == 2
    assert error in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_headers_include_only_each_other_and_the_systems() -> None:
    headers = {path.name: path.read_text() for path in include_dir().glob("cloakwork/*")}
    assert {"kernel.h", "device.h", "algebra.h", "simple_device.h", "heal_device.hpp"} <= set(
        headers
    )
    for text in headers.values():
        own = re.findall(r'#include "cloakwork/([^"]+)"', text)
        assert set(own) <= set(headers)
        assert not re.findall(r'#include "(?!cloakwork/)', text)
