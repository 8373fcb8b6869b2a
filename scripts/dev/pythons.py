"""The same extension under every Python of this machine that the project supports.

The extension is built once, for the stable ABI of 3.11; each other version gets its own environment
under `.venv/pythons`, and runs the tests that cover every kind of call from Python.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scripts.dev import interpreters
from scripts.dev.console import ROOT, DevError, Words, call, say, step
from scripts.dev.environment import PYTHON, VENV, environment

FOLDER = VENV / "pythons"
# Conversions, operators, indexing, buffers, pickles, tracing, callbacks, files, errors, fields.
SMOKE = tuple(
    f"tests/python/test_{name}.py"
    for name in ("tensor", "indexing", "trace", "batches", "heal", "errors", "modular", "field_ops")
)
_TESTED_WITH = ("pytest", "hypothesis")


def others() -> dict[str, str]:
    """Supported Pythons, from the oldest on, except the version of `.venv`."""
    found = {
        "{}.{}".format(*version): path
        for version, path in interpreters.since(_oldest_supported()).items()
    }
    found.pop(_version_of(PYTHON), None)
    return found


def check(version: str, python: str) -> None:
    """Run the smoke tests under one version; raise if they fail."""
    folder = _environment(version, python)
    say(f"Python {version}: smoke tests")
    pytest: Words = [folder / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    variables = {**environment(), "VIRTUAL_ENV": str(folder), "PYTHONPATH": str(ROOT / "python")}
    if call([*pytest, *SMOKE], variables) != 0:
        raise DevError(f"Python {version}: the smoke tests fail", 1)


def _environment(version: str, python: str) -> Path:
    """Make the environment of a version, unless it has these requirements already."""
    folder, requirements = FOLDER / version, _requirements()
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == "\n".join(requirements):
        return folder
    log = FOLDER / f"{version}.log"
    step(
        f"making an environment for Python {version}",
        [python, "-m", "venv", "--clear", folder],
        log,
    )
    pip: Words = [folder / "bin" / "python", "-m", "pip", "install", "--only-binary", ":all:"]
    step(f"installing for Python {version}", [*pip, *requirements], log)
    stamp.write_text("\n".join(requirements))
    return folder


def _requirements() -> list[str]:
    project = _project()
    extras = project["optional-dependencies"]["dev"]
    return [*project["dependencies"], *_named(extras, _TESTED_WITH)]


def _named(requirements: Iterable[str], names: Iterable[str]) -> list[str]:
    wanted = set(names)
    return [one for one in requirements if re.split(r"[^\w-]", one, maxsplit=1)[0] in wanted]


def _oldest_supported() -> tuple[int, int]:
    major, minor = re.findall(r"\d+", _project()["requires-python"])[:2]
    return int(major), int(minor)


def _project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as source:
        project: dict[str, Any] = tomllib.load(source)["project"]
    return project


def _version_of(python: Path) -> str:
    probe = "import sys; print('{}.{}'.format(*sys.version_info))"
    return subprocess.run(
        [python, "-c", probe], capture_output=True, text=True, check=True
    ).stdout.strip()
