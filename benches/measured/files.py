"""Results as JSON: the rows of one build, or of two that were measured in turns.

    {"format": "cloakwork-bench 1", "machine": {...}, "builds": [
        {"version": ..., "commit": ..., "library": ..., "rows": [
            {"name": ..., "unit": ..., "median": ..., "spread": ..., "samples": [...]}]}]}

`median` and `spread` are for readers; they follow from `samples`, and are computed again when a
file is read.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measured.rows import Row

FORMAT = "cloakwork-bench 1"
_MADE_BY = "`dev.py bench --json FILE` writes such files"


class BenchFileError(Exception):
    """A file does not hold benchmark results; the message gives the place and the expected form."""


@dataclass(frozen=True)
class Build:
    """A measured build: its version, its commit if known, and its library."""

    version: str
    commit: str | None
    library: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Results:
    """The results of one run of benchmarks."""

    machine: dict[str, str]
    builds: tuple[Build, ...]


def write(path: Path, results: Results) -> None:
    """Write a file whole."""
    text = json.dumps(
        {
            "format": FORMAT,
            "machine": results.machine,
            "builds": [_written(build) for build in results.builds],
        },
        indent=1,
    )
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise BenchFileError(f"{path}: cannot be written: {error.strerror}") from None


def read(path: Path) -> Results:
    """Read a file; raise BenchFileError for its first error."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchFileError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise BenchFileError(f"{path}: expected JSON, {error}; {_MADE_BY}") from None
    reader = _Reader(path)
    top = reader.mapping(found, "the file")
    if top.get("format") != FORMAT:
        reader.fail("format", f'"{FORMAT}"', top.get("format"))
    machine = reader.mapping(top.get("machine"), "machine")
    builds = reader.items(top.get("builds"), "builds")
    return Results(
        {str(key): str(value) for key, value in machine.items()},
        tuple(_read_build(reader, build, f"builds[{at}]") for at, build in enumerate(builds)),
    )


def machine_facts() -> dict[str, str]:
    """Facts that figures depend on beside the build: processor, system, interpreter, load."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def commit_of(folder: Path) -> str | None:
    """Return the commit of a folder's checkout, followed by `+` if files differ."""
    git = ["git", "-C", str(folder)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changed else "")


def _written(build: Build) -> dict[str, Any]:
    rows = [
        {
            "name": row.name,
            "unit": row.unit,
            "median": _short(row.median),
            "spread": None if row.spread is None else _short(row.spread),
            "samples": [_short(sample) for sample in row.samples],
        }
        for row in build.rows
    ]
    return {
        "version": build.version,
        "commit": build.commit,
        "library": build.library,
        "rows": rows,
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _read_build(reader: _Reader, found: object, place: str) -> Build:
    fields = reader.mapping(found, place)
    commit = fields.get("commit")
    if commit is not None:
        commit = reader.text(commit, f"{place}.commit")
    rows = reader.items(fields.get("rows"), f"{place}.rows")
    read_rows = [_read_row(reader, row, f"{place}.rows[{at}]") for at, row in enumerate(rows)]
    names = [row.name for row in read_rows]
    for name in names:
        if names.count(name) > 1:
            reader.fail(f"{place}.rows", "each name once", f"{name!r} twice")
    return Build(
        reader.text(fields.get("version"), f"{place}.version"),
        commit,
        reader.text(fields.get("library"), f"{place}.library"),
        tuple(read_rows),
    )


def _read_row(reader: _Reader, found: object, place: str) -> Row:
    fields = reader.mapping(found, place)
    samples = reader.items(fields.get("samples"), f"{place}.samples")
    for at, sample in enumerate(samples):
        if type(sample) not in (int, float) or not 0 < sample < math.inf:
            reader.fail(f"{place}.samples[{at}]", "a number above 0", sample)
    name, unit = (reader.text(fields.get(key), f"{place}.{key}") for key in ("name", "unit"))
    return Row(name, unit, tuple(map(float, samples)))


@dataclass(frozen=True)
class _Reader:
    path: Path

    def fail(self, place: str, expected: str, got: object) -> None:
        raise BenchFileError(
            f"{self.path}: {place}: expected {expected}, got {got!r:.80}; {_MADE_BY}"
        )

    def mapping(self, found: object, place: str) -> dict[str, Any]:
        if not isinstance(found, dict):
            self.fail(place, "an object", found)
        assert isinstance(found, dict)
        return found

    def items(self, found: object, place: str) -> list[Any]:
        if not isinstance(found, list) or not found:
            self.fail(place, "a list that is not empty", found)
        assert isinstance(found, list)
        return found

    def text(self, found: object, place: str) -> str:
        if not isinstance(found, str) or not found:
            self.fail(place, "a string", found)
        assert isinstance(found, str)
        return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            named = (line.partition(":")[2].strip() for line in lines if "model name" in line)
            return next(named, platform.machine())
    except OSError:
        return platform.machine()
