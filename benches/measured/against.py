"""Cases of benches/cases.py measured in this build, or in two builds in turns.

Each build is a process; rounds alternate between them, and so does the build that begins. A
process's memory addresses change the time of small calls by some percent, so processes are
restarted several times and all their samples count. A sample is CPU time, which other work on the
machine disturbs least.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from cases import Case
from sides.side import Side

from measured.files import Build, commit_of
from measured.rows import Row, merged

ROUNDS = 5


class BuildError(Exception):
    """A build to measure against cannot be used; the message gives the reason."""


def measured(prefix: str, cases: Sequence[Case], against: str | None, starts: int) -> list[Build]:
    """Measure the cases in this build, after `against` if one is given; processes start afresh."""
    builds: list[list[Build]] = []
    for start in range(starts):
        with ExitStack() as stack:
            sides = [stack.enter_context(_this_build(cases))]
            if against is not None:
                sides.insert(0, stack.enter_context(_other_build(against, cases)))
            if len({side.facts["folder"] for side in sides}) < len(sides):
                raise BuildError(f"--against {against}: that is this build itself")
            if start == 0:
                _tell_missing(prefix, sides)
            builds.append(_in_turns(prefix, cases, sides))
    return [joined(one) for one in zip(*builds, strict=True)]


def joined(builds: Sequence[Build]) -> Build:
    """Join the rows of several measurements of one build."""
    first = builds[0]
    rows = merged(row for build in builds for row in build.rows)
    return Build(first.version, first.commit, first.library, tuple(rows))


def _tell_missing(prefix: str, sides: Sequence[Side]) -> None:
    """List the cases that a build lacks, with reasons: both builds leave them out."""
    for side in sides:
        for name, reason in side.facts["missing"].items():
            print(f"{prefix}: {name}: left out, {side.name} has {reason}")


def _in_turns(prefix: str, cases: Sequence[Case], sides: Sequence[Side]) -> list[Build]:
    """Measure each case that all sides can run."""
    rows: list[list[Row]] = [[] for _ in sides]
    for case in cases:
        if all(case.name in side.operations for side in sides):
            for own, samples in zip(rows, _samples(case, sides), strict=True):
                own.append(Row(f"{prefix}: {case.name}", case.unit[0], tuple(samples)))
    return [_build(side, own) for side, own in zip(sides, rows, strict=True)]


def _samples(case: Case, sides: Sequence[Side]) -> list[list[float]]:
    """Run a case in turns; the first round only warms the caches."""
    scale = case.unit[1] / case.times / case.steps
    samples: list[list[float]] = [[] for _ in sides]
    for turn in range(ROUNDS + 1):
        places = range(len(sides))
        for at in places if turn % 2 else reversed(places):
            samples[at].append(sides[at].run(case.name)[0].cpu * scale)
    return [own[1:] for own in samples]


def _build(side: Side, rows: Sequence[Row]) -> Build:
    commit = commit_of(Path(side.facts["folder"]))
    return Build(side.facts["version"], commit, side.facts["library"], tuple(rows))


def _this_build(cases: Sequence[Case]) -> Side:
    return _side("this build", sys.executable, cases, {})


def _other_build(against: str, cases: Sequence[Case]) -> Side:
    """A folder for the front of PYTHONPATH, or a Python with its own build."""
    path = Path(against).resolve()
    if path.is_dir():
        folder = path if (path / "cloakwork" / "__init__.py").exists() else path / "python"
        if not (folder / "cloakwork" / "__init__.py").exists():
            raise BuildError(f"--against {against}: there is no package `cloakwork` in this folder")
        return _side(against, sys.executable, cases, {"PYTHONPATH": str(folder)})
    if not os.access(path, os.X_OK):
        raise BuildError(
            f"--against {against}: expected a folder with a built `cloakwork` in it, or a Python "
            "that imports one"
        )
    return _side(against, os.path.abspath(against), cases, {})


def _side(name: str, python: str, cases: Sequence[Case], variables: dict[str, str]) -> Side:
    wanted = [(case.name, case.setup, case.statement, case.times) for case in cases]
    # Without it each process hashes the names in dicts differently.
    return Side(name, python, "build_side.py", wanted, {"PYTHONHASHSEED": "0", **variables})
