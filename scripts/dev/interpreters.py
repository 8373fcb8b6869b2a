"""Pythons of this machine: on PATH, and those of pyenv."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path


def find(version: tuple[int, int]) -> str | None:
    """A Python of this version that starts: pyenv leaves names on PATH that do not start."""
    return next((path for path in _candidates(version) if _is(path, version)), None)


def since(version: tuple[int, int]) -> dict[tuple[int, int], str]:
    """One Python of each version from this one on; it searches 20 versions."""
    major, first = version
    found = {(major, minor): find((major, minor)) for minor in range(first, first + 20)}
    return {version: path for version, path in found.items() if path is not None}


def _candidates(version: tuple[int, int]) -> Iterator[str]:
    name = "python{}.{}".format(*version)
    found = shutil.which(name)
    if found is not None:
        yield found
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    versions = (root / "versions").glob("{}.{}.*".format(*version))
    yield from (str(folder / "bin" / name) for folder in sorted(versions))


def _is(path: str, version: tuple[int, int]) -> bool:
    probe = f"import sys, venv; sys.exit(sys.version_info[:2] != {version})"
    try:
        done = subprocess.run([path, "-c", probe], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0
