"""The commands of docs/devices.md run as they are written, in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cloakwork as cw
import pytest

from python import device_builds as builds

PAGE = (builds.ROOT / "docs" / "devices.md").read_text()
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(language: str) -> list[str]:
    return [body for kind, body in _BLOCK.findall(PAGE) if kind == language]


@pytest.mark.skipif(not builds.has_compilers(), reason="no compiler for drivers")
def test_the_commands_run_in_their_order(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("python3", "cloakwork"):
        start = "" if name == "python3" else "-c 'from cloakwork.cli import main; exit(main())'"
        (bin_folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
        (bin_folder / name).chmod(0o755)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(cw.__file__).parents[1])}
    (tmp_path / "work").mkdir()
    lines = [line[2:] for block in blocks("console") for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        # Each line begins where the user would be: `cd mychip && make` is a line of its own.
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path / "work", env=env, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(("language", "source"), [("c", "page.c"), ("cpp", "page.cpp")])
def test_the_sources_on_the_page_compile(language: str, source: str, tmp_path: Path) -> None:
    if shutil.which({"c": "cc", "cpp": "c++"}[language]) is None:
        pytest.skip("no compiler for drivers")
    (body,) = blocks(language)
    (tmp_path / source).write_text(body)
    options = ["-c", "-fPIC", f"-I{cw.device.include_dir()}", "-o", "page.o", source]
    compiler = {"c": ["cc", "-std=gnu11"], "cpp": ["c++", "-std=c++17"]}[language]
    subprocess.run([*compiler, *options], cwd=tmp_path, check=True)
