"""The same extension under every Python of this machine that the project supports.

The extension is built once, for the stable ABI of 3.11; each other version gets its own environment
under `.venv/pythons`, and runs the tests that cover every kind of call from Python.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts.dev import interpreters, locks
from scripts.dev.console import ROOT, DevError, Words, call, say, step
from scripts.dev.environment import PYTHON, VENV, environment

FOLDER = VENV / "pythons"
# Conversions, operators, indexing, buffers, pickles, tracing, callbacks, files, errors, fields.
SMOKE = tuple(
    f"tests/python/test_{name}.py"
    for name in ("tensor", "indexing", "trace", "batches", "heal", "errors", "modular", "field_ops")
)


def others() -> dict[str, str]:
    """Supported Pythons, from the oldest on, except the version of `.venv`."""
    found = {
        "{}.{}".format(*version): path
        for version, path in interpreters.since(locks.oldest_python()).items()
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
    """Make the environment of a version, unless it has the packages of the lock already."""
    folder, lock = FOLDER / version, locks.SMOKE
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_bytes() == lock.content():
        return folder
    log = FOLDER / f"{version}.log"
    step(
        f"making an environment for Python {version}",
        [python, "-m", "venv", "--clear", folder],
        log,
    )
    pip = locks.install(folder / "bin" / "python", lock)
    step(f"installing for Python {version}", pip, log)
    stamp.write_bytes(lock.content())
    return folder


def _version_of(python: Path) -> str:
    probe = "import sys; print('{}.{}'.format(*sys.version_info))"
    return subprocess.run(
        [python, "-c", probe], capture_output=True, text=True, check=True
    ).stdout.strip()
