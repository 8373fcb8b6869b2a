"""One figure of a benchmark: its name, its unit and all its samples.

A benchmark calls `record` for each figure that it prints. Benchmarks run in separate processes, so
rows travel through a file that an environment variable names; without the variable, `record` does
nothing.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_VARIABLE = "CLOAKWORK_BENCH_ROWS"
# Below this a quartile is a single sample, independent of the others.
_FEWEST_SAMPLES = 4
_titles: list[str] = []


@dataclass(frozen=True)
class Row:
    """Samples of one figure; smaller is faster."""

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure: the median of all samples."""
        return statistics.median(self.samples)

    @property
    def spread(self) -> float | None:
        """Standard error of the median over the median; None for fewer than four samples."""
        return relative_error(self.samples)


def relative_error(samples: Sequence[float]) -> float | None:
    """Estimate the standard error of a median, relative to it, from the quartiles.

    The quartiles of a normal distribution are 1.349 deviations apart, and its median's error is
    1.2533 deviations over the root of the number of samples. Single outliers do not count.
    """
    if len(samples) < _FEWEST_SAMPLES:
        return None
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    error = 1.2533 * (high - low) / 1.349 / math.sqrt(len(samples))
    return error / middle if middle > 0 else None


def record(name: str, unit: str, *samples: float) -> None:
    """Add samples to a row, if rows are collected."""
    path = os.environ.get(_VARIABLE)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps([", ".join([*_titles, name]), unit, *samples]) + "\n")


@contextmanager
def within(title: str) -> Iterator[None]:
    """Put a title before the names of the rows that are recorded inside the context."""
    _titles.append(title)
    try:
        yield
    finally:
        _titles.pop()


def collected(work: Callable[[], object], prefix: str) -> list[Row]:
    """Run a benchmark and return the rows that it and its processes recorded."""
    with _collecting() as path:
        work()
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return merged(Row(f"{prefix}: {name}", unit, tuple(samples)) for name, unit, *samples in lines)


def merged(rows: Iterable[Row]) -> list[Row]:
    """Join rows of one name and unit; the order is that of the first of each."""
    samples: dict[tuple[str, str], tuple[float, ...]] = {}
    for row in rows:
        key = (row.name, row.unit)
        samples[key] = samples.get(key, ()) + row.samples
    return [Row(name, unit, values) for (name, unit), values in samples.items()]


@contextmanager
def _collecting() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.touch()
        os.environ[_VARIABLE] = str(path)
        try:
            yield path
        finally:
            del os.environ[_VARIABLE]
