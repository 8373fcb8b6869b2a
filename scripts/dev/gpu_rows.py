"""Every CUDA row on a GPU, held to digests of the portable rows: a process a module.

`replay-gpu` (tests/portable/replay_cuda.cc) says which row begins, and ends at the first error of
CUDA, because the context keeps it: that row is blamed, and another process begins behind it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from scripts.dev import aarch64
from scripts.dev.console import Words
from scripts.dev.steps import NO_TIME, PASSED, Ended, Report, Step

PLAYER, DIGESTS = "replay-gpu", "rows.txt"
# What rows that call functions of C's library give, which no digest tells.
NUMBERS = "numbers.txt"
# Of a process, which runs a module's rows or those behind one that failed.
_SECONDS = 20.0
_PROCESSES = 4
_HERE, _THERE = "_portable", "_cuda"


@dataclass
class Played:
    """The output of a process: the digests of rows that ended, the row that did not, and why."""

    digests: dict[str, list[str]] = field(default_factory=dict)
    lost: str = ""
    reason: str = ""

    @classmethod
    def of(cls, output: str) -> Played:
        """Read `row begins`, `row number digest`, `row failed call error grid`."""
        found = cls()
        for line in output.splitlines():
            symbol, *rest = line.split()
            if rest == ["begins"]:
                found.lost = symbol
            elif rest[:1] == ["failed"]:
                found.reason = " ".join(rest[1:])
            elif len(rest) == 2:
                found.digests.setdefault(symbol, []).append(rest[1])
        return found


def check(report: Report, built: Path, modules: Iterable[str]) -> None:
    """A step a module, several at once; then one that names the rows that none of them has."""
    expected = aarch64.digests((built / DIGESTS).read_text())
    with ThreadPoolExecutor(_PROCESSES) as pool:
        seen = set().union(
            *pool.map(lambda module: _check(report, built, module, expected), modules)
        )
    missing = sorted(expected.keys() - {symbol.removesuffix(_THERE) + _HERE for symbol in seen})
    status = f"failed: {len(missing)} rows" if missing else PASSED
    report.add(Ended("rows that no module has", status, result={"missing": missing}))


def _check(report: Report, built: Path, module: str, expected: Mapping[str, list[str]]) -> set[str]:
    """Play a module's rows and enter its step; return the rows that were seen."""
    ended, played, lost = _play(report, built, module)
    differing = sorted(
        symbol
        for symbol, own in played.items()
        if own != expected.get(symbol.removesuffix(_THERE) + _HERE)
    )
    exact = [symbol for symbol in differing if not aarch64.by_library(symbol)]
    far = _too_far(report, built, [symbol for symbol in differing if symbol not in exact])
    ended.result = {"rows": len(played), "other bits": exact, "too far": far, "lost": lost}
    if ended.status == PASSED and (exact or far or lost):
        ended.status = f"failed: {len(exact) + len(far) + len(lost)} rows"
    report.add(ended)
    return played.keys() | lost.keys()


def _play(
    report: Report, built: Path, module: str
) -> tuple[Ended, dict[str, list[str]], dict[str, str]]:
    """Run all rows of a module, as often as one ends its process; those that did are lost."""
    whole = Ended(f"rows of {module}", PASSED)
    played: dict[str, list[str]] = {}
    lost: dict[str, str] = {}
    behind: Words = []
    while True:
        step = Step(whole.name, [built / PLAYER, "--module", module, *behind], _SECONDS)
        ended = report.attempt(step)
        whole.seconds = round(whole.seconds + ended.seconds, 1)
        found = Played() if ended.status == NO_TIME else _said(report, step)
        played |= found.digests
        if ended.status == PASSED:
            return whole, played, lost
        if not found.lost or found.lost in lost:
            whole.status, whole.tail = ended.status, ended.tail
            return whole, played, lost
        lost[found.lost] = found.reason or ended.status
        played.pop(found.lost, None)
        behind = ["--after", found.lost]


def _said(report: Report, step: Step) -> Played:
    return Played.of(report.log(step.name).read_text(errors="replace"))


def _too_far(report: Report, built: Path, symbols: list[str]) -> list[str]:
    """Of rows that call functions: those further from the portable ones than the bound."""
    if not symbols:
        return []
    own = {symbol.removesuffix(_THERE) + _HERE for symbol in symbols}
    known = (built / NUMBERS).read_text().splitlines()
    here = [line for line in known if line.split(" ", 1)[0] in own]
    there = _numbers(report, [built / PLAYER, *symbols])
    if len(here) != len(there):
        return [f"{', '.join(symbols)}: no numbers"]
    return list(aarch64.too_far("\n".join(here), "\n".join(there)))


def _numbers(report: Report, command: Words) -> list[str]:
    words, env = [str(word) for word in command], dict(report.env)
    try:
        done = subprocess.run(
            words, env=env, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
