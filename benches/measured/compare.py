"""Two builds side by side: the ratio of each row, and whether it is more than noise.

A row is marked `slower` if the second build's median is more than 3 % above the first's and the
excess is more than twice the error of the ratio, `faster` likewise. The error of the ratio comes
from the samples: if both builds were measured in turns, from the ratios of neighbouring samples, in
which a common slowdown cancels; else from the errors of both medians.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from measured.files import BenchFileError, Build, Results
from measured.rows import Row, relative_error

TOLERANCE = 0.03
_ERRORS = 2.0


@dataclass(frozen=True)
class Pair:
    """A row of both builds. `ratio` is the second's over the first's; above 1 it is slower."""

    before: Row
    after: Row
    ratio: float
    noise: float | None

    @property
    def verdict(self) -> str:
        """`slower`, `faster` or an empty string."""
        beyond = TOLERANCE + (self.noise or 0.0)
        if self.ratio > 1 + beyond:
            return "slower"
        return "faster" if self.ratio < 1 / (1 + beyond) else ""


def pair(before: Row, after: Row, in_turns: bool) -> Pair:
    """Compare one row."""
    if before.unit != after.unit:
        raise BenchFileError(
            f"{before.name}: expected one unit in both builds, got {before.unit} and {after.unit}"
        )
    if in_turns and len(before.samples) == len(after.samples):
        ratios = [b / a for a, b in zip(before.samples, after.samples, strict=True)]
        error, ratio = relative_error(ratios), statistics.median(ratios)
    else:
        ratio = after.median / before.median
        both = (before.spread, after.spread)
        error = None if None in both else math.hypot(*(one or 0.0 for one in both))
    return Pair(before, after, ratio, None if error is None else _ERRORS * error)


def pairs(before: Build, after: Build, in_turns: bool) -> list[Pair]:
    """Compare the rows that both builds have; raise if there are none."""
    others = {row.name: row for row in after.rows}
    found = [pair(row, others[row.name], in_turns) for row in before.rows if row.name in others]
    if not found:
        raise BenchFileError("the two builds have no row in common: nothing to compare")
    return found


def of_files(paths: Sequence[Path], results: Sequence[Results]) -> tuple[Build, Build, bool]:
    """Choose the builds to compare: those of two files, or the two of one file."""
    for path, one in zip(paths, results, strict=True):
        wanted = 2 if len(paths) == 1 else 1
        if len(one.builds) != wanted:
            raise BenchFileError(
                f"{path}: expected {wanted} of builds, got {len(one.builds)}; --compare takes two "
                "files of one build, or one file that `--against` wrote"
            )
    builds = [build for one in results for build in one.builds]
    return builds[0], builds[1], len(paths) == 1


def lines(before: Build, after: Build, in_turns: bool) -> Iterator[str]:
    """Yield the table, one line for each row, and the rows of only one build."""
    found = pairs(before, after, in_turns)
    width = max(len("row"), *(len(one.before.name) for one in found))
    yield f"{'row':{width}}  {'before':>10} {'after':>10} {'unit':4} {'ratio':>6} {'noise':>6}"
    for one in found:
        noise = "?" if one.noise is None else f"{one.noise * 100:.1f} %"
        figures = f"{_figure(one.before.median):>10} {_figure(one.after.median):>10}"
        line = f"{one.before.name:{width}}  {figures} {one.before.unit:4} "
        yield f"{line}{one.ratio:6.3f} {noise:>6} {one.verdict}".rstrip()
    for label, own, other in (("before", before, after), ("after", after, before)):
        names = {row.name for row in other.rows}
        yield from (f"only {label}: {row.name}" for row in own.rows if row.name not in names)
    slower = sum(one.verdict == "slower" for one in found)
    yield f"{slower} of {len(found)} rows slower by more than {TOLERANCE:.0%} and the noise"


def differences(first: dict[str, str], second: dict[str, str]) -> Iterator[str]:
    """Describe the differences of two machines, except load; they make ratios unreliable."""
    for key in sorted((first.keys() | second.keys()) - {"load"}):
        if first.get(key) != second.get(key):
            yield f"note: {key} differs: {first.get(key)} and {second.get(key)}"


def _figure(value: float) -> str:
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"
